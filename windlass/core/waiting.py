"""What a run waits for from outside: for a yes or no, for the release of a parked step, or for a signal."""

from __future__ import annotations

from windlass.core.run_model import Run
from windlass.core.vocabulary import WaitingFor


def waiting_for(run: Run) -> WaitingFor:
    """What somebody could do to move it; "": nothing. Of several, what only a person can give goes first.

    A pause changes nothing: an answer is taken all the same. One that has failed ends whatever is answered.
    """
    waiting = run.counts["awaiting"] or run.counts["parked"] or run.awaited
    if run.failing or not waiting:
        return ""
    if run.counts["awaiting"] > sum(map(len, run.awaited.values())):
        return "approval"
    if run.counts["parked"]:
        return "release"
    return "signal" if any(_is_missing(run, name) for name in run.awaited) else ""


def _is_missing(run: Run, name: str) -> bool:
    """A signal that came during a pause is taken when the run goes on."""
    return len(run.awaited[name]) > len(run.signals.get(name, ()))
