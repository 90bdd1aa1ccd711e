"""The settings of a node, and where they come from: options, then variables, then a file, then the defaults.

Every mistake in any of them is told, each with its place, before anything is started.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from windlass.cli import readers
from windlass.cli.code_settings import CODE_SETTINGS
from windlass.cli.file_settings import FILE_SETTINGS
from windlass.cli.fleet_settings import FLEET_SETTINGS, SEED_SETTINGS, TABLE
from windlass.cli.lock_settings import LOCK_SETTINGS
from windlass.cli.setting import Setting, Told, told_by_options, told_by_variables
from windlass.config import NodeConfig
from windlass.core import durations
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults, code

_USUAL: Final = NodeConfig(database="postgresql://localhost")

SETTINGS: Final = (
    Setting("database", readers.text, "Where the cluster lives: postgresql://user@host:5432/name.", "URL"),
    Setting("schema", readers.text, "Of the cluster's tables in the database.", "NAME"),
    Setting("cluster", readers.text, "What the cluster is called.", "NAME"),
    Setting("name", readers.text, "What this node is called.  [default: its address]", "NAME"),
    Setting(
        "listen",
        readers.address,
        "Where to listen; port 0: any free one.",
        "HOST:PORT",
        into=("host", "port"),
    ),
    Setting(
        "advertise",
        readers.advertised,
        "Where other nodes and clients reach it.  [default: where it listens]",
        "HOST:PORT",
    ),
    Setting(
        "roles",
        readers.roles,
        "What it does: engine owns shards, gateway answers requests.",
        "ROLES",
        also=("PEKKO_CLUSTER_ROLES", "PEKKO_ROLES", "AKKA_ROLES"),
    ),
    Setting("slots", readers.whole, "How many steps run here at the same time; 0: none.", "N"),
    Setting(
        "capability",
        readers.words,
        "What its worker offers to steps that require it; may be repeated.",
        "NAME",
        repeated=True,
        into=("capabilities",),
        also=("SUPPORTED_EXECUTORS",),
    ),
    Setting(
        "app",
        readers.apps,
        "Where python steps find their functions; may be repeated.  [default: this folder]",
        "MODULE",
        repeated=True,
    ),
    Setting(
        "data", readers.folder, "Where steps work.  [default: a folder of its own in .windlass]", "FOLDER"
    ),
    Setting(
        "shards",
        readers.whole,
        "Written once, into a new cluster; about ten per node.",
        "N",
        also=("PEKKO_SHARDING_SHARDS",),
    ),
    Setting(
        "strategy",
        readers.text,
        "Which ids lie together: hash, by-type or module:function. Written once, too.",
        "NAME",
    ),
    Setting("retention", readers.span, "How long the events of ended runs are kept.", "DURATION"),
    Setting("delete-on-snapshot", readers.flag, "Delete events that snapshots stand for."),
    Setting(
        "snapshot-every",
        readers.whole,
        "How often a run is written down whole.",
        "EVENTS",
        also=("PEKKO_WORKFLOW_SNAPSHOT_EVERY",),
    ),
    Setting("idle", readers.span, "When a run that nobody speaks to leaves memory.", "DURATION"),
    Setting("live-max", readers.whole, "How many runs stay in memory.", "RUNS"),
    Setting("log-lines", readers.whole, "How much is kept of what one attempt at a step prints.", "LINES"),
    Setting("log-bytes", readers.whole, "The same in bytes: whichever is reached first.", "BYTES"),
    Setting(
        "rebalance-threshold", readers.whole, "Nodes that differ by so many shards are levelled.", "SHARDS"
    ),
    Setting("rebalance-at-once", readers.whole, "How many shards move at the same time.", "SHARDS"),
    Setting("rebalance-check", readers.span, "How often that is looked at.", "DURATION"),
    Setting("overload-cpu", readers.share, "Busier, it is given no more shards.", "SHARE"),
    Setting("overload-memory", readers.share, "Fuller, it is given no more shards.", "SHARE"),
    Setting("refuse-memory", readers.share, "Fuller, it starts no new runs.", "SHARE"),
    Setting("grace", readers.span, "For steps that run when it is told to stop.", "DURATION"),
    *CODE_SETTINGS,
    *FILE_SETTINGS,
    *FLEET_SETTINGS,
    *LOCK_SETTINGS,
    Setting("log", readers.text, "text or json.", "FORMAT"),
    Setting("verbose", readers.level, "Log more; -vv logs everything."),
)

# Half an address each, as the other systems have it. There is no option and no key for them.
PARTS: Final = (
    Setting("host", readers.text, "", into=("host",), also=("PEKKO_HOSTNAME", "AKKA_HOSTNAME", "AKKA_HOST")),
    Setting("port", readers.port, "", into=("port",), also=("PEKKO_PORT", "AKKA_PORT")),
)
SEED_NODES: Final = ("PEKKO_CLUSTER_SEED_NODES", "PEKKO_SEED_NODES", "AKKA_SEED_NODES")

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
_OF_SEED: Final = {setting.name: setting for setting in SEED_SETTINGS}


def usual(setting: Setting) -> str:
    """The default as the user would write it; "" if the help says it, or there is none."""
    if setting.name in ("database", "name", "advertise", "capability", "app", "data", "verbose"):
        return ""
    value = getattr(_USUAL, setting.fields[0])
    match value:
        case None | "" | () | 0:
            return ""
        case bool():
            return ""
        case tuple():
            return ",".join(value)
        case float() if setting.read is readers.span:
            return durations.show(value)
    return f"{value}:{_USUAL.port}" if setting.name == "listen" else str(value)


# From the sources to the config.


def read_file(path: Path) -> dict[str, object]:
    """Raises Invalid if it cannot be read, or is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"it is no TOML: {error}"
    raise Invalid("the file cannot be read", [Fault(str(path), reason)])


