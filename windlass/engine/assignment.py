"""How workers are chosen in this cluster, now: what the configuration says, until somebody says otherwise.

What was said while the cluster runs is kept in the registry, and read again every moment: so all nodes follow
it, and those that start later. What is known stays known while the registry is away.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from windlass.core.assign import soundness
from windlass.core.assign.policy import STRATEGIES, Policy
from windlass.core.errors import Fault, Invalid, Unavailable
from windlass.engine.reading import in_time
from windlass.journal import StoreError
from windlass.registry import Registry, SettingRow

log = logging.getLogger(__name__)

NAME: Final = "assignment"
EVERY_S: Final = 1.0
SWITCHES_MAX: Final = 100
TRIES: Final = 5

_decoder: Final = msgspec.json.Decoder(Policy)


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """One change of how workers are chosen."""

    at: float
    before: str  # strategies
    after: str
    why: str


class Assignment:
    """`usual` holds until something else was set; `on_change` is called when another policy holds.

    `custom` finds a strategy of the user's by name, or raises Invalid: one that is not here is not set.
    """

    def __init__(
        self,
        registry: Registry,
        usual: Policy,
        on_change: Callable[[], None],
        *,
        now: Callable[[], float],
        custom: Callable[[str], object] | None = None,
    ) -> None:
        self.usual = usual
        self.policy = usual
        self.set_by = ""  # who has said so, and when; nothing where the configuration holds
        self.set_at: float | None = None
        self._registry = registry
        self._on_change = on_change
        self._now = now
        self._custom = custom
        self._version: int | None = None
        self._body = b""
        self._switches: deque[Switch] = deque(maxlen=SWITCHES_MAX)
        # One at a time: a reading that was slow must not undo what was set meanwhile.
        self._turn = asyncio.Lock()

    @property
    def switches(self) -> Sequence[Switch]:
        """The latest, oldest first: those that were ordered, and those that adaptive has made here."""
        return list(self._switches)

    def note(self, before: str, after: str, why: str, *, at: float | None = None) -> None:
        """From one strategy to another; `at`: if that was not now."""
        at = self._now() if at is None else at
        self._switches.append(Switch(at=at, before=before, after=after, why=why))

    async def set(self, policy: Policy | None, by: str) -> Policy:
        """Kept for the whole cluster, and followed here at once; None: what is configured holds again.

        Raises Invalid, Unavailable and StoreError. Of two who speak at the same time the later one is heard.
        """
        if policy is not None:
            self._check(policy)
        body = b"" if policy is None else msgspec.json.encode(policy)
        async with self._turn:
            for _ in range(TRIES):
                kept = await in_time(self._registry.setting(NAME))
                row = SettingRow(name=NAME, body=body, at=self._now(), by=by)
                expected = None if kept is None else kept.version
                version = await in_time(self._registry.put_setting(row, expected=expected))
                if version is not None:
                    self._take(msgspec.structs.replace(row, version=version))
                    return self.policy
        raise Unavailable("others set it all the time; try again")

    async def serve(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Read it now: somebody may have set it elsewhere."""
        async with self._turn:
            try:
                kept = await in_time(self._registry.setting(NAME))
            except (StoreError, Unavailable) as error:
                log.info("the assignment cannot be read", extra={"error": str(error)})
                return
            if kept is not None and (kept.version, kept.body) != (self._version, self._body):
                self._take(kept)

    def _check(self, policy: Policy) -> None:
        soundness.check(policy)
        if self._custom is not None and policy.strategy not in STRATEGIES:
            try:
                self._custom(policy.strategy)
            except Invalid as invalid:
                raise Invalid(str(invalid), [Fault("/strategy", str(invalid))]) from None

    def _take(self, row: SettingRow) -> None:
        try:
            policy = _decoder.decode(row.body) if row.body else self.usual
            soundness.check(policy)
        except (msgspec.MsgspecError, Invalid) as error:  # of a newer Windlass, it may be
            log.warning("the assignment that was set is not understood", extra={"error": str(error)})
            policy = self.policy
        before = self.policy
        self._version, self._body = row.version, row.body
        self.set_by, self.set_at = (row.by, row.at) if row.body else ("", None)
        if policy == before:
            return
        self.policy = policy
        self.note(before.strategy, policy.strategy, f"set by {row.by}" if row.by else "set", at=row.at)
        log.info("assignment changed", extra={"before": before.strategy, "after": policy.strategy})
        self._on_change()
