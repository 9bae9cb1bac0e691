"""Turn declared parameters into flags: one command per component, built on demand.

``Components`` takes a component as a spec (``-m``), or as its first word with the parameters as
flags. ``option`` makes one flag, ``kind_of`` describes its value.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from veil.cli.commands import suggestion
from veil.cli.verb import SpecType
from veil.core.component import Component, summary
from veil.core.errors import InputError, ParameterError, VeilError
from veil.studies.experiment import Methods
from veil.text.mechanisms.mechanism import WordMechanism

Run = Callable[..., None]  # (component, **other parameters)
_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


class Components(click.Group):
    """A command with one sub-command per component; the flags are the component's parameters.

    Parameters
    ----------
    known
        The components by name: a `Registry`, or what looks like one.
    run
        Called with the component that was built, and the values of `extra`.
    extra
        Arguments and options that all sub-commands have.
    noun
        What a component is called, as "mechanism"; also the flag that may give a spec.
    shown
        A component with its flags, for the sentence that says how to begin.
    spec
        The same as a spec.
    numbers
        Whether a word such as -3 is an argument, and not a flag.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        known: Methods,
        run: Run,
        extra: Sequence[click.Parameter],
        *,
        noun: str = "mechanism",
        shown: str = "cmp --epsilon 10",
        spec: str = "cmp(epsilon=10)",
        numbers: bool = False,
    ) -> None:
        short = (
            f"In place of -m '{spec}', a {noun} and its parameters may come first:"
            f" '{name} {shown} ...'."
        )
        super().__init__(
            name,
            help=f"{summary}\n\n{short}",
            subcommand_metavar=f"{_arguments(extra)} -m SPEC [OPTIONS]",
            params=[
                click.Option(
                    ["-m", f"--{noun}"],
                    metavar="SPEC",
                    type=SpecType(known),
                    help=f"{noun.capitalize()} with its parameters, for example {spec}.",
                )
            ],
        )
        self._known, self._run, self._extra = known, run, list(extra)
        self._noun, self._shown, self._numbers = noun, shown, numbers

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the spec of -m first; without it, the component must come first."""
        first = args[0] if args else "--help"
        if ctx.resilient_parsing or first in ctx.help_option_names:
            return super().parse_args(ctx, args)
        if not self._is_name(first) or _has_flag(args, self._flags):
            args = _first(args, self._flags)
            if args[0].startswith("-"):
                raise InputError(f"{self._wanted(ctx)}; options come after it.")
        return super().parse_args(ctx, args)

    @property
    def _flags(self) -> tuple[str, ...]:
        return ("-m", f"--{self._noun}")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the component; a shell that completes may not have one yet."""
        if ctx.resilient_parsing and not self._is_name(args[0]):
            return None, None, []
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options that all components share, then the components."""
        options = [*self.params, *self._extra, *super().get_params(ctx)[len(self.params) :]]
        records = [param.get_help_record(ctx) for param in options]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)

    def _is_name(self, word: str) -> bool:
        return word.partition("(")[0].strip() in self._known.names()

    def _wanted(self, ctx: click.Context) -> str:
        article = "an" if self._noun[0] in "aeiou" else "a"
        return f"Name {article} {self._noun} first, as in '{ctx.command_path} {self._shown} ...'"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all components."""
        del ctx
        return list(self._known.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Build the command of one component; what is no name may be a text: it is not quoted."""
        name, bracket, _ = cmd_name.partition("(")
        names = self._known.names()
        if name.strip() not in names:
            hint = suggestion(name.strip(), names)
            raise InputError(f"{self._wanted(ctx)}. Known: {', '.join(names)}.{hint}")
        try:
            cls: type[Component] = self._known.get(name.strip())
        except VeilError as error:  # the help of the others is shown all the same
            return _broken(cmd_name, error)
        return self._command(cmd_name, cls, spec=bool(bracket))

    def left_out(self, cls: type[Component]) -> Mapping[str, object]:
        """Return the parameters of `extra` that a component has no use for, and their values."""
        del cls
        return {}

    def _command(self, name: str, cls: type[Component], *, spec: bool) -> click.Command:
        """Build the command of a component, whose parameters come by flags or with its spec."""
        fields = cls.model_fields
        left_out = self.left_out(cls)
        extra = [each for each in self._extra if each.name not in left_out]

        def callback(**values: Any) -> None:  # noqa: ANN401 - of whatever kind the flags are
            given = {key: values.pop(key) for key in fields}
            known = {key: value for key, value in given.items() if value is not None}
            if spec and known:
                flag = "--" + min(known).replace("_", "-")
                raise ParameterError(
                    f"The brackets give the parameters of {cls.name}; leave {flag} out, or the"
                    " brackets."
                )
            chosen = self._known.parse(name) if spec else cls.load(known)
            self._run(chosen, **{**left_out, **values})

        flags = [option(key, field) for key, field in fields.items()]
        for flag in flags:
            flag.hidden = spec  # the brackets gave it
        return (_Numbers if self._numbers else click.Command)(
            name,
            callback=callback,
            params=[*flags, *extra],
            help=describe(cls),
            short_help=describe(cls).splitlines()[0],
        )


class _Numbers(click.Command):
    """A command whose arguments may be negative numbers, which look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space before negative numbers; whoever reads numbers passes over it."""
        return super().parse_args(
            ctx, [f" {word}" if _NEGATIVE.match(word) else word for word in args]
        )


def _broken(name: str, error: VeilError) -> click.Command:
    """Return the command of a component that cannot be loaded: it says so."""

    def callback(**_: object) -> None:
        raise error

    given = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=callback, help=str(error), context_settings=given)


def _has_flag(arguments: list[str], flags: Sequence[str]) -> bool:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return any(argument.partition("=")[0] in flags for argument in arguments[:end])


def _first(arguments: list[str], flags: Sequence[str]) -> list[str]:
    """Move the value of a flag to the front."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for at, argument in enumerate(arguments[:end]):
        name, equals, value = argument.partition("=")
        if name in flags and equals:
            return [value, *arguments[:at], *arguments[at + 1 :]]
        if name in flags and at + 1 < end:
            return [arguments[at + 1], *arguments[:at], *arguments[at + 2 :]]
    return arguments


def _arguments(params: Sequence[click.Parameter]) -> str:
    """Return the arguments of a command as its usage shows them."""
    arguments = [param for param in params if isinstance(param, click.Argument)]
    return " ".join(
        f"{param.human_readable_name.upper()}{'...' if param.nargs == -1 else ''}"
        for param in arguments
    )


def describe(cls: type[Component]) -> str:
    """Return the first line of the class, and its paper."""
    paper = getattr(cls, "paper", "")
    return f"{summary(cls) or cls.name}" + (f"\n\n{paper}." if paper else "")


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
        [flag, key],
        type=str,
        required=False,
        metavar=kind_of(field),
        help=f"{text}  [{note}]",
        callback=_stripped,
    )


