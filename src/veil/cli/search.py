"""``veil search``: results for a query that the engine never sees."""

import json
import sys
from pathlib import Path

import click

from veil import api
from veil.cli._choices import SELECT_OPTIONS, policies_of, selection_of
from veil.cli._engine import engine_options
from veil.cli._results import show_results
from veil.cli._screen import VECTORS_OPTION, open_space, progress_bar
from veil.cli._summary import not_covered
from veil.core.errors import InputError
from veil.core.printable import escaped_json
from veil.data.files import require_folder
from veil.search.engines.local.replay import record as write_recording
from veil.search.opening import open_engine
from veil.search.pipeline import MAX_QUERY, SearchResult, came_back, check_query
from veil.search.rerank import reranker
from veil.text.policy import Unknown

_DEFAULT = "cmp(epsilon=6)"


@click.command()
@click.argument("query")
@engine_options
@click.option(
    "--mechanism",
    default=_DEFAULT,
    show_default=True,
    help="what makes the variants: veil mechanisms",
)
@click.option(
    "--size",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="variants to send; each adds to the cost",
)
@click.option(
    "--show", type=click.IntRange(1, 1000), default=10, show_default=True, help="results to print"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="also write what was sent and answered, for the replay engine (.jsonl)",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="repeatable, so NOT private")
def search(
    query: str,
    engine: str,
    collection: str | None,
    mechanism: str,
    size: int,
    k: int,
    show: int,
    encoder: str,
    vectors: str,
    unknown: Unknown,
    policy: tuple[str, ...],
    select: str | None,
    as_json: bool,
    record: Path | None,
    seed: int | None,
) -> None:
    """Search for QUERY (- reads it from standard input); only variants of it are sent."""
    text = check_query(_read() if query == "-" else query)
    if record is not None:
        require_folder(record)  # before anything is sent
        if record.exists():
            raise InputError(f"There is a file {record} already; delete it, or name another.")
    chosen = api.mechanism(mechanism)
    with progress_bar() as report:
        asked = open_engine(engine, collection, report)
    space = open_space(chosen, vectors)
    policies, selected = policies_of(policy), selection_of(select)
    with progress_bar() as report:
        report("searching", 0, 0)
        result = api.search(
            text,
            chosen,
            space,
            asked,
            size,
            k,
            encoder=None if encoder == "none" else encoder,
            report=report,
            unknown=unknown,
            policies=policies,
            select=selected,
            rng=seed,
        )
        model = None if encoder == "none" else reranker(encoder, asked, report)
        back = came_back(text, result, asked, reranker=model)
    if as_json:
        document = _document(result, engine, back)
        click.echo(escaped_json(json.dumps(document, ensure_ascii=False, indent=1)))
    else:
        shown = {"network": asked.network, "reranked": encoder != "none"}
        caveats = not_covered(chosen, selected, policies)
        show_results(text, result, chosen, back, show, caveats, **shown)
    sys.stdout.flush()
    if record is not None:
        write_recording(record, result.variants[0], result.answers)


search.params += [VECTORS_OPTION, *SELECT_OPTIONS]


def _read() -> str:
    """Read one query from standard input, where neither `ps` nor the history sees it."""
    text = sys.stdin.read(MAX_QUERY + 2)
    if "\n" in text.strip():
        raise InputError("Standard input must hold one query, on one line.")
    return text.strip()


def _document(
    result: SearchResult, engine: str, back: tuple[int, int] | None
) -> dict[str, object]:
    """Return the whole result; the true query is not in it."""
    ranking, release = result.ranking, result.variants
    return {
        "results": [
            {
                "rank": rank,
                "id": ranking.items[place],
                "title": ranking.titles[place] if ranking.titles else "",
                "text": ranking.texts[place] if ranking.texts else "",
                "score": float(score),
            }
            for rank, (place, score) in enumerate(
                zip(ranking.index[0], ranking.scores[0], strict=True), start=1
            )
            if place >= 0
        ],
        "engine": engine,
        "mechanism": release.mechanism,
        "variants": list(release[0]),
        "gaps": [
            {"variant": number, "reason": reason}
            for number, reason in enumerate(result.gaps, start=1)
            if reason
        ],
        "plain_top10_came_back": None if back is None else back[0] / back[1],
        "protected_words": release.protected[0],
        "kept_words": list(release.kept[0]),
        "cost": {
            "kind": release.cost.kind,
            "epsilon": release.cost.epsilon if release.cost.kind != "none" else None,
            "metric": release.cost.metric,
            "unit": release.cost.unit,
            "caveat": release.cost.caveat,
            "passed": release.cost.passed,
        },
        "seeded": release.seeded,
    }
