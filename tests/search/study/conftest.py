"""The tiny study of `tests.search.study.material` for every test here."""

from tests.search.study.material import folder as folder
from tests.search.study.material import study as study
from tests.search.study.material import variant as variant
