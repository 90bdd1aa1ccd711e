"""The settings of a worker: from options, then variables, then a file, then the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli import readers
from windlass.cli.code_settings import CODE_SETTINGS
from windlass.cli.file_settings import FILE_SETTINGS
from windlass.cli.setting import Setting, Told, told_by_options, told_by_variables
from windlass.core import durations, sizes
from windlass.core.errors import Invalid
from windlass.core.faults import Faults, code, found
from windlass.worker.addresses import read_address
from windlass.worker.config import WorkerConfig


def several(given: object) -> tuple[str, ...]:
    """Given once with commas, or several times, or both."""
    if isinstance(given, list | tuple):
        return tuple(word for each in given for word in readers.words(each))
    return readers.words(given)


def addresses(given: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(read_address(word) for word in several(given)))


def labels(given: object) -> dict[str, str]:
    """k=v,… or a table of TOML."""
    if isinstance(given, dict):
        return {str(name): readers.text(value) for name, value in given.items()}
    pairs = [word.partition("=") for word in several(given)]
    if bad := [name for name, sign, _ in pairs if not (name and sign)]:
        raise ValueError(f"{bad[0]!r} is no label; write it as name=value")
    return {name: value for name, _, value in pairs}


def number(given: object) -> float:
    try:
        return float(given) if isinstance(given, str | int | float) else float("nan")
    except ValueError:
        raise ValueError(f"{found(given)} is no number") from None


def apps(given: object) -> tuple[str, ...]:
    return readers.apps(several(given))


SETTINGS: Final = (
    Setting(
        "connect",
        addresses,
        "The nodes, e.g. ws://a:8080,ws://b:8080 (wss:// with TLS); it is connected to one of them.",
        "URLS",
        repeated=True,
        into=("connect",),
    ),
    Setting(
        "token",
        readers.text,
        "What it shows where there is a login. Every user of a machine sees command lines: better use "
        "WINDLASS_TOKEN, or --token-file.",
        "TOKEN",
        into=("token",),
    ),
    Setting(
        "token-file",
        readers.file,
        "A file with the token; read anew at each connection.",
        "FILE",
        into=("token_file",),
    ),
    Setting(
        "name",
        readers.text,
        "What it is called, it alone.  [default: made up once, and kept in the data folder]",
        "NAME",
        into=("name",),
    ),
    Setting(
        "app",
        apps,
        "Where python steps find their functions; may be repeated.  [default: this folder]",
        "MODULE",
        repeated=True,
        into=("app",),
    ),
    Setting("slots", readers.whole, "How many tasks run here at the same time.", "N", into=("slots",)),
    Setting(
        "capabilities",
        several,
        "What it offers to steps that require it, e.g. gpu,eu; may be repeated.",
        "NAMES",
        repeated=True,
        into=("capabilities",),
    ),
    Setting(
        "labels",
        labels,
        "About it, for people and strategies: name=value,…",
        "PAIRS",
        repeated=True,
        into=("labels",),
    ),
    Setting(
        "namespaces",
        several,
        "Whose tasks it takes.  [default: of all that its token may work for]",
        "NAMES",
        repeated=True,
        into=("namespaces",),
    ),
    Setting(
        "host-group",
        readers.text,
        "Where its machine stands, e.g. a rack or zone: for the strategy `locality`.",
        "NAME",
        into=("host_group",),
    ),
    Setting("weight", number, "How much it should get, beside others.", "NUMBER", into=("weight",)),
    Setting(
        "data",
        readers.folder,
        "Where steps work, and results are until a node has them.  [default: one of its own in .windlass]",
        "FOLDER",
        into=("data",),
    ),
    Setting(
        "grace", readers.span, "For tasks that run when it is told to stop.", "DURATION", into=("grace_s",)
    ),
    Setting(
        "memory",
        sizes.parse,
        "How much each process of a step may use, e.g. 512MB.  [default: no limit]",
        "SIZE",
        into=("memory_bytes",),
    ),
    Setting(
        "recycle", readers.whole, "After so many steps a Python process is replaced.", "N", into=("recycle",)
    ),
    Setting(
        "tls-ca",
        readers.file,
        "Whose certificates nodes have.  [default: whom this machine trusts]",
        "FILE",
        into=("tls_ca",),
    ),
    Setting(
        "tls-cert",
        readers.file,
        "A certificate to show, in PEM, where nodes want one.",
        "FILE",
        into=("tls_cert",),
    ),
    Setting("tls-key", readers.file, "Its key, in PEM.", "FILE", into=("tls_key",)),
    Setting(
        "log-lines",
        readers.whole,
        "How much is kept of what one attempt at a step prints.",
        "LINES",
        into=("log_lines",),
    ),
    Setting(
        "log-bytes",
        readers.whole,
        "The same in bytes: whichever is reached first.",
        "BYTES",
        into=("log_bytes",),
    ),
    Setting(
        "http-private",
        readers.text,
        "Whether http steps may call this machine and private networks: allow or deny.",
        "WORD",
        into=("http_private",),
    ),
    Setting(
        "allow-network",
        several,
        "A private network that http steps may call, e.g. 10.1.0.0/16; may be repeated.",
        "CIDR",
        repeated=True,
        into=("allow_network",),
    ),
    *CODE_SETTINGS,
    *FILE_SETTINGS,
    Setting("log", readers.text, "text or json.", "FORMAT", into=("log",)),
    Setting("verbose", readers.level, "Log more; -vv logs everything.", into=("verbose",)),
)

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
_USUAL: Final = WorkerConfig(connect=("ws://localhost",))
_SAID: Final = ("connect", "token", "app", "verbose")  # have no default worth showing


def usual(setting: Setting) -> str:
    """The default as the user would write it; "" if the help says it, or there is none."""
    value = getattr(_USUAL, setting.fields[0])
    if setting.name in _SAID or not value:
        return ""
    return durations.show(value) if setting.read is readers.span else str(value)


def resolve(
    options: Mapping[str, object], environ: Mapping[str, str], file: Mapping[str, object], *, file_name: str
) -> WorkerConfig:
    """The config that these make together. Raises Invalid with every fault of any, each at its place."""
    faults, values, places = Faults(), dict[str, Any](), dict[str, str]()  # Any: each field has its own type
    told = (
        *told_by_options(SETTINGS, options),
        *told_by_variables(SETTINGS, environ),
        *_keys(file, file_name, faults),
    )
    for setting, place, given in told:
        (field,) = setting.fields
        first = field not in places
        if first:
            places[field] = place
        try:
            answer = setting.read(given)  # also of what is not used: a file is for other days, too
        except ValueError as error:
            if first or place.startswith(f"{file_name}:"):
                faults.add(place, str(error))
                places[field] = "" if first else places[field]
            continue
        if first:
            values[field] = answer
    try:
        config = WorkerConfig(**values)
    except Invalid as invalid:
        for fault in invalid.faults:
            place = places.get(_BY_NAME[fault.pointer].fields[0], f"--{fault.pointer}")
            if place:  # else it has been said already that nothing was understood there
                faults.add(place, fault.message)
        raise faults.invalid("the configuration of the worker") from None
    faults.refuse("the configuration of the worker")
    return config


def _keys(file: Mapping[str, object], file_name: str, faults: Faults) -> Told:
    for key, given in file.items():
        if key in _BY_NAME:
            yield _BY_NAME[key], f"{file_name}:{key}", given
        else:
            hint = faults.hint(key, _BY_NAME.keys())
            faults.add(f"{file_name}:{key}", f"there is no setting {code(key)}{hint}")
