"""Run a study: compute the steps that its store lacks, and store each as it finishes.

Only this process writes. If it ends at any moment, the store contains every finished step, and the
next run continues from there. A step that runs twice gives the same result.
"""

import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from pathlib import Path

from veil.core.errors import EngineError, ParameterError
from veil.core.parallel import cores
from veil.data.fetch import Report, no_progress
from veil.studies.domains import compute, domain
from veil.studies.experiment import Cell, Experiment, Step
from veil.studies.figures import gather
from veil.studies.pool import InlineExecutor, is_cut_off, kill_workers, processes
from veil.studies.results import Results
from veil.studies.store import Result, Store
from veil.studies.study import Study

ATTEMPTS = 3  # at a step whose worker dies
_IN_FLIGHT = 64  # steps that a cluster gets at once
_PATIENCE = 60.0  # seconds for a broken pool to fail its steps, or for a scheduler to return
_PULSE = 2.0  # seconds between checks of the scheduler


def sweep(
    study: Study,
    out: Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    report: Report = no_progress,
) -> Results:
    """Run a study with its store in the folder `out`, and return the results.

    Parameters
    ----------
    executor
        Executor of the steps; by default worker processes on this machine. A script that calls
        this function needs the usual ``if __name__ == "__main__":``.
    workers
        Number of worker processes: by default one per processor; 0 computes in this process.
        Results do not depend on it.
    report
        Progress callback: the last step, the number of finished steps, and their total.
    """
    count = cores() if workers is None else workers
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 1024:
        raise ParameterError("'workers' must be an integer from 0 to 1024.")
    started = time.perf_counter()
    progress = _Progress(report)
    experiment = domain(study.domain)(study, progress.prepare)
    with Store(out) as store:
        run = _Run(study, experiment, store, report)
        progress.done, progress.total = run.done, run.total
        if run.ready:
            experiment.prepare(run.missing)
            run.compute(executor, count)
        seconds = time.perf_counter() - started
        return gather(experiment, run.cells, run.plain, store, seconds, count)


