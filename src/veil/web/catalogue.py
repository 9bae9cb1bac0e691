"""What each mechanism is: its paper, what is proved of it, and the schema of its parameters."""

from functools import cache

from veil.core.guarantee import KINDS
from veil.mechanisms import find
from veil.mechanisms.mechanism import TextMechanism
from veil.web.figures import GuaranteeAnswer, MechanismAnswer, MechanismsAnswer


@cache
def catalogue() -> MechanismsAnswer:
    """Return all mechanisms, by name."""
    return MechanismsAnswer({name: _entry(find.mechanism_class(name)) for name in find.names()})


def _entry(cls: type[TextMechanism]) -> MechanismAnswer:
    required = {
        key: (field.examples or [None])[0]
        for key, field in cls.model_fields.items()
        if field.is_required()
    }
    example = cls.load(dict(required))
    guarantee = example.guarantee
    return MechanismAnswer(
        paper=cls.paper,
        summary=(cls.__doc__ or "").strip().splitlines()[0],
        select=getattr(cls, "select", None),
        example=str(example),
        guarantee=GuaranteeAnswer(
            kind=guarantee.kind,
            means=KINDS[guarantee.kind],
            metric=guarantee.metric,
            caveat=guarantee.caveat,
        ),
        schema_=cls.model_json_schema(),
    )
