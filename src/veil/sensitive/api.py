"""Functions for sensitive documents: index, search, evaluate and attack."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.core.formatting import count_of, printable
from veil.core.verb import Folder, NewPath, Reply, Sheet, SpecOf, local
from veil.data.fetch import Report, no_progress
from veil.sensitive.attack import attack as attack_mechanism
from veil.sensitive.attacks import ATTACKS
from veil.sensitive.classifiers import classifier as classifier_of
from veil.sensitive.collection import load
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.inputs import check_k, check_query, prices_of
from veil.sensitive.mechanisms import mechanism as mechanism_of

Classifier = Annotated[str, SpecOf("veil.sensitive.classifiers:CLASSIFIERS")]

_USUAL = ("relevance()", "prefilter(threshold=0.1)", "postfilter(threshold=0.1)", "demoted()")
_RISK = (
    "Exposed: share of sensitive documents in some list. Inferred: share of the others whose"
    " existence the attacker infers. False alarms: the same for decoys, which do not exist. Risk ="
    " exposed + (1 - exposed) * max(0, inferred - false alarms). Other attacks may find more."
)


@local
def index(
    source: Path,
    *,
    out: NewPath,
    sensitivity: Path | None = None,
    classifier: Classifier = "logistic",
    report: Report = no_progress,
) -> Reply:
    """Index SOURCE with the probability that each document is sensitive, for its owner only.

    SOURCE is a file of documents, a folder with docs.jsonl, an index of 'veil index', or a folder
    of files such as mails (.eml, .mbox), notes and pages; the id of a file is its path in the
    folder.

    A human label overrides the classifier. The index contains the texts: protect it like the
    documents.

    Parameters
    ----------
    source
        Documents to index.
    out
        Folder to write, completely or not at all.
    sensitivity
        Table with columns id and sensitive (0 or 1); not all documents need a label.
    classifier
        Spec of the classifier that estimates the other probabilities.
    """
    from veil.corpus.readers.reader import REASONS  # reads documents
    from veil.sensitive.index import probabilities, read_labelled, store

    if out.exists():
        raise InputError(f"{out} already exists. Delete it, or name a new folder.")
    collection = read_labelled(source, sensitivity, report)
    p = probabilities(collection, classifier)
    store(out, collection, collection.sensitive, p, classifier, report)
    skipped = collection.files.skipped if collection.files else {}
    labelled = int((collection.sensitive >= 0).sum())
    documents = len(collection.documents)
    notes = [f"Skipped {count:,}: {REASONS[reason]}." for reason, count in sorted(skipped.items())]
    notes.append(
        f"{count_of(documents, 'document')}, {labelled:,} labelled by a human, in {out}. Search"
        f" with: veil sensitive search {out} QUERY -m 'postfilter(threshold=0.1)'"
    )
    data = {"documents": documents, "labelled": labelled, "skipped": dict(skipped)}
    return Reply(notes=notes, data=data)


@local
def search(
    index: Folder,
    query: str,
    *,
    mechanism: str = "postfilter(threshold=0.1)",
    k: int = 10,
) -> Reply:
    """Search INDEX for QUERY, and list only documents that the mechanism shows.

    A document that a human labelled sensitive (p = 1), or whose probability is unknown, is never
    shown by any mechanism. The number of withheld documents is not reported.

    Parameters
    ----------
    index
        Folder written by 'veil sensitive index'.
    query
        Words to search for.
    mechanism
        Spec of the mechanism that withholds documents.
    k
        Maximum number of documents to show.
    """
    from veil.sensitive.index import open_stored  # reads documents

    check_query(query)
    check_k(k)
    parsed = mechanism_of(mechanism)
    stored = open_stored(index)
    documents = stored.collection.documents
    answer = stored.search(query, parsed, k).positions.tolist()
    results = [{"id": documents.ids[row], "title": documents.titles[row]} for row in answer]
    lines = [
        f"{rank}\t{printable(result['id'])}\t{printable(result['title'])[:100]}"
        for rank, result in enumerate(results, start=1)
    ]
    return Reply(lines, [] if lines else ["Nothing to show."], data={"results": results})


@local
def evaluate(
    source: Folder,
    *,
    mechanism: tuple[str, ...] = (),
    out: NewPath | None = None,
    sensitivity: Path | None = None,
    classifier: Classifier = "logistic",
    cost: float = 12.0,
    k: int = 10,
    report: Report = no_progress,
) -> Reply:
    """Measure mechanisms on SOURCE: docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv.

    Probabilities are out of fold; mechanisms that learn are trained on other topics and
    documents. The last row is the empty list, which is often hard to beat.

    Parameters
    ----------
    source
        Folder of the test collection.
    mechanism
        Spec of a mechanism; repeatable.  [default: relevance(), two filters and demoted()]
    out
        Page to write (.html).
    sensitivity
        Labels, if they are not in the folder.
    classifier
        Spec of the classifier that estimates the probabilities.
    cost
        Cost of showing a sensitive document.
    k
        Number of documents shown.
    """
    from veil.sensitive.evaluate import check_page, compare, write_report  # draws pages

    mechanisms = [mechanism_of(spec) for spec in mechanism or _USUAL]
    prices_of(cost, 0.0, "collection", 1.0)
    check_k(k)
    if out is not None:
        check_page(out)
    collection = load(source, sensitivity, report)
    report("classifying documents", 0, 0)
    validated = cross_validate(collection, classifier)
    report("ranking", 0, 0)
    rows = compare(collection, [parsed.brief for parsed in mechanisms], validated.p, k, cost)
    if out is not None:
        write_report(out, collection.name, rows, validated, k, cost)
    heads = ("mechanism", f"nCS-DCG@{k}", "95 %", "skill", "visible nDCG", "sensitive", "any",
             "shown", "judged")  # fmt: skip
    cells = [
        (row.spec, f"{row.value:.3f}", f"{row.value.low:.3f}-{row.value.high:.3f}",
         f"{row.skill:+.2f}", f"{row.visible:.3f}", f"{row.share:.3f}", f"{row.any_shown:.2f}",
         f"{row.shown:.1f}", f"{row.judged:.2f}")
        for row in rows
    ]  # fmt: skip
    quality = (
        f"{validated.spec}: AUC {validated.auc:.3f}, among the best 100 of each query"
        f" {validated.candidate_auc:.3f}; Brier {validated.brier:.3f}, calibration error"
        f" {validated.ece:.3f}."
    )
    topics = f"{count_of(rows[0].value.n, 'topic')}; {rows[0].says}."
    notes = dict.fromkeys(note for row in rows for note in row.notes)
    values: dict[str, object] = {
        row.spec: {
            "ncs_dcg": _interval(row.value), "skill": row.skill,
            "visible_ndcg": _interval(row.visible), "sensitive": row.share, "any": row.any_shown,
            "shown": row.shown, "judged": row.judged,
        }
        for row in rows
    }  # fmt: skip
    return Reply([Sheet(heads, cells, narrow=heads[:6]), quality, topics, *notes], data=values)


@local
def attack(
    source: Folder,
    *,
    mechanism: tuple[str, ...],
    attack: tuple[str, ...] = (),
    sensitivity: Path | None = None,
    classifier: Classifier = "logistic",
    k: int = 10,
    seed: int = 0,
    report: Report = no_progress,
) -> Reply:
    """Attack SOURCE: docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv.

    The attacker searches like anyone else, and knows a few words of each sensitive document. It
    sees the answers of a mechanism: lists, ranks, totals, and scores if there are any. See 'veil
    sensitive attacks'.

    Parameters
    ----------
    source
        Folder of the test collection.
    mechanism
        Spec of a mechanism to attack; repeatable.
    attack
        Spec of an attack; repeatable.  [default: all]
    sensitivity
        Labels, if they are not in the folder.
    classifier
        Spec of the classifier that estimates the probabilities.
    k
        Number of documents on a page.
    seed
        Seed of folds and decoys.
    """
    mechanisms = [mechanism_of(spec) for spec in mechanism]
    attackers = [ATTACKS.parse(spec) for spec in attack or ATTACKS.names()]
    check_k(k)
    classifier_of(classifier)
    collection = load(source, sensitivity, report)
    p = None
    if any(parsed.name != "relevance" for parsed in mechanisms):
        report("classifying documents", 0, 0)
        p = cross_validate(collection, classifier, rng=seed).p
    cells: list[tuple[str, ...]] = []
    figures: list[dict[str, object]] = []
    for parsed in mechanisms:
        for attacker in attackers:
            report(f"{attacker.brief} against {parsed.brief}", 0, 0)
            exposure = attack_mechanism(collection, parsed, p, attacker, k, seed)
            risk = exposure.risk
            shares = {name: exposure.details[name] for name in _SHARES}
            values = (*shares.values(), risk)
            cells.append((parsed.brief, attacker.brief, *(f"{value:.3f}" for value in values),
                          f"{risk.low:.3f}-{risk.high:.3f}"))  # fmt: skip
            figures.append(
                {"mechanism": parsed.brief, "attack": attacker.brief,
                 **{name: float(share) for name, share in shares.items()},
                 "risk": _interval(risk)}
            )  # fmt: skip
    heads = ("mechanism", "attack", "exposed", "inferred", "false alarms", "risk", "95 %")
    count = int((collection.sensitive == 1).sum())
    says = f"{count_of(count, 'sensitive document')}. {_RISK}"
    data = {"sensitive": count, "attacks": figures}
    return Reply([Sheet(heads, cells, narrow=heads), says], data=data)


_SHARES = ("exposed", "inferred", "false_alarms")


def _interval(value: Estimate) -> Mapping[str, float]:
    return {"value": float(value), "low": value.low, "high": value.high}
