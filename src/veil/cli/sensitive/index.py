"""``veil sensitive index``: make documents searchable for people who are not cleared."""

from pathlib import Path

import click

from veil.cli.terminal import NEW, progress_bar, stderr
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.corpus.readers.reader import REASONS
from veil.sensitive.index import probabilities, read_labelled, store

PATH = click.Path(path_type=Path)


@click.command("index")
@click.argument("source", type=PATH)
@click.option(
    "--sensitivity",
    type=PATH,
    help="table with columns id and sensitive (0 or 1); not all need one",
)
@click.option(
    "--classifier", default="logistic", show_default=True, metavar="SPEC",
    help="what says how likely the other documents are sensitive",
)  # fmt: skip
@click.option("-o", "--out", type=NEW, required=True, help="folder to write, whole or not at all")
def index(source: Path, sensitivity: Path | None, classifier: str, out: Path) -> None:
    """Index SOURCE with the probability that each document is sensitive, for the owner alone.

    SOURCE is a file of documents, a folder with docs.jsonl, an index of 'veil index', or a folder
    of files, as mails (.eml, .mbox), notes and pages; the id of a file is its path in the folder.

    What a human says wins over the classifier. The folder holds the texts: keep it as safe as the
    documents themselves.
    """
    if out.exists():
        raise InputError(f"There is a {out} already; delete it, or name a new folder.")
    with progress_bar() as report:
        collection = read_labelled(source, sensitivity, report)
        p = probabilities(collection, classifier)
        store(out, collection, collection.sensitive, p, classifier, report)
    for reason, count in sorted(collection.files.skipped.items() if collection.files else ()):
        stderr().print(f"Skipped {count:,}: {REASONS[reason]}.", markup=False)
    said = int((collection.sensitive >= 0).sum())
    stderr().print(
        f"{count_of(len(collection.documents), 'document')}, {said:,} labelled by a human, in"
        f" {out}. Search it with: veil sensitive search {out} QUERY --strategy"
        " 'postfilter(threshold=0.1)'",
        markup=False,
    )
