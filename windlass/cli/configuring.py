"""What `windlass node` and `windlass worker` share: an option for each setting, a file, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from windlass.cli.ending import Ending, Exit, detail
from windlass.cli.setting import Setting
from windlass.core.errors import Invalid

P = ParamSpec("P")
R = TypeVar("R")


def configured(
    settings: Sequence[Setting], usual: Callable[[Setting], str]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """One for each setting, and the file. They are read all at once, with those that come from elsewhere."""

    def add(function: Callable[P, R]) -> Callable[P, R]:
        for setting in reversed(settings):
            verbose = setting.name == "verbose"
            default = usual(setting)
            function = click.option(
                f"--{setting.name}",
                *(["-v"] if verbose else []),
                metavar=setting.metavar,
                # Not False: then click takes what begins with a dash for the next option, even after `=`.
                is_flag=True if setting.metavar is None and not verbose else None,
                count=verbose,
                multiple=setting.repeated,
                help=setting.help + (f"  [default: {default}]" if default else ""),
            )(function)
        return click.option(
            "--config",
            "file",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            envvar="WINDLASS_CONFIG",
            help="TOML with any of these settings, by the names they have here.",
        )(function)

    return add


def not_right(invalid: Invalid, *, as_json: bool) -> Ending:
    """One line if one setting is not right; else one for each, and their number."""
    details = [detail(fault, "") for fault in invalid.faults]
    if len(details) == 1 and not as_json:
        (only,) = details
        return Ending(Exit.USAGE, f"{only['place']}: {only['message']}")
    return Ending(Exit.USAGE, str(invalid), kind="invalid", faults=details, as_json=as_json)
