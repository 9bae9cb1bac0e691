"""What a page tells of a database that may be asked: names of its policy, and no data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableTold:
    """A table: what a unit of it is, and what may be said of each column."""

    name: str
    unit: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The tables that may be asked, examples of questions, and the budget."""

    tables: tuple[TableTold, ...]
    examples: tuple[str, ...]
    epsilon: float
    delta: float
    left: float
    delta_left: float
    seeded: bool
    durable: bool  # whether charges outlive the server
