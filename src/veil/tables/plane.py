"""Place mechanisms for tables on the risk-utility plane: protect, attack, measure."""

from collections.abc import Sequence

from veil import studies
from veil.core.component import Component
from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.measures.plane import NOTHING as NOTHING
from veil.measures.plane import Plane as Plane
from veil.measures.plane import PlanePoint as PlanePoint
from veil.tables.attack import Attack
from veil.tables.measures.utility import UTILITIES, Utility
from veil.tables.mechanism import Mechanism
from veil.tables.study import Tables, TablesMaterial
from veil.tables.table import Table


def plane(
    t: Table,
    specs: Sequence[str | Mechanism],
    attacker: str | Attack = "linkage",
    utility: str | Utility = "marginals",
    rng: Randomness = None,
    *,
    times: int = 1,
    population: Table | float | None = None,
    control: Table | None = None,
) -> Plane:
    """Protect a table by each mechanism, attack the releases, and measure their utility.

    Parameters
    ----------
    t
        The table, with its roles.
    specs
        Mechanisms, or their specs.
    attacker, utility
        The attack and the measure of utility; see `attack` and `utility`.
    times
        Number of releases per randomised mechanism; risk and utility are means over them.
    population, control
        For attacks that need them.
    """
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise ParameterError("The 'times' argument must be an integer >= 1.")
    measure = UTILITIES.parse(utility) if isinstance(utility, str) else utility
    material = TablesMaterial(t, t.name, measure, population, control)
    experiment = Tables.of(material, rng, draws=times)
    return studies.plane(experiment, specs, [attacker], spec=_short, utility=measure.brief)


def _short(mechanism: Component) -> str:
    """Return a spec without its default parameters; with all of them if there is nothing else."""
    return mechanism.brief if "(" in mechanism.brief else str(mechanism)