class _Progress:
    """Reports the progress of the whole sweep, including its preparation."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.done, self.total = 0, 0  # unknown until the study is opened

    def prepare(self, message: str, done: int, total: int) -> None:
        """Report preparation in words, because the progress of the sweep must not decrease."""
        share = f" ({min(100, 100 * done // total)} %)" if total > 0 else ""
        self._report(f"preparing: {message}{share}", self.done, self.total)


class _Run:
    """The state of a sweep: what is ready, what is under way, what is done."""

    def __init__(self, study: Study, experiment: Experiment, store: Store, report: Report) -> None:
        self.study, self.store, self.report = study, store, report
        self.cells: list[Cell] = list(experiment.cells())
        self.plain: list[Step] = list(experiment.plain())
        steps = [*self.plain, *(s for cell in self.cells for s in (cell.release, *cell.steps))]
        stored = store.keys()
        self.missing = [
            step
            for step in dict.fromkeys(steps)
            if step.key not in stored or store.get(step.key) is None
        ]
        self.total, self.done = len(set(steps)), len(set(steps)) - len(self.missing)
        self.before = self.done
        self.waiting: dict[str, list[Step]] = {}  # by the key of the step that they need
        self.ready: deque[Step] = deque()
        self.needed: dict[str, Result | None] = {}  # results that other steps work on
        self.attempts: Counter[str] = Counter()
        absent = {step.key for step in self.missing}
        for step in self.missing:
            if step.of in absent:
                self.waiting.setdefault(step.of, []).append(step)
            else:
                self.ready.append(step)

    def compute(self, executor: Executor | None, workers: int) -> None:
        """Compute all missing steps; a dead worker costs time, but no result."""
        self.started = time.perf_counter()
        own = executor is None
        pool = executor or _pool(workers)
        room = _IN_FLIGHT if executor is not None else max(1, 2 * workers)
        under_way: dict[Future[Result], Step] = {}
        try:
            while self.ready or under_way:
                broken = not self._fill(pool, under_way, room)
                finished = self._finished(pool, under_way)
                dead = self._take([(future, under_way.pop(future)) for future in finished])
                if own and (broken or dead):  # a broken pool fails all its steps
                    wait(under_way, _PATIENCE)
                    self._take([(future, under_way.pop(future)) for future in list(under_way)])
                    kill_workers(pool)
                    pool = _pool(workers)
        finally:
            for future in under_way:
                future.cancel()
            if own:
                kill_workers(pool)

    def _finished(
        self, pool: Executor, under_way: dict[Future[Result], Step]
    ) -> set[Future[Result]]:
        """Return the steps that finish next; give up on a cluster that lost its scheduler."""
        cut_off = None
        while under_way:
            finished, _ = wait(under_way, _PULSE, return_when=FIRST_COMPLETED)
            whole = not is_cut_off(pool)
            if finished and (whole or any(not _failed((future, None)) for future in finished)):
                return finished
            now = time.monotonic()
            cut_off = None if whole else now if cut_off is None else cut_off
            if cut_off is not None and now - cut_off >= _PATIENCE:
                raise EngineError(
                    "The scheduler of the Dask cluster no longer answers. Finished results are"
                    " kept. Restart the scheduler and workers, then run this again."
                )
            if finished:  # only steps that failed with the scheduler
                time.sleep(_PULSE)
        return set()

    def _fill(self, pool: Executor, under_way: dict[Future[Result], Step], room: int) -> bool:
        """Submit steps up to a limit; return whether the pool still accepts them."""
        while self.ready and len(under_way) < room:
            step = self.ready[0]
            try:
                future = pool.submit(compute, self.study, step, self._needed(step))
            except BrokenExecutor:
                return False
            under_way[future] = self.ready.popleft()
        return True

    def _needed(self, step: Step) -> Result | None:
        """Return the result that a step uses."""
        if not step.of:
            return None
        if step.of not in self.needed:
            self.needed[step.of] = self.store.get(step.of)
        return self.needed[step.of]

    def _take(self, finished: Sequence[tuple[Future[Result], Step]]) -> bool:
        """Store the results; return whether a worker died, whose steps are then ready again."""
        dead = False
        for future, step in sorted(finished, key=_failed):  # store results before raising errors
            try:
                result = future.result()
            except (Exception, CancelledError) as error:
                if not _died(error):
                    raise
                dead = True
                self._again(step)
            else:
                self._keep(step, result)
        return dead

    def _again(self, step: Step) -> None:
        self.attempts[step.key] += 1
        if self.attempts[step.key] >= ATTEMPTS:
            raise EngineError(
                f"A worker died {ATTEMPTS} times over one step ({step.kind} of {step.spec}),"
                " perhaps for lack of memory. Finished results are kept. Use fewer workers and"
                " start again."
            )
        self.ready.append(step)

    def _keep(self, step: Step, result: Result) -> None:
        self.store.put(step.key, step.kind, step.spec, result)
        self.done += 1
        if step.key in self.waiting:
            self.needed[step.key] = result
        self.ready.extendleft(reversed(self.waiting.pop(step.key, [])))
        label = " ".join(filter(None, (step.kind, step.spec.partition("(")[0], step.by)))
        self.report(f"{label}{self._time_left()}", self.done, self.total)

    def _time_left(self) -> str:
        """Return an estimate of the remaining time as text, or an empty string."""
        new = self.done - self.before
        if new < 3 or self.done == self.total:
            return ""
        seconds = (time.perf_counter() - self.started) / new * (self.total - self.done)
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"


def _pool(workers: int) -> ProcessPoolExecutor | InlineExecutor:
    return processes(workers) if workers else InlineExecutor()


def _failed(pair: tuple[Future[Result], Step | None]) -> bool:
    return pair[0].cancelled() or pair[0].exception() is not None


def _died(error: BaseException) -> bool:
    """Return whether a step failed only because its worker died."""
    return isinstance(error, BrokenExecutor | CancelledError) or (
        type(error).__name__ in ("KilledWorker", "FutureCancelledError")
        and type(error).__module__.partition(".")[0] == "distributed"
    )
