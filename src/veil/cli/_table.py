"""The commands: where each one is, and what it does in a sentence. They are loaded when asked for.

A new command is one file and one row. The sentences are those of the commands themselves; a test
compares them.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """Where a command is, as ``module:name``, and its first sentence."""

    place: str
    says: str


COMMANDS: dict[str, Row] = {
    "attack": Row(
        "veil.cli.attack:attack",
        "Attack VARIANTS, a file with columns id, text and obfuscatedText.",
    ),
    "attackers": Row(
        "veil.cli.attackers:attackers",
        "List attackers with their parameters, or those of NAMES alone.",
    ),
    "audit": Row(
        "veil.cli.audit:audit",
        "Sweep the mechanisms of STUDY, a TOML file, attack them, and write a report.",
    ),
    "choose": Row(
        "veil.cli.choose:choose",
        "Choose the mechanism and parameters with the best utility under a bound on the risk.",
    ),
    "cover": Row(
        "veil.cli.cover:cover",
        "Build tables of cover groups for private search, and see what would be sent.",
    ),
    "dpia": Row(
        "veil.cli.dpia:dpia",
        "Write the impact assessment of ANSWERS, a TOML file, and of the figures that it names.",
    ),
    "engines": Row(
        "veil.cli.engines:engines",
        "List engines and encoders with their parameters, or those of NAMES alone.",
    ),
    "explain": Row(
        "veil.cli.explain:explain",
        "Say what MECHANISM does to WORDS: exactly if its law is known, else by simulation.",
    ),
    "fetch": Row(
        "veil.cli.fetch:fetch",
        "Fetch NAMES into the cache: word vectors, encoders, collections, wordnet.",
    ),
    "gate": Row(
        "veil.cli.gate:gate",
        "Write rules for the search page (veil serve --gate), and try them out.",
    ),
    "index": Row(
        "veil.cli.index:index",
        "Index the documents of SOURCE: JSONL, TSV or TREC files, irds:ID, or a folder.",
    ),
    "ledger": Row(
        "veil.cli.ledger:ledger",
        "See, export or forget what searches released; queries themselves are not in it.",
    ),
    "measures": Row(
        "veil.cli.measures:measures",
        "List measures with their parameters, or those of NAMES alone.",
    ),
    "mechanisms": Row(
        "veil.cli.mechanisms:mechanisms",
        "List mechanisms, their parameters, what is proved and what is not.",
    ),
    "protect": Row(
        "veil.cli.protect:protect",
        "Release variants of TEXTS: texts with a space in them (or by --text), one file (CSV,"
        " TSV, JSONL, Parquet, plain text, also .gz), or - for standard input.",
    ),
    "restore": Row(
        "veil.cli.restore:restore",
        "Put the personal data behind the pseudonyms of RELEASED back, by the map of that run.",
    ),
    "score": Row(
        "veil.cli.score:score",
        "Score VARIANTS and the runs that answer them: the plane and the QuIPU table.",
    ),
    "search": Row(
        "veil.cli.search:search",
        "Search for QUERY (- reads it from standard input); only variants of it are sent.",
    ),
    "serve": Row(
        "veil.cli.serve:serve",
        "Open a search page on this machine; engines see variants of what is searched for.",
    ),
    "token": Row(
        "veil.cli.token:token",
        "Print the token of the search page, for its form and for programs.",
    ),
    "vectors": Row(
        "veil.cli.vectors:vectors",
        "List word vectors, or fetch and convert NAMES now.",
    ),
}
