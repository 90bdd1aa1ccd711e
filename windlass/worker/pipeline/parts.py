"""Files that appear as a whole or not at all.

A sink writes into a *part*: a hidden file beside the one it is to leave. When the whole pipeline has gone
well, the part takes the file's name. A part's name tells its task, so that the next attempt finds what one
that was killed has left, and takes it away; and an older attempt that still runs somewhere finds its part
gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterable
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
                raise Trouble("FileExists", f"{path} is there already, and is not to be overwritten")
            here = os.fstat(folder)
            target = (here.st_dev, here.st_ino, name)
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
            part = Part(path, os.dup(folder), file, temporary, target)
        self._open.append(part)
        if append and found is not None:
            part.copy(self._folders.read(path))
        return part

    def keep(self) -> None:
        """All of them become files. They were synced before; now their folders are."""
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
        self, path: str, folder: int, file: int, temporary: str, target: tuple[int, int, str]
    ) -> None:
        self.path = path
        self.target = target  # the folder and the name of the file to be
        self.bytes = 0
        self._folder = folder
        self._file = file
        self._temporary = temporary

    def write(self, data: bytes) -> None:
        self.bytes += len(data)
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise self._trouble(error) from None

    def copy(self, source: int) -> None:
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
            os.rename(self._temporary, self.target[2], src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            raise self._trouble(error) from None

    def sync_folder(self) -> None:
        try:
            os.fsync(self._folder)
        except OSError as error:
            raise self._trouble(error) from None

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._folder)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._folder)

    def _trouble(self, error: OSError) -> Trouble:
        return Trouble("OSError", f"{self.path} cannot be written: {reason(error)}", retryable=True)


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
