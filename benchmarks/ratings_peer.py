"""Measure cornac, scikit-surprise and implicit, in an environment of their own.

Run by the interpreter of that environment with the file of a split; one JSON object goes to
standard output. Nothing of the peers is copied here: their published classes are called as they
are, on one processor.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # read when libraries are loaded, hence before them


def spent(work: Callable[[], object], passes: int = 2) -> float:
    """Return the processor seconds of the cheapest pass."""
    found = []
    for _ in range(passes):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Fit each peer, and tell the cheapest passes."""
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np

    split = np.load(sys.argv[1], allow_pickle=False)
    columns = [split[name] for name in ("user", "item", "value")]
    print(json.dumps({**implicit_times(*columns), **rating_times(split)}))


def implicit_times(user, item, value) -> dict[str, float]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Measure implicit."""
    import numpy as np
    from implicit.als import AlternatingLeastSquares
    from implicit.nearest_neighbours import CosineRecommender
    from scipy.sparse import csr_matrix

    liked = value >= 4
    ones = np.ones(int(liked.sum()), dtype=np.float32)
    likes = csr_matrix((ones, (user[liked], item[liked])), shape=(user.max() + 1, item.max() + 1))
    given = {"factors": 64, "regularization": 0.01, "alpha": 1.0, "iterations": 15}

    def als() -> None:
        model = AlternatingLeastSquares(**given, num_threads=1, use_gpu=False, random_state=1)
        model.fit(likes, show_progress=False)

    def cosine() -> None:
        CosineRecommender(K=20, num_threads=1).fit(likes, show_progress=False)

    return {"als": spent(als), "cosine": spent(cosine)}


def rating_times(split) -> dict[str, float]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Measure cornac and surprise."""
    import pandas as pd
    from cornac.data import Dataset
    from cornac.models import MF
    from surprise import SVD, KNNWithMeans, Reader
    from surprise import Dataset as Table

    train = [split[name].tolist() for name in ("user", "item", "value")]
    test = list(zip(*(split[name].tolist() for name in ("tu", "ti", "tv")), strict=True))
    data = Dataset.from_uir(list(zip(*train, strict=True)))
    frame = pd.DataFrame(dict(zip("uir", train, strict=True)))
    whole = Table.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()

    def cornac() -> None:
        given = {"k": 50, "max_iter": 20, "learning_rate": 0.01, "lambda_reg": 0.1}
        MF(**given, use_bias=True, early_stop=False, num_threads=1, seed=1).fit(data)

    def svd() -> None:
        SVD(n_factors=50, n_epochs=20, lr_all=0.01, reg_all=0.1, random_state=1).fit(whole)

    def knn() -> None:
        options = {"name": "cosine", "user_based": True}
        KNNWithMeans(k=40, sim_options=options, verbose=False).fit(whole).test(test)

    return {"cornac": spent(cornac), "svd": spent(svd), "knn": spent(knn, 1)}


if __name__ == "__main__":
    main()
