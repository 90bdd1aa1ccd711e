"""The types of stages that a pipeline may have, in one table: for checking, for running, and for lists.

A stage is what seed 000 calls a node. Its name and its role together say what it is: `file.text` reads a file
as a source, and writes one as a sink.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from windlass.core.task import Json

Role = Literal["source", "transform", "sink"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
# All of them hold every byte below 128 as it is: lines can be found without knowing which one it is.
ENCODINGS: Final = ("utf-8", "ascii", "latin-1", "cp1252", "gbk", "gb18030")


class ConfigKey(msgspec.Struct, frozen=True):
    """What a stage can be told, as a form would show it."""

    name: str
    type: Literal["string", "number", "boolean", "array"]
    label: str
    required: bool = False
    default: Json = None  # None: there is none


class StageType(msgspec.Struct, frozen=True):
    node_type: str
    role: Role
    display_name: str
    icon: str
    category: str
    description: str
    config: tuple[ConfigKey, ...] = ()
    aliases: tuple[str, ...] = ()  # other names that documents have for it
    missing: str = ""  # why it cannot run here; "": it can
    step: str = ""  # it is no stage but a step of its own, of this kind

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.config)


def named(node_type: str) -> list[StageType]:
    """All that have this name, in whatever role."""
    return _NAMED.get(node_type, [])


def find(node_type: str, role: str | None) -> StageType | None:
    """By name and role. Without a role, only if the name leaves no doubt."""
    among = named(node_type)
    if role is None:
        return among[0] if len(among) == 1 else None
    return next((kind for kind in among if kind.role == role), None)


def _source(name: str, shown: str, icon: str, about: str, *config: ConfigKey) -> StageType:
    return StageType(name, "source", shown, icon, "source", about, config)


def _transform(
    name: str, shown: str, icon: str, about: str, *config: ConfigKey, aliases: tuple[str, ...] = ()
) -> StageType:
    return StageType(name, "transform", shown, icon, "transform", about, config, aliases)


def _sink(name: str, shown: str, icon: str, about: str, *config: ConfigKey) -> StageType:
    return StageType(name, "sink", shown, icon, "sink", about, config)


def _missing(name: str, role: Role, shown: str, why: str, *aliases: str) -> StageType:
    return StageType(name, role, shown, "🚫", role, f"Not available: {why}", (), aliases, why)


_PATH: Final = ConfigKey("path", "string", "Path of the file", required=True)
_ENCODING: Final = ConfigKey("encoding", "string", "Encoding of the file", default="utf-8")
_DELIMITER: Final = ConfigKey("delimiter", "string", "Between two fields", default=",")
_MYSQL: Final = "it needs a MySQL server, and there is no connector for one; use a python step"
_KAFKA: Final = "it needs a Kafka cluster, and there is no connector for one; use a python step"
_SQL: Final = "it needs a SQL service, and there is no connector for one; use a python step"

STAGE_TYPES: Final[tuple[StageType, ...]] = (
    _source(
        "random.numbers", "Random numbers", "🎲", "Random whole numbers, others at each attempt",
        ConfigKey("count", "number", "How many", default=100),
        ConfigKey("min", "number", "The smallest", default=1),
        ConfigKey("max", "number", "The largest", default=100),
    ),
    _source(
        "sequence.numbers", "Sequence", "🔢", "Whole numbers in order, the last one included",
        ConfigKey("start", "number", "The first", default=1),
        ConfigKey("end", "number", "The last", default=100),
        ConfigKey("step", "number", "From one to the next", default=1),
    ),
    _source(
        "file.csv", "CSV file", "📁", "The rows of a CSV file, empty ones left out",
        _PATH, _DELIMITER, _ENCODING,
        ConfigKey("skipHeader", "boolean", "Leave out the first row", default=False),
    ),
    _source("file.text", "Text file", "📄", "The lines of a text file", _PATH, _ENCODING),
    _source(
        "memory.collection", "Collection", "💾", "Rows that stand in the document",
        ConfigKey("data", "array", "The rows", required=True),
    ),
    _transform(
        "filter", "Filter", "🔍", "Keep the rows that fulfil a condition",
        ConfigKey("condition", "string", 'The condition: > 50, or contains "x"', required=True), _DELIMITER,
        aliases=("filter.condition",),
    ),
    _transform(
        "map", "Map", "🔄", "Change every row",
        ConfigKey("expression", "string", "toUpperCase, toLowerCase, trim, prefix:…", required=True),
        aliases=("map.transform",),
    ),
    _transform("distinct", "Distinct", "✨", "Drop rows that have been there before"),
    _transform(
        "batch", "Batch", "📦", "Hand rows on in groups",
        ConfigKey("batchSize", "number", "Rows in a group", required=True),
        ConfigKey("join", "string", "Make one row of a group, with this between its rows"),
    ),
    _transform(
        "data.clean", "Clean", "🧹", "Trim rows, and drop those that hold nothing",
        ConfigKey("trim", "boolean", "Trim every row", default=True),
        ConfigKey("removeNull", "boolean", "Drop empty rows and null", default=True),
    ),
    _sink(
        "console.log", "Console", "🖥️", "Write rows to the log of the step",
        ConfigKey("limit", "number", "At most so many", default=100),
    ),
    _sink(
        "file.text", "Text file", "💾", "Write rows to a file, which is there when all went well",
        _PATH, ConfigKey("append", "boolean", "Keep what is in the file, and go on after it", default=False),
        _ENCODING,
    ),
    _sink(
        "file.json", "JSON file", "💾", "Write rows to a file, as one JSON list",
        _PATH, ConfigKey("overwrite", "boolean", "Replace a file that is there", default=True),
    ),
    _sink("aggregate.count", "Count", "🔢", "Count the rows"),
    _sink(
        "aggregate.sum", "Sum", "🧮", "Add up a field of all rows",
        ConfigKey("field", "number", "Which one, counted from 1", default=1), _DELIMITER,
    ),
    StageType(
        "shell", "transform", "Shell", "🖥️", "transform", "Run a command: a step of its own, in its turn",
        (ConfigKey("command", "string", "One line for the shell", required=True),), step="shell",
    ),
    _missing("mysql.query", "source", "MySQL query", _MYSQL),
    _missing("mysql.write", "sink", "MySQL table", _MYSQL, "mysql.sink"),
    _missing("kafka.consumer", "source", "Kafka topic", _KAFKA),
    _missing("kafka.producer", "sink", "Kafka topic", _KAFKA),
    _missing("sql.query", "source", "SQL query", _SQL),
    _missing("sql.query", "transform", "SQL query", _SQL),
    _missing("data.transform", "transform", "Transform", "it was never defined; use map, or a python step"),
    _missing("file.transfer", "sink", "File transfer", "it is no stage; use a shell step with cp or scp"),
)  # fmt: skip


def _by_name() -> dict[str, list[StageType]]:
    found: dict[str, list[StageType]] = {}
    for kind in STAGE_TYPES:
        for name in (kind.node_type, *kind.aliases):
            found.setdefault(name, []).append(kind)
    return found


_NAMED: Final = _by_name()
