"""Why a worker has no node."""

from __future__ import annotations

from windlass.core.errors import WindlassError
from windlass.wire.crew import Greet, Rejected


class Unreachable(WindlassError):
    """No node answers there. It may, later."""


class NotAdmitted(WindlassError):
    """The door does not let us in: a token is wrong, or missing."""


class Dismissed(WindlassError):
    """The cluster does not want this worker; somebody has to change something first."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def why(rejected: Rejected, me: Greet) -> str:
    """What to change, for whoever started the worker."""
    match rejected.code:
        case "version":
            speaks = f"this worker speaks versions {me.lowest} to {me.highest} of the protocol"
            return f"no common version: {speaks}; upgrade the older side ({rejected.reason})"
        case "name":
            return f"another worker is called {me.worker}; choose another --name ({rejected.reason})"
        case "replaced":
            return f"another worker that is called {me.worker} took over; each needs a --name of its own"
        case "kicked":
            return f"the cluster has dismissed this worker: {rejected.reason}"
        case _:
            return f"the cluster does not take this worker: {rejected.reason}"
