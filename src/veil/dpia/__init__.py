"""Impact assessments: documents with measured figures and a person's answers.

>>> from veil import dpia
>>> dpia.likelihood(0.03)
2
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.dpia.answers import Answers as Answers
    from veil.dpia.answers import likelihood as likelihood
    from veil.dpia.assessment import Assessment as Assessment
    from veil.dpia.assessment import assess as assess
    from veil.dpia.load import write_template as write_template
    from veil.dpia.write import dpia as dpia

_PLACES = {
    "veil.dpia.answers": "Answers likelihood",
    "veil.dpia.assessment": "Assessment assess",
    "veil.dpia.load": "write_template",
    "veil.dpia.write": "dpia",
}

facade(__name__, _PLACES)
