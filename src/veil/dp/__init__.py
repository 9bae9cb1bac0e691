"""Differential privacy: exact noise, its total cost, and attacks on releases.

>>> from veil import dp
>>> dp.release(120, "geometric(epsilon=0.5)", rng=1).cost.epsilon
0.5
"""

from typing import TYPE_CHECKING

from veil.core.facade import facade

if TYPE_CHECKING:
    from veil.core.errors import RefusedError as RefusedError
    from veil.dp.accounting.budget import Budget as Budget
    from veil.dp.accounting.compose import compose as compose
    from veil.dp.accounting.compose import group as group
    from veil.dp.accounting.compose import parallel as parallel
    from veil.dp.accounting.cost import sampled as sampled
    from veil.dp.attack import Attack as Attack
    from veil.dp.attack import advantage as advantage
    from veil.dp.attack import attack as attack
    from veil.dp.attack import score as score
    from veil.dp.attacks import ATTACKS as ATTACKS
    from veil.dp.attacks.membership import membership as membership
    from veil.dp.attacks.plane import plane as plane
    from veil.dp.attacks.reconstruct import reconstruct as reconstruct
    from veil.dp.audit import audit as audit
    from veil.dp.audit import audit_sampler as audit_sampler
    from veil.dp.calibration import discrete_gaussian_delta as discrete_gaussian_delta
    from veil.dp.calibration import gaussian_delta as gaussian_delta
    from veil.dp.calibration import gaussian_sigma as gaussian_sigma
    from veil.dp.calibration import threshold as threshold
    from veil.dp.calibration import zcdp_epsilon as zcdp_epsilon
    from veil.dp.histogram import histogram as histogram
    from veil.dp.local.estimate import aggregate as aggregate
    from veil.dp.local.estimate import discover as discover
    from veil.dp.local.estimate import estimate as estimate
    from veil.dp.local.estimate import estimate_mean as estimate_mean
    from veil.dp.local.files import load_reports as load_reports
    from veil.dp.local.files import save_reports as save_reports
    from veil.dp.local.oracle import Oracle as Oracle
    from veil.dp.local.oracles import ORACLES as ORACLES
    from veil.dp.local.oracles import mechanism as mechanism
    from veil.dp.local.oracles import oracle as oracle
    from veil.dp.local.reports import Reports as Reports
    from veil.dp.local.reports import report as report
    from veil.dp.local.reports import report_blocks as report_blocks
    from veil.dp.mechanism import Mechanism as Mechanism
    from veil.dp.mechanisms import MECHANISMS as MECHANISMS
    from veil.dp.mining.columns import bins as bins
    from veil.dp.mining.kmeans import kmeans as kmeans
    from veil.dp.mining.logistic import logistic as logistic
    from veil.dp.mining.naive_bayes import naive_bayes as naive_bayes
    from veil.dp.release import Release as Release
    from veil.dp.release import law as law
    from veil.dp.release import release as release
    from veil.dp.restricted import StatisticalDatabase as StatisticalDatabase
    from veil.dp.sql.database import connect as connect

_PLACES = {
    "veil.core.errors": "RefusedError",
    "veil.dp.accounting.budget": "Budget",
    "veil.dp.accounting.compose": "compose group parallel",
    "veil.dp.accounting.cost": "sampled",
    "veil.dp.attack": "Attack advantage attack score",
    "veil.dp.attacks.membership": "membership",
    "veil.dp.attacks": "ATTACKS",
    "veil.dp.attacks.plane": "plane",
    "veil.dp.attacks.reconstruct": "reconstruct",
    "veil.dp.audit": "audit audit_sampler",
    "veil.dp.calibration": "discrete_gaussian_delta gaussian_delta gaussian_sigma threshold"
    " zcdp_epsilon",
    "veil.dp.sql.database": "connect",
    "veil.dp.histogram": "histogram",
    "veil.dp.local.estimate": "discover aggregate estimate estimate_mean",
    "veil.dp.local.files": "load_reports save_reports",
    "veil.dp.local.oracle": "Oracle",
    "veil.dp.local.oracles": "ORACLES mechanism oracle",
    "veil.dp.local.reports": "report report_blocks Reports",
    "veil.dp.mechanism": "Mechanism",
    "veil.dp.mechanisms": "MECHANISMS",
    "veil.dp.mining.columns": "bins",
    "veil.dp.mining.kmeans": "kmeans",
    "veil.dp.mining.logistic": "logistic",
    "veil.dp.mining.naive_bayes": "naive_bayes",
    "veil.dp.release": "Release law release",
    "veil.dp.restricted": "StatisticalDatabase",
}

facade(__name__, _PLACES)
