"""Commands that take a component as a spec (``-m``), or as the first argument with flags."""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from veil.cli.commands import suggestion
from veil.cli.verb import SpecType, sentence
from veil.core.component import Component, summary
from veil.core.errors import InputError, ParameterError, VeilError
from veil.studies.experiment import Methods
from veil.text.mechanisms.mechanism import WordMechanism

Run = Callable[..., None]  # (component, **other parameters)


class Components(click.Group):
    """Command with one subcommand per component; the flags are the component's parameters.

    Parameters
    ----------
    registry
        Registry of the components.
    run
        Called with the component and the values of `extra`.
    extra
        Arguments and options that all subcommands share.
    noun
        The kind of component, such as "mechanism"; also the name of the flag for a spec.
    shown
        A component with its flags, as an example in the help.
    spec
        The same example as a spec.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        registry: Methods,
        run: Run,
        extra: Sequence[click.Parameter],
        *,
        noun: str = "mechanism",
        shown: str = "cmp --epsilon 10",
        spec: str = "cmp(epsilon=10)",
    ) -> None:
        short = (
            f"Instead of -m '{spec}', the {noun} and its parameters may come first:"
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
                    type=SpecType(registry),
                    help=f"{noun.capitalize()} with its parameters, for example {spec}.",
                )
            ],
        )
        self._registry, self._run, self._extra = registry, run, list(extra)
        self._noun, self._shown = noun, shown

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the spec of -m to the front; without it, the component must come first."""
        first = args[0] if args else "--help"
        if ctx.resilient_parsing or first in ctx.help_option_names:
            return super().parse_args(ctx, args)
        if not self._is_name(first) or _has_flag(args, self._flags):
            args = _first(args, self._flags)
            if args[0].startswith("-"):
                raise InputError(f"{self._hint(ctx)}. Options come after it.")
        return super().parse_args(ctx, args)

    @property
    def _flags(self) -> tuple[str, ...]:
        return ("-m", f"--{self._noun}")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the component; during completion there may be none yet."""
        if ctx.resilient_parsing and not self._is_name(args[0]):
            return None, None, []
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the shared options, then the components."""
        options = [*self.params, *self._extra, *super().get_params(ctx)[len(self.params) :]]
        options = [param for param in options if isinstance(param, click.Option)]
        records = [param.get_help_record(ctx) for param in options]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)

    def _is_name(self, word: str) -> bool:
        return word.partition("(")[0].strip() in self._registry.names()

    def _hint(self, ctx: click.Context) -> str:
        article = "an" if self._noun[0] in "aeiou" else "a"
        return (
            f"{article.capitalize()} {self._noun} must come first, as in"
            f" '{ctx.command_path} {self._shown} ...'"
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all components."""
        del ctx
        return list(self._registry.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Build the command of one component; errors do not quote an unknown name."""
        name, bracket, _ = cmd_name.partition("(")
        names = self._registry.names()
        if name.strip() not in names:
            hint = suggestion(name.strip(), names)
            raise InputError(f"{self._hint(ctx)}. Available: {', '.join(names)}.{hint}")
        try:
            cls: type[Component] = self._registry.get(name.strip())
        except VeilError as error:  # the others still work
            return _broken(cmd_name, error)
        return self._command(cmd_name, cls, spec=bool(bracket))

    def left_out(self, cls: type[Component]) -> Mapping[str, object]:
        """Return the parameters of `extra` that a component does not use, and their values."""
        del cls
        return {}

    def _command(self, name: str, cls: type[Component], *, spec: bool) -> click.Command:
        """Build the command of a component; its parameters come from flags or from its spec."""
        fields = cls.model_fields
        left_out = self.left_out(cls)
        extra = [param for param in self._extra if param.name not in left_out]

        def callback(**values: Any) -> None:  # noqa: ANN401 - values of flags
            flag_values = {key: values.pop(key) for key in fields}
            parameters = {key: value for key, value in flag_values.items() if value is not None}
            if spec and parameters:
                flag = "--" + min(parameters).replace("_", "-")
                raise ParameterError(
                    f"{flag} cannot be combined with parameters in brackets. Remove one."
                )
            component = self._registry.parse(name) if spec else cls.load(parameters)
            self._run(component, **{**left_out, **values})

        flags = [option(key, field) for key, field in fields.items()]
        for flag in flags:
            flag.hidden = spec  # the parameters are in the brackets
        return click.Command(
            name,
            callback=callback,
            params=[*flags, *extra],
            help=describe(cls),
            short_help=describe(cls).splitlines()[0],
        )


def _broken(name: str, error: VeilError) -> click.Command:
    """Return a command that raises the error of a component that cannot be loaded."""

    def callback(**_: object) -> None:
        raise error

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=callback, help=str(error), context_settings=settings)


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
    """Return the arguments as the usage line shows them."""
    arguments = [param for param in params if isinstance(param, click.Argument)]
    return " ".join(
        f"{param.human_readable_name.upper()}{'...' if param.nargs == -1 else ''}"
        for param in arguments
    )


def describe(cls: type[Component]) -> str:
    """Return the summary and the paper of a component."""
    paper = getattr(cls, "paper", "")
    return f"{summary(cls) or cls.name}" + (f"\n\n{paper}." if paper else "")


def option(key: str, field: FieldInfo) -> click.Option:
    """Return the flag of one parameter; the component checks the value."""
    flag = "--" + key.replace("_", "-")
    required = field.is_required()
    default = None if field.default is PydanticUndefined else field.default
    text = sentence(field.description) if field.description else ""
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
    )


def kind_of(field: FieldInfo) -> str:
    """Return the type and range of a parameter, or its choices."""
    if get_origin(field.annotation) is Literal:
        return "|".join(map(str, get_args(field.annotation)))
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{sign}{_limit_text(getattr(rule, key))}"
        for rule in field.metadata
        for key, sign in signs.items()
        if getattr(rule, key, None) is not None
    ]
    nouns: dict[object, str] = {int: "INT", float: "FLOAT", bool: "BOOL"}
    kinds = [member for member in get_args(field.annotation) if member is not NoneType]
    noun = nouns.get(kinds[0] if len(kinds) == 1 else field.annotation, "TEXT")
    return f"{noun} {' '.join(bounds)}".strip()


def _limit_text(limit: float) -> str:
    """Return the text of a limit; an integer keeps all its digits."""
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


# Flags that mechanisms for whole queries do not use, and their values.
FOR_WORDS = {"unknown": "random", "policy": (), "select": None, "vectors": "", "seed": None}


class Family(Components):
    """Command with one subcommand per mechanism; the flags are the mechanism's parameters."""

    def left_out(self, cls: type[Component]) -> Mapping[str, object]:
        """Return the flags that only mechanisms for words use, for other mechanisms."""
        if issubclass(cls, WordMechanism):
            return {}
        declared = {str(param.name) for param in self._extra}
        return {name: value for name, value in FOR_WORDS.items() if name in declared}
