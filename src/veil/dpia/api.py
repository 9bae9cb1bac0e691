"""The verb of ``veil dpia``, for the command line only: the answers name files."""

from pathlib import Path

from veil import dpia as assessments
from veil.core.formatting import count_of
from veil.core.verb import NewPath, Reply, local


@local
def dpia(answers: Path, *, out: NewPath = Path("dpia.html"), new: bool = False) -> Reply:
    """Write an impact assessment from answers and measured figures.

    ANSWERS is a TOML file that names the figures. Risks come from finished studies (veil audit,
    veil DOMAIN plane), or from table releases that are created and attacked now. Missing answers
    are printed as NOT STATED. The assessment is neither legal advice nor a verdict.

    Parameters
    ----------
    answers
        TOML file of answers.
    out
        Assessment to write: .html, .md, or .json for the PIA software of the CNIL.
    new
        Write ANSWERS as a template to fill in, and stop.
    """
    if new:
        template = assessments.write_template(answers)
        return Reply(notes=[str(template)], data={"template": str(template)})
    gaps = assessments.dpia(answers, out).gaps
    note = f"{out}: {count_of(len(gaps), 'point')} not stated."
    return Reply(notes=[note], data={"not_stated": [gap.what for gap in gaps]})
