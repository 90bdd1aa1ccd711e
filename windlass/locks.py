"""From what the operator said to the locks of a door."""

from __future__ import annotations

from windlass.config import LockConfig, rate_of
from windlass.core import origins
from windlass.core.buckets import Rate
from windlass.core.roles import Role
from windlass.gateway.jwt import JwtRules
from windlass.gateway.lock import Bounds, Locks

BURST_MIN = 10.0


def locks_of(config: LockConfig, *, tls: bool = False) -> Locks:
    strangers = config.login or config.insecure
    return Locks(
        login=config.login,
        anybody=config.insecure,
        jwt=_jwt(config),
        bounds=Bounds(
            per_token=_rate(config.token_rate) if config.login else None,
            per_address=_rate(config.address_rate) if strangers else None,
        ),
        origins=tuple(origins.read(origin, login=config.login) for origin in config.cors_origin),
        tls=tls,
        audit_retention_s=config.audit_retention_s,
        open_runs=config.open_runs,
        token_open_runs=config.token_open_runs,
        task_queue=config.task_queue,
    )


def _rate(text: str) -> Rate | None:
    per_s = rate_of(text)
    return None if per_s is None else Rate(per_s, max(BURST_MIN, 2 * per_s))


def _jwt(config: LockConfig) -> JwtRules | None:
    if config.jwt_key_file is None:
        return None
    return JwtRules(
        config.jwt_key_file,
        issuer=config.jwt_issuer or None,
        audience=config.jwt_audience or None,
        role_claim=config.jwt_role_claim,
        namespace_claim=config.jwt_namespace_claim,
        roles=dict(map(_role, config.jwt_role)),
    )


def _role(pair: str) -> tuple[str, Role]:
    said, _, role = pair.rpartition("=")
    return said, role  # type: ignore[return-value]  # the config has checked it
