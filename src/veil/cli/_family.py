"""Turn declared parameters into flags: one command per mechanism, made when it is asked for."""

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from veil.cli._near import meant
from veil.core.component import summary
from veil.core.errors import InputError, ParameterError, VeilError
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.words.mechanism import WordMechanism

Run = Callable[..., None]  # (mechanism, **other parameters)

# Flags that are of no use to mechanisms for whole queries, and what stands for them there.
FOR_WORDS = {"unknown": "random", "policy": (), "select": None, "vectors": "", "seed": None}


class Family(click.Group):
    """A command with one sub-command per mechanism; the flags are the mechanism's parameters."""

    def __init__(
        self,
        name: str,
        summary: str,
        known: tuple[Callable[[], Sequence[str]], Callable[[str], type[TextMechanism]]],
        run: Run,
        extra: Sequence[click.Parameter],
    ) -> None:
        spec = (
            "MECHANISM is a name, with parameters as flags, or a spec as 'cmp(epsilon=10)', which"
            " may also be given by --mechanism."
        )
        super().__init__(
            name, help=f"{summary} {spec}", subcommand_metavar="MECHANISM [OPTIONS] ..."
        )
        self._names, self._get = known
        self._run, self._extra = run, list(extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the value of --mechanism first; without it, the mechanism stands there itself."""
        first = args[0] if args else "--help"
        if first not in ctx.help_option_names and not self._is_name(first):
            args = _mechanism_first(args)
            if args[0].startswith("-"):
                raise InputError(f"{self._wanted()}; options come after it.")
        return super().parse_args(ctx, args)

    def _is_name(self, word: str) -> bool:
        return word.partition("(")[0].strip() in self._names()

    def _wanted(self) -> str:
        return f"Name a mechanism first, as in 'veil {self.name} cmp --epsilon 10 ...'"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all mechanisms."""
        del ctx
        return list(self._names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Build the command of one mechanism; what is no name may be a text, and is not quoted."""
        del ctx
        name, bracket, _ = cmd_name.partition("(")
        names = self._names()
        if name.strip() not in names:
            hint = meant(name.strip(), names)
            raise InputError(f"{self._wanted()}. Known: {', '.join(names)}.{hint}")
        try:
            cls = self._get(name.strip())
        except VeilError as error:  # the help of the others is shown all the same
            return _broken(cmd_name, error)
        return self._command(cmd_name, cls, spec=bool(bracket))

    def _command(self, name: str, cls: type[TextMechanism], *, spec: bool) -> click.Command:
        """Build the command of a mechanism, whose parameters come by flags or with its spec."""
        fields = cls.model_fields
        words = issubclass(cls, WordMechanism)
        extra = [each for each in self._extra if words or each.name not in FOR_WORDS]
        left_out = {
            each.name: FOR_WORDS[str(each.name)] for each in self._extra if each not in extra
        }

        def callback(**values: object) -> None:
            given = {key: values.pop(key) for key in fields}
            known = {key: value for key, value in given.items() if value is not None}
            if spec and known:
                flag = "--" + min(known).replace("_", "-")
                raise ParameterError(
                    f"The brackets give the parameters of {cls.name}; leave {flag} out, or the"
                    " brackets."
                )
            chosen = find.mechanism(name) if spec else cls.load(known)
            self._run(chosen, **{**left_out, **values})

        flags = [option(key, field) for key, field in fields.items()]
        for flag in flags:
            flag.hidden = spec  # the brackets gave it
        return click.Command(
            name,
            callback=callback,
            params=[*flags, *extra],
            help=describe(cls),
            short_help=describe(cls).splitlines()[0],
        )


def _broken(name: str, error: VeilError) -> click.Command:
    """Return the command of a mechanism that cannot be loaded: it says so."""

    def callback(**_: object) -> None:
        raise error

    given = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=callback, help=str(error), context_settings=given)


def _mechanism_first(arguments: list[str]) -> list[str]:
    """Move what --mechanism gives to the front, where it stands among the options."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for at, argument in enumerate(arguments[:end]):
        flag, equals, value = argument.partition("=")
        if flag == "--mechanism" and equals:
            return [value, *arguments[:at], *arguments[at + 1 :]]
        if flag == "--mechanism" and at + 1 < end:
            return [arguments[at + 1], *arguments[:at], *arguments[at + 2 :]]
    return arguments


def describe(cls: type[TextMechanism]) -> str:
    """Return the first line of the class, and its paper."""
    paper = f"\n\n{cls.paper}." if cls.paper else ""
    return f"{summary(cls) or cls.name}{paper}"


def option(key: str, field: FieldInfo) -> click.Option:
    """Make the flag of one parameter; values are checked by the parameter's own declaration."""
    flag = "--" + key.replace("_", "-")
    required = field.is_required()
    default = None if field.default is PydanticUndefined else field.default
    text = field.description or ""
    note = "required" if required else f"default: {default}"
    if field.annotation is bool:
        return click.Option(
            [f"{flag}/--no-{flag[2:]}", key], default=None, help=f"{text}  [{note}]"
        )
    return click.Option(
        [flag, key], type=str, required=False, metavar=kind_of(field), help=f"{text}  [{note}]"
    )


def kind_of(field: FieldInfo) -> str:
    """Return what to write as the value of a parameter: its type and range, or its choices."""
    if get_origin(field.annotation) is Literal:
        return "|".join(map(str, get_args(field.annotation)))
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{sign}{getattr(rule, key):g}"
        for rule in field.metadata
        for key, sign in signs.items()
        if getattr(rule, key, None) is not None
    ]
    nouns: dict[object, str] = {int: "INT", float: "FLOAT", bool: "BOOL"}
    kinds = [each for each in get_args(field.annotation) if each is not NoneType]
    noun = nouns.get(kinds[0] if len(kinds) == 1 else field.annotation, "TEXT")
    return f"{noun} {' '.join(bounds)}".strip()
