"""What a login costs: the same requests to a server that is open and to one that wants a token, in turns.

Both stand side by side. Counted is what a request needs of the server's processor, so that it matters little
what else the machine does; a start is also written into the audit log where there is a login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.cluster.quota import cpu_s
from bench.effort import Effort
from bench.engine import ONE_STEP, in_flight, on_loop
from bench.figures import Figure
from bench.process import Link, process
from windlass import direct
from windlass.direct import Where

AT_ONCE = 20
READ = "/api/v1/workflows/one-step"


def measure(folder: Path, effort: Effort) -> list[Figure]:
    with (
        process(folder / "open") as free,
        process(folder / "locked", "--login", "--token-rate", "off", "--address-rate", "off") as locked,
    ):
        where = Where(folder / "locked")
        made = direct.create_token(where, "operator", namespace=None, name="bench", expires=None)
        doors = {"open": (free.url, free.pid, ""), "locked": (locked.url, locked.pid, made["token"])}
        return on_loop(_measure(effort, doors))


async def _measure(effort: Effort, doors: dict[str, tuple[str, int, str]]) -> list[Figure]:
    links = {
        name: [await Link.open(url, token=token) for _ in range(AT_ONCE)]
        for name, (url, _, token) in doors.items()
    }
    for those in links.values():
        await those[0].post("/api/v1/workflows", ONE_STEP)
    found: dict[tuple[str, str], list[float]] = {}
    works: dict[str, Callable[[Link], Awaitable[object]]] = {
        "a read": lambda link: link.get(READ),
        "a start with its result": lambda link: link.run("one-step"),
    }
    for number in range(effort.repeats + 1):
        for what, work in works.items():
            for name, (_, pid, _) in doors.items():
                used = await _used(links[name], pid, effort.runs // 2, work)
                if number:  # the first round warms up
                    found.setdefault((what, name), []).append(used)
    figures = []
    for what in works:
        free, locked = found[what, "open"], found[what, "locked"]
        figures.append(Figure(f"{what}, without a login", "µs of CPU", free))
        figures.append(Figure(f"{what}, with a login", "µs of CPU", locked))
        ratio = [one / other for one, other in zip(locked, free, strict=True)]
        figures.append(Figure(f"{what}, with a login to without", "times", ratio))
    for those in links.values():
        for link in those:
            await link.close()
    return figures


async def _used(links: list[Link], pid: int, count: int, work: Callable[[Link], Awaitable[object]]) -> float:
    """Microseconds of the server's processor time, per request."""
    free = list(links)

    async def one() -> None:
        link = free.pop()
        await work(link)
        free.append(link)

    before = cpu_s(pid)
    await in_flight(count, one, lanes=len(links))
    return (cpu_s(pid) - before) / count * 1e6
