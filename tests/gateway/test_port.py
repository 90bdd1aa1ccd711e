"""A taken port is explained: by whom, and what to do."""

import asyncio
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from windlass.alone import lone_node
from windlass.engine.node import NodeSettings
from windlass.gateway.http import make_app, serve_http
from windlass.gateway.port import PortTaken, holders, taken
from windlass.journal.memory import MemoryStore

SQUATTER = """
import socket, sys
s = socket.create_server((sys.argv[1], 0))
print(s.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def squatter(host: str) -> Iterator[tuple[int, int]]:
    """Another process that listens there: its pid and port."""
    command = [sys.executable, "-c", SQUATTER, host]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.communicate("")


async def open_door(host: str, port: int) -> int:
    node = lone_node(MemoryStore(), NodeSettings(shards=1), wall=time.time, chance=random.Random(1))
    runner, bound = await serve_http(make_app(node), host, port)
    await runner.cleanup()
    node.timers.close()
    return bound


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_taken_port_says_by_whom_and_what_to_do(host: str) -> None:
    with squatter(host) as (pid, port):
        with pytest.raises(PortTaken) as refused:
            asyncio.run(open_door("127.0.0.1", port))
        message = str(refused.value)
        assert f"port {port} on 127.0.0.1 is taken by pid {pid} ({sys.executable} -c" in message
        assert f"stop it, or choose another port with --port {port + 1}" in message


def test_a_port_that_is_free_again_can_be_had_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert asyncio.run(open_door("127.0.0.1", port)) == port


def test_a_process_that_listens_elsewhere_is_not_blamed() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listener:
        port = listener.getsockname()[1]
        assert holders("127.0.0.1", port) == []
        assert [holder.pid for holder in holders("127.0.0.2", port)] == [os.getpid()]
        assert [holder.pid for holder in holders("localhost", port)] == [os.getpid()]


def test_a_listener_on_all_addresses_of_ipv6_is_found() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        port = listener.getsockname()[1]
        assert [holder.pid for holder in holders("127.0.0.1", port)] == [os.getpid()]


def test_a_holder_that_we_may_not_see_is_still_told(tmp_path: Path) -> None:
    message = str(taken("127.0.0.1", 65535, proc=tmp_path))
    assert "a process that we may not look at" in message
    assert "--port 65534" in message
