"""Files into a job's folder, and out of it. What a job left there is looked at with suspicion.

No link is followed, nothing but regular files is read, and only so much of them. The keeper loads this:
standard library only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress

CHUNK_BYTES = 1024 * 1024
DEPTH_MAX = 32  # folders in folders that are brought back
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe must not wait for its writer.
LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BadName(Exception):
    """This is no name of a file below a folder."""


def parts_of(name: str) -> list[str]:
    parts = name.split("/")
    if not name or "\0" in name or any(part in ("", ".", "..") for part in parts) or len(parts) > DEPTH_MAX:
        raise BadName(f"{name!r} is no name of a file below the working folder")
    return parts


def put(folder: int, files: Mapping[str, bytes], owner: int) -> None:
    """Write these files below an open folder that nobody else changes yet. Raises BadName or OSError."""
    for name, content in files.items():
        *above, last = parts_of(name)
        place = os.dup(folder)
        try:
            for part in above:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=place)
                    _give(part, place, owner)
                place = _into(place, part)
            _write(place, last, content, 0o644)
            _give(last, place, owner)
        finally:
            os.close(place)


def fetch(folder: int, wanted: Iterable[str], *, bytes_max: int) -> tuple[dict[str, bytes], list[str]]:
    """The wanted files that are there; and for those that are there but not brought back, why not."""
    found: dict[str, bytes] = {}
    faults = []
    for name in dict.fromkeys(wanted):
        try:
            content = _read(folder, name, bytes_max)
        except FileNotFoundError:
            continue
        except (BadName, OSError) as error:
            faults.append(f"{name} was not brought back: {error}")
            continue
        if content is None:
            faults.append(f"{name} was not brought back: there is room for {bytes_max} bytes more")
        else:
            found[name] = content
            bytes_max -= len(content)
    return found, faults


def copy(source: int, target: int, owner: int, depth: int = 0) -> None:
    """Regular files and folders from one open folder into another, and nothing else. Raises OSError."""
    for name in os.listdir(source):
        seen = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISDIR(seen.st_mode) and depth < DEPTH_MAX:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=target)
                _give(name, target, owner)
            inner = _into(os.dup(source), name)
            try:
                outer = _into(os.dup(target), name)
                try:
                    copy(inner, outer, owner, depth + 1)
                finally:
                    os.close(outer)
            finally:
                os.close(inner)
        elif stat.S_ISREG(seen.st_mode):
            _copy_file(source, target, name, owner)


def _copy_file(source: int, target: int, name: str, owner: int) -> None:
    fd = _open_regular(source, name)
    try:
        mode = 0o755 if os.fstat(fd).st_mode & 0o100 else 0o644  # neither setuid nor sticky comes along
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=target)
        out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=target)
        try:
            while chunk := os.read(fd, CHUNK_BYTES):
                _write_all(out, chunk)
            os.fchmod(out, mode)
        finally:
            os.close(out)
        _give(name, target, owner)
    finally:
        os.close(fd)


def _read(folder: int, name: str, bytes_max: int) -> bytes | None:
    """None when it is larger than this."""
    *above, last = parts_of(name)
    place = os.dup(folder)
    try:
        for part in above:
            place = _into(place, part)
        fd = _open_regular(place, last)
    finally:
        os.close(place)
    with open(fd, "rb") as file:
        content = file.read(bytes_max + 1)
    return content if len(content) <= bytes_max else None


def _open_regular(folder: int, name: str) -> int:
    fd = os.open(name, LOOK, dir_fd=folder)
    seen = os.fstat(fd)
    # Another name for it may lie where the job could not have read it.
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1:
        os.close(fd)
        raise OSError("it is not a regular file with one name")
    return fd


def _into(place: int, part: str) -> int:
    """Go one folder down; the open one is closed, unless this fails."""
    inner = os.open(part, FOLDER, dir_fd=place)
    os.close(place)
    return inner


def _write(folder: int, name: str, content: bytes, mode: int) -> None:
    fd = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder
    )
    try:
        _write_all(fd, content)
    finally:
        os.close(fd)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _give(name: str, folder: int, owner: int) -> None:
    if os.geteuid() == 0:
        os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)


def remove(folder: str) -> None:
    """The folder and all in it, also what its owner has shut to himself; what links point to stays.

    Folders in folders are brought up first: they may lie deeper than any path, or our stack, reaches.
    """
    with suppress(OSError):
        os.chmod(folder, 0o700)
        top = os.open(folder, FOLDER)
        try:
            waiting, brought_up = _emptied(top), 0
            while waiting:
                name = waiting.pop()
                inner = os.open(name, FOLDER, dir_fd=top)
                try:
                    for deeper in _emptied(inner):
                        fresh, brought_up = f".{os.getpid()}-{brought_up}", brought_up + 1
                        os.rename(deeper, fresh, src_dir_fd=inner, dst_dir_fd=top)
                        waiting.append(fresh)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _emptied(folder: int) -> list[str]:
    """Remove all but the folders in an open folder. Those are opened to us; their names."""
    inner = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.chmod(name, 0o700, dir_fd=folder)
            inner.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return inner
