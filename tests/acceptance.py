"""Prints which test or benchmark proves which requirement, and which are still without proof.

python -m tests.acceptance            the table
python -m tests.acceptance --check    fails if docs/requirements.md says anything else
python -m tests.acceptance --write    writes its proof column
"""

import argparse
import sys
from collections.abc import Iterator

from tests.accepting import (
    REQUIREMENTS,
    CannotCollect,
    Proofs,
    Requirement,
    in_order,
    last_figures,
    proofs,
    requirements,
    with_proofs,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance", description="what proves what")
    parser.add_argument("--check", action="store_true", help="fail if docs/requirements.md is not up to date")
    parser.add_argument("--write", action="store_true", help="write the proof column of docs/requirements.md")
    options = parser.parse_args()
    document = REQUIREMENTS.read_text()
    known = requirements(document)
    try:
        found = proofs()
    except CannotCollect as fault:
        sys.stderr.write(f"some tests cannot be read:\n{fault}\n")
        return 2
    if unknown := found.ids() - {row.id for row in known}:
        for id in in_order(unknown):
            claims = [*found.tests.get(id, []), *(shown.name for shown in found.benchmarks.get(id, []))]
            sys.stderr.write(f"{id} is not in docs/requirements.md, but claimed by {', '.join(claims)}\n")
        return 1
    if options.write:
        REQUIREMENTS.write_text(with_proofs(document, found))
        return 0
    if options.check:
        stale = list(stale_rows(known, found))
        sys.stderr.writelines(f"{line}\n" for line in stale)
        if stale:
            sys.stderr.write("docs/requirements.md is not up to date: python -m tests.acceptance --write\n")
        return 1 if stale else 0
    sys.stdout.writelines(f"{line}\n" for line in table(known, found))
    return 0


def stale_rows(known: list[Requirement], found: Proofs) -> Iterator[str]:
    for row in known:
        if row.proof != found.cell(row.id):
            yield f"{row.id}: the document says {row.proof}; the marks say {found.cell(row.id)}"


def table(known: list[Requirement], found: Proofs) -> Iterator[str]:
    figures = last_figures()

    def last(name: str) -> str:
        return f"last figure: {figures[name]}" if name in figures else "not measured here yet"

    bare = []
    for row in known:
        lines = [
            *found.tests.get(row.id, []),
            *(f"{command}: {name}, {last(name)}" for name, command in found.benchmarks.get(row.id, [])),
        ]
        if not lines:
            bare.append(row.id)
        for number, line in enumerate(lines):
            yield f"{row.id if number == 0 else '':<8}{line}"
    yield ""
    yield f"{len(known) - len(bare)} of {len(known)} requirements have a proof. Without one:"
    for seed in dict.fromkeys(id.split(".")[0] for id in bare):
        yield f"  {' '.join(id for id in bare if id.split('.')[0] == seed)}"


if __name__ == "__main__":
    sys.exit(main())
