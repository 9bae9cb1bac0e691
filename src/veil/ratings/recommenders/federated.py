"""Item factors from masked and noisy updates of clients."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.ratings.accounting import checked_delta
from veil.ratings.catalogue import ASSUMED, NEIGHBOURS, require_catalogue
from veil.ratings.federated import training
from veil.ratings.federated.training import (
    NUMBERS,
    Clients,
    Rules,
    Training,
    from_unit_range,
    profiles,
    vectors,
)
from veil.ratings.mechanism import declared_scale
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender, positive_of
from veil.ratings.recommenders._private import JOINT, TUNED, UNKNOWN, PrivateModel

SAME_ROUNDS = "the ratings of one user, or none, in the same rounds"
READERS = (
    "It holds for readers of the model who took no part. The server and the other clients of a"
    " round see who takes part; for them it is 'against_server'."
)
COLLUDE = "Clients that reveal their noise to the server cancel it: c of t leave (1 - c/t) of it."
TRUSTS = "It trusts the server, which sees every update and adds the noise."
SUM = (
    "The server sees only sums, if it follows the protocol or keys are registered; it sees who"
    " takes part in which round."
)
COUNTED = "The number of users is assumed to be public: steps and thresholds depend on it."


class Federated(Recommender):
    r"""Learn item factors from sums of clipped updates, to which clients add the noise.

    In each round the server sends factors and biases of the items. Each client joins with
    probability `sample`, by its own coin; fits its own vector by ridge on ratings scaled to
    [-1, 1]; computes the gradient for all items, which hides its support; clips it to an
    L2 norm of `clip`; rounds it to a grid; adds discrete Gaussian noise of variance
    :math:`(z C)^2/t`; and sends it through the secure sum, where at least t must survive. The
    server takes a `step` along the sum over the expected number of clients, and releases the mean
    of the factors after the last third of the rounds. `fit` runs all clients in one process with
    the same integers; ``veil ratings serve`` and ``join`` run them on separate machines.

    Proved: (epsilon, delta)-DP for users, with Poisson samples for readers of the model
    (`guarantee`), and without them for the server and other clients (`against_server`). A void
    round costs as much as any other.

    References
    ----------
    McMahan, Ramage, Talwar, Zhang. Learning Differentially Private Recurrent Language Models. ICLR
    2018, Algorithm 1. Bonawitz et al. CCS 2017 (the sum). Kairouz, Liu, Steinke. ICML 2021 (noise
    of clients).

    Notes
    -----
    Step and ridge were chosen by a random search on a second split (salt 1) of the training part
    of jester, never on its test part.
    """

    name: ClassVar[str] = "federated"
    private: ClassVar[bool] = True
    factors: Annotated[int, Field(ge=1, le=128, description="length of a vector")] = 6
    rounds: Annotated[int, Field(ge=1, le=100_000, description="number of opened sums")] = 60
    sample: Annotated[float, Field(gt=0, le=1, description="probability of joining a round")] = (
        0.25
    )
    noise: Annotated[
        float,
        Field(
            ge=0.01, description="noise of a sum, in units of 'clip'", json_schema_extra=PRIVATE
        ),
    ] = 4.0
    clip: Annotated[float, Field(gt=0, description="largest norm of an update")] = 2.0
    delta: Annotated[
        float | None,
        Field(gt=0, lt=1, description="probability of a larger loss; by default 1/(10 n)"),
    ] = None
    secure: Annotated[
        bool, Field(description="clients add the noise; otherwise a trusted server does")
    ] = True
    step: Annotated[float, Field(gt=0, description="step along the mean update")] = 1.5
    ridge: Annotated[float, Field(gt=0, description="ridge of a user's own vector")] = 1.5
    threshold: Annotated[
        int | None,
        Field(ge=2, description="smallest number of survivors; by default nearly all who join"),
    ] = None
    max_rounds: Annotated[
        int | None, Field(ge=1, description="maximum number of rounds of a client")
    ] = None

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee for readers of the model; known before a fit only if delta is set."""
        if self.delta is None:
            return Guarantee("none", unit="user", caveat=UNKNOWN)
        return self.for_readers(self.delta)

    @property
    def against_server(self) -> Guarantee:
        """Guarantee against the server, which sees who takes part."""
        if self.delta is None or not self.secure:
            caveat = TRUSTS if not self.secure else UNKNOWN
            return Guarantee("none", unit="user", caveat=caveat)
        return self.for_server(self.delta)

    def for_readers(self, delta: float, void: float = 0.0) -> Guarantee:
        """Return the guarantee for readers at a delta, with `void` added for void rounds."""
        epsilon = training.reader_epsilon(
            self.noise, self.rounds, delta, self.sample, self.max_rounds
        )
        trust = COLLUDE if self.secure else TRUSTS
        return Guarantee(
            "dp",
            epsilon,
            unit="user",
            delta=training.with_void(delta, void),
            neighbours=NEIGHBOURS,
            caveat=" ".join((JOINT, READERS, trust, COUNTED, ASSUMED, TUNED)),
        )

    def for_server(self, delta: float) -> Guarantee:
        """Return the guarantee against the server at a delta."""
        epsilon = training.server_epsilon(self.noise, self.rounds, delta, self.max_rounds)
        return Guarantee(
            "dp",
            epsilon,
            unit="user",
            delta=delta,
            neighbours=SAME_ROUNDS,
            caveat=" ".join((SUM, COLLUDE, ASSUMED)),
        )

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "FederatedModel":
        declared_scale(train, self.name)
        require_catalogue(train, self.name)
        delta, limit = checked_delta(self.delta, train.n), positive_of(train, positive)
        self.check_size(train.m)
        threshold, draws = self.survivors(train.n, delta), generator(rng)
        proved = self.proved(train.n)
        rules = Rules(self.sample, self.noise, self.clip, self.ridge, threshold, self.max_rounds)
        clients, training = Clients(train, rules, draws), self.training(train.n, train.m, draws)
        for _ in range(self.rounds):
            training.advance(clients.total(training.factors))
        return FederatedModel(
            str(self), train, limit, proved, training.model, ridge=self.ridge,
            void=training.void, users=train.n, seeded=rng is not None,
        )  # fmt: skip

    def proved(self, n: int) -> tuple[Guarantee, Guarantee]:
        """Return the guarantees of a fit of n users, for readers and against the server."""
        delta = checked_delta(self.delta, n)
        threshold = self.survivors(n, delta)
        void = 0.0 if threshold is None else self.void_delta(n, threshold)
        server = self.for_server(delta) if self.secure else self.against_server
        return self.for_readers(delta, void), server

    def restore(
        self, train: Ratings, positive: float, state: Mapping[str, Any]
    ) -> "FederatedModel":
        """Return the model of a `state`: fitting again would be another release."""
        return FederatedModel(
            str(self), train, positive, self.proved(int(state["users"])),
            np.array(state["factors"]), ridge=self.ridge, void=int(state["void"]),
            users=int(state["users"]), seeded=False,
        )  # fmt: skip

    def survivors(self, n: int, delta: float) -> int | None:
        """Return the least number of survivors of n users; None if the server adds the noise."""
        if not self.secure:
            return None
        if self.threshold is None:
            return training.usual_threshold(n, self.sample, self.rounds, delta)
        if self.threshold > n:
            raise ParameterError(f"The 'threshold' must be at most the {n:,} users.")
        return self.threshold

    def void_delta(self, n: int, threshold: int) -> float:
        """Return the delta of seeing which rounds were void."""
        return training.void_delta(n, self.sample, self.rounds, threshold)

    def training(self, n: int, m: int, rng: np.random.Generator) -> Training:
        """Return the server's part, for n users and m items."""
        rate = self.step / (self.sample * n)
        return Training(m, self.factors, self.rounds, rate, self.clip, rng)

    def check_size(self, m: int) -> None:
        """Raise if an update does not fit into a message."""
        if m * (self.factors + 1) >= NUMBERS:
            raise ParameterError(
                f"An update must have fewer than {NUMBERS:,} numbers, one for each item and"
                " factor. Use fewer 'factors'."
            )


