"""The folders that file stages stay under, and how files in them are opened: nothing leads out of them.

A path is walked folder by folder, each opened relative to the one before, and no link is followed: what was
looked at is what is used, whatever others rename meanwhile. Only ordinary files are opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final

from windlass.worker.pipeline import Trouble, forbidden

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folders:
    """Absolute ones. Relative paths are under the first."""

    def __init__(self, folders: Sequence[str]) -> None:
        assert folders and all(map(os.path.isabs, folders))
        self._folders = [os.path.normpath(folder) for folder in folders]

    def read(self, path: str) -> int:
        """A descriptor of the file."""
        with self.within(path) as (folder, name):
            with contextlib.suppress(FileNotFoundError):  # opening says so again
                _check_ordinary(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
            with _told(path):
                file = os.open(name, _READ, dir_fd=folder)
        try:
            _check_ordinary(os.fstat(file), path)
        except BaseException:
            os.close(file)
            raise
        return file

    @contextlib.contextmanager
    def within(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that the file is in, as a descriptor, and the file's name there."""
        top, parts = self._split(path)
        if make:
            with _told(path):
                os.makedirs(top, 0o700, exist_ok=True)
        with _told(path):
            folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                inner = _enter(folder, part, path, make=make)
                os.close(folder)
                folder = inner
            yield folder, parts[-1]
        finally:
            os.close(folder)

    def _split(self, path: str) -> tuple[str, list[str]]:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if not parts or ".." in parts or "\0" in path or path.endswith("/"):
            raise forbidden(f"{path!r} cannot be the path of a file here")
        if not path.startswith("/"):
            return self._folders[0], parts
        for folder in sorted(self._folders, key=len, reverse=True):
            above = [part for part in folder.split("/") if part]
            if parts[: len(above)] == above and len(parts) > len(above):
                return folder, parts[len(above) :]
        allowed = ", ".join(self._folders)
        raise forbidden(f"{path} is outside of the folders for files ({allowed}); see --files")


def create(folder: int, name: str, mode: int) -> int:
    """A new file, to write to."""
    file = os.open(name, _WRITE, 0o666, dir_fd=folder)
    if mode:
        os.fchmod(file, mode)
    return file


def status(folder: int, name: str, path: str) -> os.stat_result | None:
    """Of an ordinary file; None if there is nothing of that name."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_ordinary(found, path)
    return found


def reason(error: OSError) -> str:
    return error.strerror or str(error)


def _enter(folder: int, part: str, path: str, *, make: bool) -> int:
    with _told(path):
        try:
            return os.open(part, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not make:
                raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
        return os.open(part, _FOLDER, dir_fd=folder)


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOENT:
                raise Trouble("FileNotFound", f"there is no file {path}", retryable=True) from None
            case errno.ELOOP | errno.ENOTDIR:
                raise forbidden(f"{path} leads through a link, or through what is no folder") from None
            case errno.EACCES | errno.EPERM:
                raise forbidden(f"{path}: the worker may not do that there: {reason(error)}") from None
            case errno.ENAMETOOLONG:
                raise forbidden(f"{path}: the name is too long") from None
        raise Trouble("OSError", f"{path} cannot be opened: {reason(error)}", retryable=True) from None


def _check_ordinary(found: os.stat_result, path: str) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
    what = kinds.get(stat.S_IFMT(found.st_mode), "no ordinary file")
    raise forbidden(f"{path} is {what}; name an ordinary file")