def _stripped(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Take away the space before a negative number."""
    del ctx, parameter
    return value.strip() if value and _NEGATIVE.match(value.strip()) else value


def kind_of(field: FieldInfo) -> str:
    """Return what to write as the value of a parameter: its type and range, or its choices."""
    if get_origin(field.annotation) is Literal:
        return "|".join(map(str, get_args(field.annotation)))
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{sign}{_plain(getattr(rule, key))}"
        for rule in field.metadata
        for key, sign in signs.items()
        if getattr(rule, key, None) is not None
    ]
    nouns: dict[object, str] = {int: "INT", float: "FLOAT", bool: "BOOL"}
    kinds = [each for each in get_args(field.annotation) if each is not NoneType]
    noun = nouns.get(kinds[0] if len(kinds) == 1 else field.annotation, "TEXT")
    return f"{noun} {' '.join(bounds)}".strip()


def _plain(limit: float) -> str:
    """Write a limit: a whole number with all its digits."""
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


# Flags that are of no use to mechanisms for whole queries, and what stands for them there.
FOR_WORDS = {"unknown": "random", "policy": (), "select": None, "vectors": "", "seed": None}


class Family(Components):
    """A command with one sub-command per mechanism; the flags are the mechanism's parameters."""

    def left_out(self, cls: type[Component]) -> Mapping[str, object]:
        """Leave out what only mechanisms for words have a use for."""
        if issubclass(cls, WordMechanism):
            return {}
        declared = {str(each.name) for each in self._extra}
        return {name: value for name, value in FOR_WORDS.items() if name in declared}
