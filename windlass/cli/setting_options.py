"""Settings as options of a command, one by one; what was not said is None, False or ()."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from windlass.cli.setting import Setting

# Any: whatever click decorates, and whatever it read.


def options_of(
    settings: Sequence[Setting], usual: Callable[[Setting], str] = lambda setting: ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`usual`: the default, as the help shall say it."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(settings):
            default = usual(setting)
            command = click.option(
                f"--{setting.name}",
                setting.fields[0],
                metavar=setting.metavar,
                is_flag=setting.metavar is None,
                multiple=setting.repeated,
                default=None if not setting.repeated else (),
                envvar=list(setting.variables),
                callback=partial(_read, setting.read),
                help=setting.help + (f"  [default: {default}]" if default else ""),
            )(command)
        return command

    return decorate


def said(options: dict[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """Takes out of the options what was said of these: arguments for a config."""
    names = [setting.fields[0] for setting in settings]
    found = {name: options.pop(name) for name in names if name in options}
    return {name: value for name, value in found.items() if not _unsaid(value)}


def said_elsewhere(
    settings: Sequence[Setting], environ: Mapping[str, str], known: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What variables of other systems say, of what is not known yet; and which one said it, by field.

    Raises click.UsageError.
    """
    found, places = dict[str, Any](), dict[str, str]()
    for setting in settings:
        (field,) = setting.fields
        for name in setting.also:
            if environ.get(name) and field not in known and field not in found:
                try:
                    found[field], places[field] = setting.read(environ[name]), name
                except ValueError as error:
                    raise click.UsageError(f"{name}: {error}") from None
    return found, places


def _unsaid(value: object) -> bool:
    return value is None or value is False or value == ()  # 0 was said


def _read(
    read: Callable[[object], object], _ctx: click.Context, _parameter: click.Parameter, given: object
) -> object:
    if _unsaid(given):
        return given
    try:
        return read(list(given) if isinstance(given, tuple) else given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
