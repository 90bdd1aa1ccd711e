"""`windlass completion`"""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from windlass.cli.screen import print_json
from windlass.cli.shared import sharing, wants_json

PROGRAM: Final = "windlass"
VARIABLE: Final = "_WINDLASS_COMPLETE"  # the shell sets it when it asks; click knows it by the program's name
SHELLS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command
@click.argument("shell", type=click.Choice(list(SHELLS)))
@sharing()
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands.

    It completes commands, options, files and, while an engine answers, ids. bash has to be 4.4 or newer.

    \b
    Examples:
      windlass completion bash >> ~/.bashrc
      windlass completion zsh >> ~/.zshrc
      windlass completion fish > ~/.config/fish/completions/windlass.fish
    """
    completer = SHELLS[shell](ctx.find_root().command, {}, PROGRAM, VARIABLE)
    # Not `source()`: for bash that starts a bash, to look at its version.
    script = completer.source_template % completer.source_vars()
    if wants_json(ctx):
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
