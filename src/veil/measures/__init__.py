"""Measures of risk and utility that are the same for every kind of data."""

EVERYWHERE: dict[str, dict[str, str]] = {  # group of measures -> measure -> what it counts
    "risk": {
        "lazy": "How often an attacker's first guess is right.",
        "active": "How often the truth is among an attacker's first ten guesses.",
        "motivated": "1 / rank of the truth among an attacker's guesses.",
        "persistent": "Rank-biased precision of an attacker's guesses (p = 0.8); at most 0.2.",
    },
    "utility": {
        "nDCG@10": "Quality of the first ten results, by graded judgements.",
        "recall@100": "Relevant documents among the first hundred results.",
        "pooled recall": "Relevant documents that any variant returned, before re-ranking.",
        "nDCG@10 of plain search, as deep": "The same for plain search that re-ranks as many.",
        "documents in the union": "Documents that all variants of a query returned together.",
    },
    "risk and utility": {
        "QuIPU": "Twice the signed area between a risk-utility curve and the diagonal; 1 is best.",
    },
}
