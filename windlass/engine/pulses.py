"""How runs have gone lately in the whole cluster: every node is asked for what it has counted."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.core.pulse import Counted, Pulse
from windlass.engine.asking import ask_all
from windlass.engine.calls import Calls
from windlass.engine.clock import Clock
from windlass.engine.membership import Membership
from windlass.wire.messages import LookPulse, PulseTold


@dataclass(frozen=True, slots=True)
class Pulses:
    membership: Membership
    calls: Calls
    pulse: Pulse
    clock: Clock

    def own(self, namespace: str) -> Counted:
        return self.pulse.of(namespace).counted(self.clock.now())

    async def all(self, namespace: str) -> tuple[list[Counted], list[str]]:
        """Of all nodes; and the names of those that did not tell theirs."""
        told, silent = await ask_all(self.membership, self.calls, LookPulse(namespace), PulseTold)
        return [self.own(namespace), *(answer.counted for answer in told)], silent
