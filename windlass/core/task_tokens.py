"""The proof that a task was given to a worker: an HMAC over both names, by a key that only nodes have."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from windlass.core.names import WorkerId
from windlass.core.task import TaskName

BYTES: Final = 18  # of the proof, which is then 24 characters


def key_of(secret: str) -> bytes:
    """The key for tasks, from the secret that all nodes of a cluster share."""
    return hmac.new(secret.encode(), b"windlass tasks 1", hashlib.sha256).digest()


def token(key: bytes, name: TaskName, worker: WorkerId) -> str:
    said = "\0".join(("task", *map(str, name), worker))
    return base64.urlsafe_b64encode(hmac.new(key, said.encode(), hashlib.sha256).digest()[:BYTES]).decode()


def proves(key: bytes, shown: str, name: TaskName, worker: WorkerId) -> bool:
    return hmac.compare_digest(shown.encode(errors="replace"), token(key, name, worker).encode())
