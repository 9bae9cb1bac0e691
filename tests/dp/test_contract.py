"""The verbs of the package, called by the names of their arguments, as scripts call them."""

import inspect

import pytest

from veil import dp

CONTRACT = {
    "release": "x mechanism size rng",
    "law": "mechanism x outputs",
    "histogram": "values epsilon delta keys units max_groups rng",
    "threshold": "epsilon delta max_groups",
    "compose": "items delta accountant",
    "group": "guarantee k",
    "parallel": "guarantees",
    "sampled": "mechanism q",
    "gaussian_sigma": "epsilon delta sensitivity",
    "gaussian_delta": "epsilon sigma sensitivity",
    "discrete_gaussian_delta": "epsilon sigma2 sensitivity",
    "zcdp_epsilon": "rho delta",
    "Budget": "epsilon delta accountant path",
    "report": "values oracle users key rng",
    "estimate": "reports candidates",
    "connect": "url policy rng",
    "StatisticalDatabase": "values min_size max_overlap audit",
    "attack": "spec ask n rng",
    "reconstruct": "queries answers",
    "membership": "release population rows",
    "advantage": "guess truth",
    "plane": "name values attacker secret rng",
    "audit": "m pair samples error rng",
    "audit_sampler": "draw one other epsilon delta samples error rng",
    "kmeans": "points k epsilon bounds",
    "naive_bayes": "X y epsilon sizes",
    "logistic": "X y epsilon delta",
}


@pytest.mark.parametrize("name", CONTRACT)
def test_arguments_have_the_names_and_the_order_that_scripts_use(name: str) -> None:
    wanted = CONTRACT[name].split()
    assert list(inspect.signature(getattr(dp, name)).parameters)[: len(wanted)] == wanted
