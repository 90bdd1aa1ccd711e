"""What `windlass up` and `windlass node` can be told: read once, by the command line.

Nobody else reads the environment; the parts get plain arguments.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from windlass.core import addresses, origins
from windlass.core.cluster import ENGINE, GATEWAY
from windlass.core.durations import SECONDS_MAX, show
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import quote
from windlass.core.roles import Role
from windlass.core.strategies import BUILT_IN
from windlass.fleet_config import FleetConfig, fleet_faults
from windlass.worker.code_config import CodeConfig
from windlass.worker.files_config import FilesConfig

JOURNAL: Final = "windlass.db"
DATA: Final = Path(".windlass")

LogFormat = Literal["text", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockConfig:
    """Who may come in, and how often: the same for every door. See cli/lock_settings.py."""

    login: bool = False  # everybody has to show a token
    insecure: bool = False  # listen beyond this machine, though there is no login
    jwt_key_file: Path | None = None
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_role_claim: str = "role"
    jwt_namespace_claim: str = "namespace"
    jwt_role: tuple[str, ...] = ()  # what the claim says, and which role that is: ops=admin
    token_rate: str = "1000/s"  # so often may each come, with a login; "off": as often as they like
    address_rate: str = "2000/s"
    open_runs: int = 0  # at the same time, per namespace; 0: any number
    token_open_runs: int = 0  # the same per token
    task_queue: int = 10_000  # code tasks that may wait for a worker, on each node
    namespace_tasks: int = 0  # steps of one namespace that run at the same time; 0: any number
    token_tasks: int = 0  # the same for the runs that one token has started
    audit_retention_s: float = 90 * 86_400.0
    cors_origin: tuple[str, ...] = ()
    tls_cert: Path | None = None  # None: no TLS
    tls_key: Path | None = None
    tls_ca: Path | None = None  # whom to trust when dialing other nodes; None: whom this machine trusts
    tls_client_ca: Path | None = None  # whose certificates nodes have to show; None: they need none
    connections_per_address: int = 0  # 0: as many as is usual
    http_private: str = "allow"  # whether http steps may call this machine and private networks; or "deny"
    allow_network: tuple[str, ...] = ()  # networks that http steps and webhooks may call all the same
    secrets_key_file: Path | None = None  # None: of the environment, or a file that `up` makes by itself


@dataclass(frozen=True, slots=True)
class Config(LockConfig, FleetConfig, CodeConfig, FilesConfig):
    """Of `windlass up`: an engine alone, on a file."""

    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free one
    data: Path = DATA
    app: tuple[str, ...] = (".",)  # modules, files and folders with the functions of python steps
    slots: int = 16  # tasks that run at the same time
    capabilities: tuple[str, ...] = ()  # what the built-in worker offers to steps with `requires`
    shards: int = 100  # written once, when the data folder is new
    retention_s: float = 30 * 86_400.0  # how long the events of an ended run are kept
    delete_on_snapshot: bool = False
    idle_s: float = 30 * 60.0  # a run nobody spoke to for so long leaves memory
    live_max: int = 200_000  # runs in memory, over all shards
    snapshot_every: int = 100  # events
    log_lines: int = 10_000  # that are kept of what an attempt prints; of a run ten times as many
    log_bytes: int = 1024 * 1024
    examples: bool = False  # register the example workflows and run one
    log: LogFormat = "text"
    verbose: int = 0  # 1: what an operator looks for, 2: everything

    @property
    def journal(self) -> Path:
        return self.data / JOURNAL


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig(LockConfig, FleetConfig, CodeConfig, FilesConfig):
    """Of `windlass node`: one of a cluster, on PostgreSQL. Raises Invalid, with every fault there is."""

    database: str = field(repr=False)  # postgresql://…; may hold a password: see `shown_database`
    schema: str = "windlass"  # in the database
    cluster: str = "windlass"  # what people call it
    name: str = ""  # what people call this node; "": its address
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free one
    advertise: str = ""  # host[:port] where the others and clients reach it; "": where it listens
    roles: tuple[str, ...] = (ENGINE, GATEWAY)
    slots: int = 16  # of the built-in worker; 0: there is none
    capabilities: tuple[str, ...] = ()
    app: tuple[str, ...] = (".",)
    data: Path | None = None  # where steps work; None: a folder of this node's under .windlass
    shards: int = 100  # written once, when the cluster is new
    strategy: str = "hash"  # the same
    retention_s: float = 30 * 86_400.0
    delete_on_snapshot: bool = False
    idle_s: float = 30 * 60.0
    live_max: int = 200_000
    snapshot_every: int = 100
    log_lines: int = 10_000
    log_bytes: int = 1024 * 1024
    rebalance_threshold: int = 3  # two nodes that differ by so many shards are levelled
    rebalance_at_once: int = 5  # shards that move at the same time
    rebalance_check_s: float = 10.0
    overload_cpu: float = 0.85  # a node above one of these is given no more shards
    overload_memory: float = 0.9
    refuse_memory: float = 0.95  # and above this it starts no new runs
    grace_s: float = 10.0  # for steps that run when the node is told to stop
    log: LogFormat = "text"
    verbose: int = 0

    def __post_init__(self) -> None:
        found = list(_faults(self))
        if found:
            told = "; ".join(f"{fault.pointer}: {fault.message}" for fault in found)
            raise Invalid(f"the configuration of the node makes no sense: {told}", found)

    def address(self, port: int) -> str:
        """host:port, where others reach a node that listens on this port (`port` of the config may be 0)."""
        host, other = split_address(self.advertise) if self.advertise else (self.host, None)
        return join_address(host, other or port)

    def called(self, address: str) -> str:
        """The name of the node with this address."""
        return self.name or address

    def folder(self, name: str) -> Path:
        """Where the steps of the node with this name work. No colon: such a folder could not be on a path."""
        return self.data or DATA / re.sub(r"[^A-Za-z0-9._-]", "_", name)

    @property
    def shown_database(self) -> str:
        return without_password(self.database)


# Lowest, highest.
WHOLE: Final = {
    "port": (0, 65_535),
    "slots": (0, 10_000),
    "shards": (1, 10_000),
    "live_max": (1, 1_000_000_000),
    "snapshot_every": (1, 1_000_000),
    "log_lines": (1, 10_000_000),
    "log_bytes": (1, 1 << 30),
    "rebalance_threshold": (1, 10_000),
    "rebalance_at_once": (1, 10_000),
    "open_runs": (0, 1_000_000_000),
    "token_open_runs": (0, 100_000),
    "task_queue": (1, 10_000_000),
    "namespace_tasks": (0, 1_000_000),
    "token_tasks": (0, 1_000_000),
    "connections_per_address": (0, 1_000_000),
    "verbose": (0, 2),
}
SECONDS: Final = {
    "retention_s": (0.0, SECONDS_MAX),
    "idle_s": (1.0, SECONDS_MAX),
    "rebalance_check_s": (0.1, 86_400.0),
    "grace_s": (0.0, 86_400.0),
    "audit_retention_s": (3_600.0, SECONDS_MAX),
}
SHARES: Final = ("overload_cpu", "overload_memory", "refuse_memory")
# What a role may be called: ours, and in the systems whose settings are understood.
ROLES: Final = {
    ENGINE: ENGINE,
    GATEWAY: GATEWAY,
    "worker": ENGINE,
    "scheduler": ENGINE,
    "api-gateway": GATEWAY,
}
EVERYWHERE: Final = ("0.0.0.0", "::")

_NAME: Final = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9._:\[\]-]{0,199}")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,252})")
_DATABASE: Final = re.compile(r"postgres(?:ql)?://.")


def setting_of(attribute: str) -> str:
    """What a user calls a field of the config: its option without the dashes before it."""
    return attribute.removesuffix("_s").replace("_", "-")


def _faults(config: NodeConfig) -> Iterator[Fault]:
    """Everything that is wrong, by setting."""
    for attribute, (low, high) in WHOLE.items():
        value = getattr(config, attribute)
        if not low <= value <= high:
            message = f"{value:,} will not do: it has to be from {low:,} to {high:,}"
            yield Fault("listen" if attribute == "port" else setting_of(attribute), message)
    for attribute, (low_s, high_s) in SECONDS.items():
        value = getattr(config, attribute)
        if not low_s <= value <= high_s:
            message = f"{value:g}s will not do: it has to be from {show(low_s)} to {show(high_s)}"
            yield Fault(setting_of(attribute), message)
    for attribute in SHARES:
        value = getattr(config, attribute)
        if not 0 < value <= 1:
            message = f"{value:g} will not do: it has to be above 0 and at most 1, e.g. 0.85 (or 85%)"
            yield Fault(setting_of(attribute), message)
    if config.refuse_memory < config.overload_memory:
        lower = f"{config.refuse_memory:g} is lower than overload-memory ({config.overload_memory:g})"
        yield Fault("refuse-memory", f"{lower}; a node is overloaded before it refuses")
    yield from _words(config)
    yield from _addresses(config)
    yield from lock_faults(config)
    yield from fleet_faults(config)


def _words(config: NodeConfig) -> Iterator[Fault]:
    if not _DATABASE.match(config.database):
        # What was given is not repeated: it may hold a password.
        told = "this is no address of a PostgreSQL database" if config.database else "it has to be named"
        yield Fault("database", f"{told}; write postgresql://user@host:5432/name")
    if not _SCHEMA.fullmatch(config.schema):
        advice = "write small letters, digits and _, at most 63"
        yield Fault("schema", f"{quote(config.schema)} is no name of a schema; {advice}")
    for attribute in ("cluster", "name"):
        value = getattr(config, attribute)
        if not _NAME.fullmatch(value) and (value or attribute == "cluster"):
            advice = "write letters, digits and . _ : -, at most 200"
            yield Fault(attribute, f"{quote(value)} is no name; {advice}")
    unknown = [role for role in config.roles if role not in (ENGINE, GATEWAY)]
    also = ", ".join(f"{name} is {role}" for name, role in ROLES.items() if name != role)
    if unknown or not config.roles:
        told = f"there is no role {', '.join(map(quote, unknown))}" if unknown else "a node has to have one"
        yield Fault("roles", f"{told}; write {ENGINE}, {GATEWAY} or both ({also})")
    if config.log not in get_args(LogFormat):
        yield Fault(
            "log", f"there is no format {quote(config.log)}; write {' or '.join(get_args(LogFormat))}"
        )
    for setting, words in (("capability", config.capabilities), ("app", config.app)):
        if not all(words):
            yield Fault(setting, "one of them is empty")
    strategy = BUILT_IN.get(config.strategy)
    if strategy is None and ":" not in config.strategy:
        known = ", ".join(BUILT_IN)
        yield Fault("strategy", f"there is no {quote(config.strategy)}; write {known}, or module:function")
    elif strategy is not None and 0 < config.shards < strategy.shards_min:
        yield Fault("strategy", f"{strategy.name} needs {strategy.shards_min} shards or more")


def _addresses(config: NodeConfig) -> Iterator[Fault]:
    if not is_host(config.host):
        yield Fault("listen", f"{quote(config.host)} is no name or number of a machine")
        return
    here = join_address(config.host, config.port)
    if config.advertise:
        try:
            host, port = split_address(config.advertise)
        except ValueError as error:
            yield Fault("advertise", str(error))
        else:
            if host in EVERYWHERE or port == 0:
                yield Fault("advertise", f"nobody can reach {config.advertise}; write host:port")
    elif config.host in EVERYWHERE:
        told = f"a node that listens on {here} has to say where the others reach it"
        yield Fault("advertise", f"{told}; write the host:port of this machine in your network")
    yield from unlocked(config, config.host, config.port)


def unlocked(config: LockConfig, host: str, port: int) -> Iterator[Fault]:
    """A door that strangers can reach has a lock, or somebody has said that it needs none."""
    if config.login or config.insecure or is_loopback(host):
        return
    here = join_address(host, port)
    told = f"other machines could reach {here}, and there is no login: anybody could run programs here"
    advice = (
        "say --login and make tokens with `windlass token create`, listen on 127.0.0.1, or say --insecure if "
        "nobody else is in that network"
    )
    yield Fault("listen", f"{told}; {advice}")


def how_locked(config: LockConfig, host: str) -> str:
    """In one line: who may come in."""
    if not config.login:
        whom = "every program on this machine" if is_loopback(host) else "everybody who reaches it"
        return f"open to {whom}, without a login (--login)"
    clear = config.tls_cert is None and not is_loopback(host)
    return "everybody shows a token" + ("; they travel unencrypted: see --tls-cert" if clear else "")


def lock_faults(config: LockConfig) -> Iterator[Fault]:
    for attribute in ("token_rate", "address_rate"):
        try:
            rate_of(getattr(config, attribute))
        except ValueError as error:
            yield Fault(setting_of(attribute), str(error))
    for pair in config.jwt_role:
        said, _, role = pair.rpartition("=")
        if not said or role not in get_args(Role):
            yield Fault("jwt-role", f"{quote(pair)} makes no sense; write e.g. ops-team=admin")
    if config.jwt_key_file is not None and not config.login:
        yield Fault("jwt-key-file", "there is no login for which it could be used; say --login, too")
    for origin in config.cors_origin:
        try:
            origins.read(origin, login=config.login)
        except ValueError as error:
            yield Fault("cors-origin", str(error))
    yield from _tls_faults(config)
    if config.http_private not in ("allow", "deny"):
        yield Fault("http-private", f"{quote(config.http_private)} is neither allow nor deny")
    try:
        addresses.networks(config.allow_network)
    except ValueError as error:
        yield Fault("allow-network", str(error))


def _tls_faults(config: LockConfig) -> Iterator[Fault]:
    if (config.tls_cert is None) != (config.tls_key is None):
        missing = "tls-key" if config.tls_key is None else "tls-cert"
        yield Fault(missing, "a certificate and its key belong together; name both --tls-cert and --tls-key")
    for attribute in ("tls_ca", "tls_client_ca"):
        if getattr(config, attribute) is not None and config.tls_cert is None:
            yield Fault(setting_of(attribute), "there is no TLS for which it could be used; see --tls-cert")


def rate_of(text: str) -> float | None:
    """Of "50/s" or "100/m", per second; None: no bound. ValueError, with advice, for anything else."""
    if text == "off":
        return None
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)/(s|m|h)", text)
    per_s = 0.0 if found is None else float(found[1]) / {"s": 1, "m": 60, "h": 3600}[found[2]]
    if not per_s:
        raise ValueError(f"{quote(text)} is no rate; write e.g. 50/s, 100/m, or off")
    return per_s


def split_address(text: str) -> tuple[str, int | None]:
    """host:port, [::1]:port, or a host alone. ValueError, with advice, for anything else."""
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif text.count(":") > 1:  # an IPv6 address without its brackets has no room for a port
        host, port = text, None
    else:
        host, _, rest = text.partition(":")
        port = rest if ":" in text else None
    if not is_host(host) or (port is None and host.isdigit()):
        raise ValueError(f"{quote(text)} is no address; write host:port, e.g. 127.0.0.1:2551")
    if port is None:
        return host, None
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError(f"{quote(text)} has no port; write host:port, with a port up to 65535")
    return host, int(port)


def join_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_host(text: str) -> bool:
    """Whether it reads as a name or number of a machine; nobody is asked."""
    return bool(_HOST.fullmatch(text)) or _number(text) is not None


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can come in. A name might be anything, except for this one."""
    number = _number(host)
    return number.is_loopback if number is not None else host == "localhost"


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def without_password(url: str) -> str:
    """A database's address as it may be shown; where it is not well formed, rather too little of it."""
    shown = re.sub(r"(?s)^([^:/@]+://)([^:@/]*):.*@", r"\1\2:***@", url)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", shown)