def resolve(
    options: Mapping[str, object], environ: Mapping[str, str], file: Mapping[str, object], *, file_name: str
) -> NodeConfig:
    """The config that these make together. Raises Invalid with every fault of any of them.

    The pointer of a fault is the place where the user wrote it: `--shards`, `WINDLASS_SHARDS` or
    `node.toml:shards`.
    """
    faults, values, places = Faults(), dict[str, Any](), dict[str, str]()  # Any: each field has its own type
    told = [*told_by_options(SETTINGS, options), *_variables(environ), *_keys(file, file_name, faults)]
    for setting, place, given in told:
        missing = [name for name in setting.fields if name not in values]
        if not missing and not place.startswith(f"{file_name}:"):
            continue  # what stands in the file is read in any case: it is for other days, too
        try:
            answer = setting.read(given)
        except ValueError as error:
            faults.add(place, str(error))
            places.update(dict.fromkeys(missing, ""))
            continue
        parts = answer if isinstance(answer, tuple) and len(setting.fields) > 1 else (answer,)
        for name, part in zip(setting.fields, parts, strict=True):
            if part is not None and name in missing:
                values[name], places[name] = part, place
    try:
        config = NodeConfig(**{"database": "", **values})
    except Invalid as invalid:
        for fault in invalid.faults:
            place = _place(fault.pointer, places)
            if place:  # else it has been said already that nothing was understood there
                faults.add(place, fault.message)
        raise faults.invalid("the configuration of the node") from None
    faults.refuse("the configuration of the node")
    return config


def seed_nodes(environ: Mapping[str, str]) -> list[str]:
    """Variables that name seed nodes: other systems need them."""
    return [name for name in SEED_NODES if environ.get(name)]


def _place(setting: str, places: Mapping[str, str]) -> str:
    """Where the user has written this setting; "" if what is there was not understood."""
    for name in _BY_NAME[setting].fields:
        if name in places:
            return places[name]
    return f"--{setting}"


def _variables(environ: Mapping[str, str]) -> Told:
    yield from told_by_variables(SETTINGS, environ)
    for part in (*PARTS, *SEED_SETTINGS):
        yield from ((part, name, environ[name]) for name in part.also if environ.get(name))


def _keys(file: Mapping[str, object], file_name: str, faults: Faults) -> Told:
    known = _BY_NAME | _OF_SEED
    for key, given in file.items():
        if key in known:
            yield known[key], f"{file_name}:{key}", given
        elif key == TABLE and isinstance(given, dict):
            yield from _table(given, f"{file_name}:{key}", faults)
        else:
            hint = faults.hint(key, known.keys())
            faults.add(f"{file_name}:{key}", f"there is no setting {code(key)}{hint}")


def _table(table: Mapping[str, object], place: str, faults: Faults) -> Told:
    """Settings of seed 001, as they stand there."""
    for key, given in table.items():
        if key in _OF_SEED:
            yield _OF_SEED[key], f"{place}.{key}", given
        else:
            hint = faults.hint(key, _OF_SEED.keys())
            faults.add(f"{place}.{key}", f"there is no setting {code(key)} in {code(TABLE)}{hint}")
