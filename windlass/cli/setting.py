"""One setting: what it is called, how it is read, and what its help says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from windlass.config import NodeConfig, setting_of


@dataclass(frozen=True, slots=True)
class Setting:
    name: str  # of the option and, in the file, of the key
    read: Callable[[object], object]  # see readers.py
    help: str
    metavar: str | None = None  # None: the option takes no value
    repeated: bool = False
    into: tuple[str, ...] = ()  # fields of the config
    also: tuple[str, ...] = ()  # variables of other systems that mean the same

    @property
    def fields(self) -> tuple[str, ...]:
        return self.into or (_FIELDS[self.name],)

    @property
    def variables(self) -> tuple[str, ...]:
        return (f"WINDLASS_{self.name.upper().replace('-', '_')}", *self.also)


Told = Iterator[tuple[Setting, str, object]]  # where it was said, and what


def told_by_options(settings: Iterable[Setting], options: Mapping[str, object]) -> Told:
    for setting in settings:
        given = options.get(setting.name.replace("-", "_"))
        if given:  # the empty ones were not said
            yield setting, f"--{setting.name}", given


def told_by_variables(settings: Iterable[Setting], environ: Mapping[str, str]) -> Told:
    for setting in settings:
        yield from ((setting, name, environ[name]) for name in setting.variables if environ.get(name))


_FIELDS: Final = {setting_of(each.name): each.name for each in fields(NodeConfig)}
