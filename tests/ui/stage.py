"""Where pictures are taken: three nodes and their workers if there is a PostgreSQL, else one engine."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests import postgres
from tests.cli.engines import environment, windlass
from tests.cluster.machines import a_cluster
from tests.tools import say
from tests.ui.conftest import serving
from tests.waiting import wait_until
from windlass.sdk.client import Client

NODES: Final = ("berlin", "munich", "shanghai")
WORKERS: Final = (  # name, of which node, options
    ("press-1", "berlin", ("--slots", "8")),
    ("press-2", "munich", ("--slots", "8")),
    ("oven-1", "shanghai", ("--slots", "4", "--capabilities", "gpu")),
)
SHARDS: Final = 60
WITHIN_S: Final = 60.0
WITH_CODE: Final = {"WINDLASS_NO_CODE": "false"}


@contextmanager
def stage(place: Path) -> Iterator[str]:
    """The address of a gateway."""
    try:
        postgres.url()
    except pytest.skip.Exception as error:
        say(f"one engine instead of three nodes: {error}")
        with serving(place / "data", env=WITH_CODE) as server:
            yield server.url
        return
    try:
        with a_cluster(place / "nodes", shards=SHARDS, quiet=True) as cluster, ExitStack() as ends:
            key = secrets.token_hex(32)
            for name in NODES:
                machine = cluster.add(name)
                machine.env |= {**WITH_CODE, "WINDLASS_SECRETS_KEY": key}
                machine.start()
            for machine in cluster:
                machine.welcome()
            cluster.until_level()
            for name, node, options in WORKERS:
                ends.enter_context(_worker(place / name, name, cluster[node].url, options))
            url = cluster[NODES[0]].url
            with Client(url) as client:
                wait_until(lambda: len(client.workers()["items"]) == len(NODES) + len(WORKERS), WITHIN_S)
                client.order_worker("oven-1", "pause")  # so that something waits for it
            yield url
    finally:
        postgres.stop()


@contextmanager
def _worker(place: Path, name: str, url: str, options: tuple[str, ...]) -> Iterator[None]:
    place.mkdir(parents=True)
    words = [
        *windlass(),
        "worker",
        "--connect",
        url,
        "--name",
        name,
        "--data",
        str(place),
        "--grace",
        "1s",
        *options,
    ]
    process = subprocess.Popen(
        words, env=environment(WITH_CODE), stdout=subprocess.DEVNULL, stderr=sys.stderr
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
