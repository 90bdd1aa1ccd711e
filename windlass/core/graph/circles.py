"""Finding a way through a graph that leads back to where it began."""

from __future__ import annotations

from collections.abc import Sequence


def circle(following: Sequence[Sequence[int]]) -> list[int]:
    """Some circle, its first vertex once more at its end; empty if there is none. Linear, no recursion."""
    missing = [0] * len(following)
    for others in following:
        for other in others:
            missing[other] += 1
    free = [i for i, count in enumerate(missing) if count == 0]
    while free:
        for other in following[free.pop()]:
            missing[other] -= 1
            if missing[other] == 0:
                free.append(other)
    left = {i for i, count in enumerate(missing) if count > 0}
    return _walk(following, left) if left else []


def _walk(following: Sequence[Sequence[int]], left: set[int]) -> list[int]:
    """Each vertex that is left is led to by another one that is left: going back, one comes twice."""
    before: dict[int, int] = {}
    for i in left:
        for other in following[i]:
            if other in left:
                before[other] = i
    path, seen = [min(left)], {min(left): 0}
    while True:
        previous = before[path[-1]]
        if previous in seen:
            return [previous, *reversed(path[seen[previous] :])]
        seen[previous] = len(path)
        path.append(previous)
