"""Measures of risk and utility: what is measured in the same way everywhere."""

EVERYWHERE: dict[str, dict[str, str]] = {  # what each counts, by what it is a measure of
    "risk": {
        "lazy": "How often an attacker's first guess is right.",
        "active": "How often the truth is among an attacker's first ten guesses.",
        "motivated": "1 / rank of the truth among an attacker's guesses.",
        "persistent": "Rank-biased precision of an attacker's guesses (p = 0.8); at most 0.2.",
    },
    "utility": {
        "nDCG@10": "How good the first ten results are, by graded judgements.",
        "recall@100": "Relevant documents that are among the first hundred results.",
        "pooled recall": "Relevant documents that any variant brought, before re-ranking.",
        "nDCG@10 of plain search, as deep": "The same of plain search that orders as many.",
        "documents in the union": "Documents that all variants of a query brought together.",
    },
    "risk and utility": {
        "QuIPU": "Twice the signed area between a curve of the plane and its diagonal; 1 is best.",
    },
}
