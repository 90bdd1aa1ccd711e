"""Where the programs of a language are on this machine, and what of it they need to run."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass.worker.languages import Language

PATH: Final = "/usr/local/bin:/usr/bin:/bin"  # of programs in the sandbox
EVERYWHERE: Final = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")  # what every sandbox shows
# What version managers put into PATH asks them which program is meant: they are not in the sandbox.
SHIMS: Final = "shims"

Programs = dict[str, str]  # paths by the names that the language gives them


@dataclass(frozen=True, slots=True)
class Machine:
    """`folders` is where bare names are looked for; `home` is what ~ means."""

    folders: tuple[str, ...]
    home: Path

    @classmethod
    def of(cls, path: str, home: Path) -> Machine:
        """`path` is as the variable PATH. Each folder is there once, however many links lead to it."""
        folders = [folder for folder in (*path.split(":"), *PATH.split(":")) if folder.startswith("/")]
        once = {os.path.realpath(folder): folder for folder in reversed(folders)}
        named = dict.fromkeys(once[os.path.realpath(folder)] for folder in folders)
        return cls(tuple(folder for folder in named if os.path.basename(folder) != SHIMS), home)

    def ways(self, language: Language) -> Iterator[list[Programs]]:
        """For each that there is of its first program: how all of them can be called, any form may work.

        Most programs are what a path leads to; some are what they are called as. The others of a language
        are looked for beside the first.
        """
        (first, wanted), *others = language.programs.items()
        called = dict[str, list[str]]()
        for path in self._candidates(wanted, self.folders):
            called.setdefault(os.path.realpath(path), []).append(path)
        for real, paths in called.items():
            beside = [os.path.dirname(real), os.path.dirname(paths[0]), *self.folders]
            more = Programs()
            for name, places in others:
                if place := next(self._candidates(places, beside), ""):
                    more[name] = os.path.realpath(place)
            if len(more) == len(others):
                yield [{first: program, **more} for program in _forms(real, paths)]

    def readable(self, programs: Programs, language: Language) -> tuple[Path, ...]:
        """What has to be shown of the host for them to run."""
        needed = [place for each in programs.values() for place in self._needed(each)]
        for pattern in language.reads:
            needed += map(Path, sorted(glob.glob(self._whole(pattern))))
        return tuple(dict.fromkeys(needed))

    def _candidates(self, places: Iterable[str], folders: Sequence[str]) -> Iterator[str]:
        for place in places:
            yield from self._files(place, folders)

    def _files(self, place: str, folders: Sequence[str]) -> list[str]:
        if "/" in place:
            paths = sorted(glob.glob(self._whole(place)), key=_natural, reverse=True)
        else:
            paths = [f"{folder}/{place}" for folder in folders]
        return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]

    def _whole(self, place: str) -> str:
        return f"{glob.escape(str(self.home))}/{place[2:]}" if place.startswith("~/") else place

    def _needed(self, program: str) -> list[Path]:
        """Where it is installed, and never all of a home."""
        if program.startswith(EVERYWHERE):
            return []
        place = Path(program)
        if "node_modules" in place.parts:  # packages need others that lie beside them
            return [Path(*place.parts[: place.parts.index("node_modules") + 1])]
        above = place.parent.parent
        shared = above == self.home or above.parent == self.home or len(above.parts) < 3
        return [place] if shared or place.parent.name not in ("bin", "sbin") else [above]


def _forms(real: str, paths: Sequence[str]) -> list[str]:
    """By another name only: the same name in another folder leads to the same."""
    named = {os.path.basename(path): path for path in reversed(paths)}
    named.pop(os.path.basename(real), None)
    return [real, *(path for path in paths if path in named.values())]


def _natural(path: str) -> list[tuple[int, str]]:
    """3.9 before 3.11."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", path)]
