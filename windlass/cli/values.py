"""Values on the command line: k=v pairs, lengths of time, sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from windlass.core import durations, sizes
from windlass.core.task import Json


def pairs(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, Json]:
    """k=v, where v is JSON if it reads as JSON, else text."""
    return {key: _read(text) for key, text in map(_split, given)}


def raw_pairs(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """k=v, where v is text for now; k=@FILE is what the file holds, and k=@@v is @v."""
    return {key: _content(text) for key, text in map(_split, given)}


def typed(given: Mapping[str, str], inputs: Mapping[str, Json]) -> dict[str, Json]:
    """Each as its input is declared: text stays text; all else is JSON if it reads as JSON."""
    return {key: text if _is_text(inputs.get(key)) else _read(text) for key, text in given.items()}


def text_pairs(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """k=v, where v is always text."""
    return dict(map(_split, given))


def seconds(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> float | None:
    """20s, 5m, 1h30m …"""
    try:
        return None if given is None else durations.parse(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def duration(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """20s, 5m …, as it was written."""
    seconds(_ctx, _parameter, given)
    return given


def size(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """256MB, 2GiB …, as it was written."""
    try:
        _ = None if given is None else sizes.parse(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return given


def text_pair(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """One k=v, as it was written."""
    return None if given is None else "=".join(_split(given))


def moment(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """2h (ago), or a time, local unless it says otherwise: 2026-01-01T08:00. Answers it as the API has it."""
    if given is None:
        return None
    try:
        at = datetime.now(UTC) - timedelta(seconds=durations.parse(given))
    except ValueError:
        try:
            at = datetime.fromisoformat(given).astimezone(UTC)
        except (ValueError, OverflowError):
            advice = "write e.g. 2h, 2026-01-01 or 2026-01-01T08:00:00Z"
            raise click.BadParameter(f"{given!r} is no time; {advice}") from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _split(given: str) -> tuple[str, str]:
    key, sign, text = given.partition("=")
    if not sign or not key:
        raise click.BadParameter(f"{given!r} is no k=v pair; write e.g. day=5")
    return key, text


def _content(text: str) -> str:
    if text.startswith("@@") or not text.startswith("@"):
        return text.removeprefix("@") if text.startswith("@@") else text
    try:
        return Path(text[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise click.BadParameter(f"{text[1:]} cannot be read: {reason}") from None


def _is_text(declared: Json) -> bool:
    return declared == "string" or (isinstance(declared, dict) and declared.get("type") == "string")


def _read(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_no_json)
    except ValueError:
        return text


def _no_json(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")
