"""How runs go in the whole cluster: every node is asked what it has counted, and what waits there in vain."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from windlass.core.pulse import Counted, Pulse
from windlass.engine.asking import ask_all
from windlass.engine.calls import Calls
from windlass.engine.clock import Clock
from windlass.engine.dispatcher import Dispatcher
from windlass.engine.membership import Membership
from windlass.engine.unserved import unserved
from windlass.wire.messages import LookPulse, PulseTold


@dataclass(frozen=True, slots=True)
class Pulses:
    membership: Membership
    calls: Calls
    pulse: Pulse
    dispatcher: Dispatcher
    clock: Clock

    def own(self, namespace: str) -> Counted:
        counted = self.pulse.of(namespace).counted(self.clock.now())
        waits = unserved(self.dispatcher.table, self.dispatcher.choosing, namespace)
        return msgspec.structs.replace(counted, unserved=waits)

    async def all(self, namespace: str) -> tuple[list[Counted], list[str]]:
        """Of all nodes; and the names of those that did not tell theirs."""
        told, silent = await ask_all(self.membership, self.calls, LookPulse(namespace), PulseTold)
        return [self.own(namespace), *(answer.counted for answer in told)], silent
