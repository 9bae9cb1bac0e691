"""The impact assessment as a document: what was measured, beside the answers of a person.

>>> from veil import dpia
>>> dpia.likelihood(0.03)
2
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veil.dpia.answers import Answers as Answers
    from veil.dpia.assessment import Assessment as Assessment
    from veil.dpia.assessment import assess as assess
    from veil.dpia.levels import likelihood as likelihood
    from veil.dpia.template import write_template as write_template
    from veil.dpia.write import dpia as dpia

_PLACES = {  # where each public name lives; it is loaded when it is first asked for
    "veil.dpia.answers": "Answers",
    "veil.dpia.assessment": "Assessment assess",
    "veil.dpia.levels": "likelihood",
    "veil.dpia.template": "write_template",
    "veil.dpia.write": "dpia",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'veil.dpia' has no attribute {name!r}")
    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
