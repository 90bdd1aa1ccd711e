"""The secrets of all namespaces: sealed before they are kept, opened for whoever runs a step, sealed anew."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from windlass.core.errors import NotFound, Unavailable
from windlass.engine.reading import in_time
from windlass.journal import StoreError
from windlass.registry import HookRow, InboundRow, Registry, SecretRow
from windlass.vault import Keyring, Locked, context_of

PASSES_MAX: Final = 5  # over all rows: others may write while they are sealed anew


@dataclass(frozen=True, slots=True)
class Rotated:
    resealed: int  # that were sealed with another key
    locked: tuple[str, ...]  # that could not be opened here: kind/namespace/name


@dataclass(frozen=True, slots=True)
class Secrets:
    registry: Registry
    keyring: Keyring
    clock: Callable[[], float]

    async def set(self, namespace: str, name: str, value: str, *, by: str) -> SecretRow:
        """Raises Locked when there is no key here, or what the store raises."""
        kept = self.keyring.seal(_context(namespace, name), value)
        row = SecretRow(
            namespace=namespace,
            name=name,
            key=kept.key,
            sealed=kept.sealed,
            version=1,
            updated_at=self.clock(),
            updated_by=by,
        )
        return replace(row, version=await in_time(self.registry.put_secret(row)))

    async def open(self, namespace: str, names: Set[str]) -> dict[str, str]:
        """Their values now. Raises NotFound, Locked or Unavailable, which name a secret and tell none."""
        values: dict[str, str] = {}
        for name in sorted(names):
            try:
                row = await in_time(self.registry.secret(namespace, name))
            except StoreError as error:
                raise Unavailable(f"the database does not answer: {error}") from None
            if row is None:
                advice = f"`windlass secret set {name}` sets it"
                raise NotFound(f"there is no secret {name} in the namespace {namespace}; {advice}")
            values[name] = self.keyring.open(_context(namespace, name), row.key, row.sealed)
        return values

    async def rotate(self) -> Rotated:
        """Seal everything anew that is sealed with another key than the first.

        Others may write meanwhile: a secret that was changed is left to who changed it, and looked at again.
        """
        resealed, locked = 0, dict[str, None]()
        self.keyring.seal("", "")  # without a key there is nothing to begin
        for _ in range(PASSES_MAX):
            old = [row for row in await in_time(self.registry.secrets()) if row.key != self.keyring.key]
            done = [await self._reseal(row, locked) for row in old]
            resealed += sum(done)
            if len(locked) == len(old) - sum(done):
                break
        hooks = [row for row in await in_time(self.registry.hooks()) if row.key != self.keyring.key]
        resealed += sum([await self._reseal_hook(row, locked) for row in hooks])
        inbound = [row for row in await in_time(self.registry.inbounds()) if row.key != self.keyring.key]
        resealed += sum([await self._reseal_inbound(row, locked) for row in inbound])
        return Rotated(resealed, tuple(locked))

    async def _reseal(self, row: SecretRow, locked: dict[str, None]) -> bool:
        context = _context(row.namespace, row.name)
        try:
            value = self.keyring.open(context, row.key, row.sealed)
        except Locked:
            locked[context] = None
            return False
        locked.pop(context, None)
        kept = self.keyring.seal(context, value)
        return await in_time(self.registry.reseal_secret(replace(row, key=kept.key, sealed=kept.sealed)))

    async def _reseal_hook(self, row: HookRow, locked: dict[str, None]) -> bool:
        """A hook is never changed, only made and deleted."""
        context = hook_context(row.namespace, row.id)
        try:
            kept = self.keyring.seal(context, self.keyring.open(context, row.key, row.sealed))
        except Locked:
            locked[context] = None
            return False
        if await in_time(self.registry.hook(row.id)) is None:
            return False
        await in_time(self.registry.put_hook(replace(row, key=kept.key, sealed=kept.sealed)))
        return True

    async def _reseal_inbound(self, row: InboundRow, locked: dict[str, None]) -> bool:
        context = inbound_context(row.namespace, row.name)
        try:
            kept = self.keyring.seal(context, self.keyring.open(context, row.key, row.sealed))
        except Locked:
            locked[context] = None
            return False
        return await in_time(self.registry.reseal_inbound(replace(row, key=kept.key, sealed=kept.sealed)))


def inbound_context(namespace: str, name: str) -> str:
    """What the secret of a webhook that comes in is sealed under."""
    return context_of("inbound", namespace, name)


def hook_context(namespace: str, hook: str) -> str:
    """What the secret that a webhook signs with is sealed under."""
    return context_of("hook", namespace, hook)


def _context(namespace: str, name: str) -> str:
    return context_of("secret", namespace, name)
