"""From what the operator said to the rules which addresses may be called."""

from __future__ import annotations

from windlass.config import LockConfig
from windlass.core.addresses import networks
from windlass.outward import Rule


def for_steps(config: LockConfig) -> Rule:
    return Rule(private=config.http_private == "allow", allowed=networks(config.allow_network))


def for_webhooks(config: LockConfig) -> Rule:
    return Rule(allowed=networks(config.allow_network))
