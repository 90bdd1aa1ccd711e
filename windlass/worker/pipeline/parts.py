"""Files that appear as a whole or not at all.

A sink writes into a *part*: a hidden file beside the one it is to leave. When the whole pipeline has gone
well, the part takes the file's name. A part's name tells its task, so that the next attempt finds what one
that was killed has left, and takes it away; and an older attempt that still runs somewhere finds its part
gone.

Who appends begins its part with what the file holds. If others have changed the file until the end, the part
is made anew of that and its own rows: nobody's rows are lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from windlass.core.task import Task
from windlass.worker.pipeline import Trouble
from windlass.worker.pipeline.files import Folders, create, reason, status

_COPY_BYTES: Final = 1 << 20


class Parts:
    """Of one attempt."""

    def __init__(self, folders: Folders, task: Task) -> None:
        self._folders = folders
        self._prefix = prefix_of(task)
        self._attempt = task.attempt
        self._open: list[Part] = []

    def begin(self, path: str, *, append: bool = False, overwrite: bool = True) -> Part:
        """Raises Trouble: also when another sink of this pipeline writes to the same file."""
        with self._folders.within(path, make=True) as (folder, name):
            clear(folder, self._prefix, but=self._attempt)
            found = status(folder, name, path)
            if found is not None and not overwrite:
                raise _exists(path)
            target = (*_place(folder), name)
            if any(part.target == target for part in self._open):
                raise Trouble("SamePath", f"two sinks write to {path}; name another file")
            temporary = f"{self._prefix}{self._attempt}.{len(self._open)}.part"
            mode = 0 if found is None else stat.S_IMODE(found.st_mode)
            try:
                with contextlib.suppress(FileNotFoundError):  # the same attempt, begun once more
                    os.unlink(temporary, dir_fd=folder)
                file = create(folder, temporary, mode)
            except OSError as error:
                message = f"{path} cannot be written: {reason(error)}"
                raise Trouble("OSError", message, retryable=True) from None
            part = Part(path, os.dup(folder), file, temporary, target, overwrite=overwrite)
        self._open.append(part)
        if append:
            part.append_to(None if found is None else self._folders.read(path))
        return part

    def keep(self) -> None:
        """All of them become files. They were synced before; now their folders are."""
        with _alone(part.folder for part in self._open if part.appends or not part.overwrite):
            for number, part in enumerate(self._open, len(self._open)):
                if not part.overwrite and part.is_outdated():
                    raise _exists(part.path)
                if part.appends and part.is_outdated():
                    part.renew(self._folders, f"{self._prefix}{self._attempt}.{number}.part")
            for part in self._open:
                part.rename()
        for part in self._open:
            part.sync_folder()
            part.close()
        self._open.clear()

    def drop(self) -> None:
        for part in self._open:
            part.remove()
            part.close()
        self._open.clear()


class Part:
    def __init__(
        self,
        path: str,
        folder: int,
        file: int,
        temporary: str,
        target: tuple[int, int, str],
        *,
        overwrite: bool = True,
    ) -> None:
        self.path = path
        self.overwrite = overwrite  # False: there was no such file
        self.target = target  # the folder and the name of the file to be
        self.bytes = 0
        self.folder = folder
        self.appends = False
        self._file = file
        self._temporary = temporary
        self._before: tuple[int, int, int] | None = None  # the file that its first bytes are of
        self._before_bytes = 0

    def write(self, data: bytes) -> None:
        self.bytes += len(data)
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise self._trouble(error) from None

    def append_to(self, source: int | None) -> None:
        """What is in the file comes first."""
        self.appends = True
        if source is not None:
            self._before = _version(os.fstat(source))
            self._copy(source)
        self._before_bytes = self.bytes

    def is_outdated(self) -> bool:
        """Whether the file is another now than the one that this one begins with."""
        found = status(self.folder, self.target[2], self.path)
        return self._before != (None if found is None else _version(found))

    def renew(self, folders: Folders, temporary: str) -> None:
        """Of what the file holds now, and the rows that were written here."""
        own_at, mode = self._before_bytes, stat.S_IMODE(os.fstat(self._file).st_mode)
        with contextlib.ExitStack() as at_hand:
            try:
                own = os.open(self._temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder)
                at_hand.callback(os.close, own)
                file = create(self.folder, temporary, mode)
                at_hand.callback(os.close, self._file)
                os.unlink(self._temporary, dir_fd=self.folder)
            except OSError as error:
                raise self._trouble(error) from None
            self._file, self._temporary, self.bytes, self._before = file, temporary, 0, None
            there = status(self.folder, self.target[2], self.path) is not None
            self.append_to(folders.read(self.path) if there else None)
            os.lseek(own, own_at, os.SEEK_SET)
            self._copy(os.dup(own))
        self.sync()

    def _copy(self, source: int) -> None:
        """What is in a file, with the end of its last line."""
        last = b"\n"
        try:
            while data := os.read(source, _COPY_BYTES):
                self.write(data)
                last = data[-1:]
        except OSError as error:
            raise self._trouble(error) from None
        finally:
            os.close(source)
        if last != b"\n":
            self.write(b"\n")

    def sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._trouble(error) from None

    def rename(self) -> None:
        try:
            os.rename(self._temporary, self.target[2], src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except OSError as error:
            raise self._trouble(error) from None

    def sync_folder(self) -> None:
        try:
            os.fsync(self.folder)
        except OSError as error:
            raise self._trouble(error) from None

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self.folder)

    def close(self) -> None:
        os.close(self._file)
        os.close(self.folder)

    def _trouble(self, error: OSError) -> Trouble:
        return Trouble("OSError", f"{self.path} cannot be written: {reason(error)}", retryable=True)


@contextlib.contextmanager
def _alone(folders: Iterable[int]) -> Iterator[None]:
    """No other pipeline of this machine does the same in these folders meanwhile.

    They are locked in one order, so that no two wait for each other. Where a file system knows no locks, it
    is done without.
    """
    found = {_place(folder): folder for folder in folders}
    locked = [folder for _, folder in sorted(found.items())]
    for folder in locked:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        for folder in locked:
            with contextlib.suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_UN)


def _exists(path: str) -> Trouble:
    return Trouble("FileExists", f"{path} is there already, and is not to be overwritten")


def _place(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def _version(found: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file is written to, or another takes its place."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def prefix_of(task: Task) -> str:
    """How the names of the parts of a task begin, whichever attempt it is."""
    name = "\0".join((task.namespace, task.run, task.step))
    return f".windlass-{hashlib.blake2b(name.encode(errors='replace'), digest_size=10).hexdigest()}-"


def clear(folder: int, prefix: str, *, but: int | None = None) -> None:
    """Remove the parts of a task, except those of one attempt."""
    for name in os.listdir(folder):
        found = re.fullmatch(rf"{re.escape(prefix)}(\d+)\.\d+\.part", name)
        if found and int(found[1]) != but:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)


def clear_all(folders: Folders, task: Task, paths: Iterable[str]) -> None:
    """What an attempt has left that was killed: from outside of its process."""
    for path in paths:
        with contextlib.suppress(Trouble, OSError), folders.within(path) as (folder, _):
            clear(folder, prefix_of(task))
