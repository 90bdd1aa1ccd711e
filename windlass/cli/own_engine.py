"""An engine for one command: started where none answers, and stopped when the command ends.

It is `windlass up` in this folder, on any free port. What it keeps stays in the data folder: a run that was
not finished goes on when an engine is started here again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from windlass.cli.ending import Ended, Exit
from windlass.core.errors import WindlassError
from windlass.sdk.client import Client
from windlass.sdk.refusals import REFUSED, NotReachable

STOP_S: Final = 10.0


def answers(server: Client) -> bool:
    """Whether anybody listens there, be it whoever."""
    patience_s, server.patience_s = server.patience_s, 0.0
    try:
        server.whoami()
    except NotReachable as error:
        return error.reason != REFUSED
    except WindlassError:
        return True
    finally:
        server.patience_s = patience_s
    return True


@contextmanager
def own_engine(app: str) -> Iterator[str]:
    """Its address. It finds the functions of this file."""
    # -P: no file of the user's in this folder is taken for a module of ours.
    command = [sys.executable, "-P", "-m", "windlass", "up", "--json", "--port", "0", "--app", app]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            process.wait(STOP_S)
            raise Ended(Exit.FAILED, "not_started", "no engine answers, and none could be started: see above")
        yield str(json.loads(said)["url"])
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
