"""The settings of the worker fleet, which `windlass up` and `windlass node` share."""

from __future__ import annotations

from typing import Final

from windlass.cli import readers
from windlass.cli.setting import Setting

FLEET_SETTINGS: Final = (
    Setting(
        "assignment",
        readers.text,
        "How a worker is chosen: round-robin, load-balanced, affinity, capability, locality, weighted, "
        "random, adaptive, or module:function. `windlass assignment set` goes before it.",
        "STRATEGY",
    ),
    Setting(
        "assignment-load",
        readers.text,
        "What a load is: normalised (shares of slots, CPU and memory), or seed (active + CPU% + memory% * "
        "weight).",
        "KIND",
    ),
    Setting(
        "active-weight",
        readers.number,
        "Of slots taken in a load.",
        "WEIGHT",
        also=("WORKFLOW_WEIGHT",),
    ),
    Setting("cpu-weight", readers.number, "Of the CPU.", "WEIGHT", also=("CPU_WEIGHT",)),
    Setting(
        "memory-weight",
        readers.number,
        "Of the memory.  [default: 0.3; for load seed: 0]",
        "WEIGHT",
        also=("MEMORY_WEIGHT",),
    ),
    Setting(
        "fit",
        readers.text,
        "For capability: the worker that offers the least more (tightest), or the most.",
        "WORD",
    ),
    Setting("worker-heartbeat", readers.span, "How often workers tell that they live.", "DURATION"),
    Setting(
        "worker-silent",
        readers.span,
        "A worker silent for so long is unhealthy.  [default: three heartbeats]",
        "DURATION",
    ),
    Setting(
        "worker-gone",
        readers.span,
        "And is forgotten.  [default: three times worker-silent]",
        "DURATION",
    ),
    Setting("hold-timeout", readers.span, "An offer or hold nobody renewed for so long is void.", "DURATION"),
    Setting(
        "losses-max",
        readers.whole,
        "A step whose attempts were lost more often waits for an operator; 0: any number.",
        "N",
    ),
    Setting("deaths-max", readers.whole, "So many workers may die of one step.", "N"),
    Setting("no-failover", readers.flag, "A lost attempt waits for an operator; nobody else runs it."),
    Setting("workers-max", readers.whole, "How many workers may be connected here.", "N"),
    Setting("age", readers.span, "A task that waits so long gains one point of priority.", "DURATION"),
    Setting("fair-label", readers.text, "Runs share workers evenly by the values of this label.", "NAME"),
    Setting("host-group", readers.text, "Machines near to this one: what locality looks at.", "NAME"),
)

# As seed 001 has them: keys of the file, there or in its table `distributed`, and variables. Times are in
# milliseconds. There are no options for them.
TABLE: Final = "distributed"
SEED_SETTINGS: Final = (
    Setting("assignmentStrategy", readers.text, "", into=("assignment",), also=("ASSIGNMENT_STRATEGY",)),
    Setting(
        "heartbeatInterval",
        readers.milliseconds,
        "",
        into=("worker_heartbeat_s",),
        also=("HEARTBEAT_INTERVAL",),
    ),
    Setting("lockTimeout", readers.milliseconds, "", into=("hold_timeout_s",), also=("LOCK_TIMEOUT",)),
    Setting(
        "failureDetectionTimeout",
        readers.milliseconds,
        "",
        into=("worker_silent_s",),
        also=("FAILURE_DETECTION_TIMEOUT",),
    ),
    Setting("maxRetries", readers.retries, "", into=("losses_max",), also=("MAX_RETRIES",)),
    Setting("enableFailover", readers.negated, "", into=("no_failover",), also=("ENABLE_FAILOVER",)),
)
