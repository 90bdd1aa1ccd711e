"""The table of who may do what, as docs/access.md prints it: made from the code.

`python -m tests.access_table --write` brings the document up to date.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.gateway.house import house
from windlass.core.roles import ROLES, may
from windlass.gateway.routes import Route

DOCUMENT = Path(__file__).parents[1] / "docs" / "access.md"
BEGIN, END = "<!-- the table of routes: made from the code -->", "<!-- end of the table -->"


def table(routes: list[Route]) -> str:
    """A line for each route: what it needs, and who has that."""
    shown = [role for role in ROLES if role not in ("worker", "node")]
    head = ["request", "does", "needs", *shown]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for route in sorted(routes, key=lambda route: (route.area, route.path, route.method)):
        needs = route.needs
        everywhere = route.spans or needs == "administer"
        cells = [f"`{route.method} {route.path}`", route.summary.partition("; ?")[0], needs]
        for role in shown:
            allowed = needs == "open" or may(role, needs)
            cells.append("" if not allowed else "of `*`" if everywhere and role != "admin" else "yes")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(text: str, routes: list[Route]) -> str:
    """The document with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(routes)}\n\n{END}{after}"


async def routes_of_a_node() -> list[Route]:
    async with house() as home:
        return home.routes


if __name__ == "__main__":
    wanted = document(DOCUMENT.read_text(), asyncio.run(routes_of_a_node()))
    if "--write" in sys.argv:
        DOCUMENT.write_text(wanted)
    elif DOCUMENT.read_text() != wanted:
        sys.exit("docs/access.md is not what the code says: python -m tests.access_table --write")
