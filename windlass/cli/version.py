"""`windlass version`"""

from __future__ import annotations

import platform

import click

from windlass import __version__
from windlass.cli.screen import print_json, say
from windlass.cli.shared import sharing, wants_json


@click.command
@sharing()
@click.pass_context
def version(ctx: click.Context) -> None:
    """Say which Windlass this is.

    \b
    Example:
      windlass version --json
    """
    if wants_json(ctx):
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        say(f"windlass {__version__} on Python {platform.python_version()}")
