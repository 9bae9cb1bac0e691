"""What the page of tables is told: figures, drawings, a released file and its card."""

from pydantic import Field

from veil.proxy.answers import Answer, CostAnswer, Figure, Text


class ColumnAnswer(Answer):
    """A column, and what it seems to be."""

    name: Text
    kind: str = Field(description="numbers or texts")
    different: int = Field(description="how many different values it has")
    missing: int
    role: str
    says: str = Field(description="what should be thought of, or nothing")


class StandAnswer(Answer):
    """How exposed the records of a table are; null where no column is a qi."""

    rows: int
    classes: int | None = Field(description="groups of records that look alike")
    uniques: int | None = Field(description="records that are alone with what is known")
    k: int | None = Field(description="size of the smallest group")
    k_any: int | None = Field(
        description="the same if a missing value may be any; null where none is missing"
    )
    largest: Figure = Field(description="the largest risk of a class, 1/k")
    risk: Figure = Field(description="share of records that the linkage attacker finds")
    low: Figure = Field(description="lower end of its interval of 95 %")
    high: Figure
    worst: Figure = Field(description="the same for the most exposed record")


class MethodAnswer(Answer):
    """A method, and whether it has anything to do here."""

    name: str
    says: str
    unfit: str = Field(description="why it does not fit these columns, or nothing")


class TablesOpenAnswer(Answer):
    """A table: its columns, and how exposed its records are as they stand."""

    columns: list[ColumnAnswer]
    stand: StandAnswer
    methods: list[MethodAnswer]
    note: str = Field(description="why nothing is measured with these roles, or nothing")
    svg: str = Field(description="sizes of groups that look alike, as a drawing, or nothing")


class StepAnswer(Answer):
    """One strength of a method, and what was measured there, once."""

    spec: str
    stand: StandAnswer
    utility: float = Field(description="marginals kept, from 0 to 1")


class LeftAnswer(Answer):
    """A strength that cannot be had for this table."""

    spec: str
    why: str


class TablesPlaneAnswer(Answer):
    """The strengths of a method on the plane, from the weakest."""

    stops: list[StepAnswer]
    left_out: list[LeftAnswer]
    hierarchies: dict[Text, str] = Field(description="by column, how its hierarchy was built")
    svg: str = Field(description="the plane, as a drawing")


class TablesProtectAnswer(Answer):
    """A release: its file, its card, what is proved, and how exposed it is."""

    method: str
    file: Text = Field(description="the released table as CSV, in a random order")
    card: Text = Field(description="the card as JSON: what was done, what is proved and what not")
    stand: StandAnswer
    utility: float
    suppressed: int = Field(description="rows that were removed")
    blanked: int = Field(description="cells that are empty now and were not")
    changed: list[Text] = Field(description="columns in which values were changed")
    kept: list[Text] = Field(description="columns that are released as they were")
    svg: list[str] = Field(description="sizes and columns before and after: not for release")
    seeded: bool
    cost: CostAnswer
