"""``veil completion``: shell completion of commands, options and specs."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the shell script that completes commands, options and specs.

    \b
    Add the line of your shell to its start-up file:
      bash  eval "$(veil completion bash)"
      zsh   eval "$(veil completion zsh)"
      fish  veil completion fish | source
    """  # noqa: D301 - click keeps the lines after its mark
    from veil.cli import veil

    script = get_completion_class(shell)
    if script is None:  # click removed a shell
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(script(veil, {}, "veil", "_VEIL_COMPLETE").source())
