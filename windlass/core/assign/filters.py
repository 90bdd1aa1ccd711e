"""Who may have a task. Each filter answers what bars a worker, in words; nothing: it may.

What a worker can do stays the same while it is connected; how it is doing changes all the time. They are kept
apart, so that an index can arrange workers by the one and look again at the other.
"""

from __future__ import annotations

from math import inf

from windlass.core.assign.wanted import Wanted
from windlass.core.fleet import Rules, Seen, can_handle, degraded, healthy


def barred(worker: Seen, wanted: Wanted, now: float, rules: Rules) -> str:
    """All filters together."""
    if found := unfit(worker, wanted.requires, wanted.namespace):
        return found
    if worker.session in wanted.excluded:
        return "excluded from this task"
    return unready(worker, now, rules)


def unfit(worker: Seen, requires: frozenset[str], namespace: str) -> str:
    """For all tasks that need this, in this namespace."""
    if not can_handle(worker, requires):
        return f"lacks {', '.join(sorted(requires - worker.capabilities))}"
    if worker.namespaces and namespace not in worker.namespaces:
        return "not for this namespace"
    return ""


def absent(worker: Seen, now: float, rules: Rules) -> str:
    """For all tasks, whatever it has to do now."""
    if not worker.connected:
        return "not connected"
    if not worker.registered:
        return "not registered yet"
    if not healthy(worker, now, rules):
        return "unhealthy"
    return worker.halt


def unready(worker: Seen, now: float, rules: Rules) -> str:
    """For all tasks, as things are."""
    if found := absent(worker, now, rules):
        return found
    if worker.active >= worker.facts.slots:
        return "no free slot"
    return resting(worker, now, rules)


def resting(worker: Seen, now: float, rules: Rules) -> str:
    """It does badly, and was tried a moment ago. Only others of its sort that do well may make it rest."""
    if now < _probe_at(worker, rules) and degraded(worker, now, rules):
        return f"degraded, and given a task less than {rules.probe_s:g} s ago"
    return ""


def look_at(worker: Seen, now: float, rules: Rules) -> float:
    """When this may be otherwise though nothing was heard: it falls silent, may be probed, or is forgiven."""
    if not healthy(worker, now, rules):
        return inf
    silent_at = worker.heard_at + rules.silent_s
    if not degraded(worker, now, rules):
        return silent_at
    probe_at = _probe_at(worker, rules)
    return min(silent_at, worker.record.degraded_until(rules), probe_at if now < probe_at else inf)


def _probe_at(worker: Seen, rules: Rules) -> float:
    return worker.probed_at + rules.probe_s
