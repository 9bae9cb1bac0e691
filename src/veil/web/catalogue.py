"""What each mechanism is: its paper, what is proved of it, and what a request may set."""

from functools import cache
from typing import Any

from veil.core.component import example, summary
from veil.core.guarantee import KINDS
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import TextMechanism
from veil.web.figures import GuaranteeAnswer, MechanismAnswer, MechanismsAnswer
from veil.web.specs import settable, usable


@cache
def catalogue() -> MechanismsAnswer:
    """Return the mechanisms that a request can name, by name."""
    classes = {name: find.mechanism_class(name) for name in find.names()}
    return MechanismsAnswer({name: _entry(cls) for name, cls in classes.items() if usable(cls)})


def _entry(cls: type[TextMechanism]) -> MechanismAnswer:
    made = example(cls)
    guarantee = made.guarantee
    shown = ", ".join(f"{key}={getattr(made, key)!r}" for key in settable(cls))
    return MechanismAnswer(
        paper=cls.paper,
        summary=summary(cls),
        family=cls.family,
        needs=sorted(cls.needs),
        select=getattr(cls, "select", None),
        example=f"{cls.name}({shown})",
        guarantee=GuaranteeAnswer(
            kind=guarantee.kind,
            means=KINDS[guarantee.kind],
            metric=guarantee.metric,
            neighbours=guarantee.neighbours,
            caveat=guarantee.caveat,
        ),
        schema_=_schema(cls),
    )


def _schema(cls: type[TextMechanism]) -> dict[str, Any]:
    """Return the schema of the parameters that may be set."""
    schema = cls.model_json_schema()
    allowed = settable(cls)
    properties = schema.get("properties", {})
    schema["properties"] = {name: properties[name] for name in properties if name in allowed}
    return schema