class FederatedModel(PrivateModel):
    """Biases and factors (m, f + 1) of the items; vectors of users are computed on demand.

    Attributes
    ----------
    against_server
        Guarantee against the server and other clients; `guarantee` is for readers.
    void
        Number of rounds with too few survivors; their budget is spent.
    users
        Number of clients, which is assumed to be public.
    """

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        proved: tuple[Guarantee, Guarantee],
        factors: Floats,
        *,
        ridge: float,
        void: int,
        users: int,
        seeded: bool,
    ) -> None:
        super().__init__(spec, train, positive, proved[0], {"factors": factors}, seeded=seeded)
        self.against_server, self.void, self.users = proved[1], void, users
        self.factors, self.ridge = factors, ridge
        note = f"Against the server: {self.against_server}."
        voided = (f"{void:,} rounds were void; their budget is spent.",) if void else ()
        self.notes = (*self.notes, note, *voided)

    @override
    def state(self) -> dict[str, NDArray[Any]]:
        counts = {"void": np.array(self.void), "users": np.array(self.users)}
        return {"factors": self.factors, **counts}

    @override
    def scores(self, users: Ids) -> Floats:
        own, items = self._own(users), self.factors.copy()
        items[:, 0] = 1.0
        return from_unit_range(self.factors[:, 0] + own @ items.T, self.train.scale)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        own = self._own(np.unique(users[users >= 0]))
        place = np.searchsorted(np.unique(users[users >= 0]), users)
        padded = np.vstack([own, np.zeros(own.shape[1])])
        selected = padded[np.where(users >= 0, place, len(own))]
        average = np.zeros(self.factors.shape[1])
        average[0] = self.factors[:, 0].mean()
        factors = np.vstack([self.factors, average])[items]
        bias = factors[:, 0].copy()
        factors[:, 0] = 1.0
        return from_unit_range(bias + (selected * factors).sum(axis=1), self.train.scale)

    def _own(self, users: Ids) -> Floats:
        """Return the vector (b, f + 1) of each user; 0 without ratings."""
        rows = np.zeros((len(users), self.factors.shape[1]))
        rated = self.train.per_user[users] > 0
        order = np.argsort(users[rated], kind="stable")
        if len(order):
            solved = vectors(profiles(self.train, users[rated][order]), self.factors, self.ridge)
            back = np.empty_like(solved)
            back[order] = solved
            rows[rated] = back
        return rows
