"""How an engine's log looks: one line each, for people or for programs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

from windlass.config import LogFormat
from windlass.core.task import Json

# What every record has; all else was given as `extra`.
USUAL: Final = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"}
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
# Said by default: that it started, what it found, that it stopped.
ALWAYS: Final = "windlass.serve"


def set_up_log(format: LogFormat, verbose: int) -> None:
    """Send the log to standard error. What programs read there by default, people are told by `up`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logging.basicConfig(level=LEVELS[min(verbose, 2)], handlers=[handler], force=True)
    if format == "json" and verbose == 0:
        logging.getLogger(ALWAYS).setLevel(logging.INFO)
    # Its DEBUG tells of every slow callback; of requests our own log tells.
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


class JsonLines(logging.Formatter):
    """One object per line: at, level, logger, message, and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Json] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in fields(record).items() if name not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        extra = "".join(f"  {name}={value}" for name, value in fields(record).items())
        return super().formatMessage(record) + extra


def fields(record: logging.LogRecord) -> dict[str, Json]:
    return {name: value for name, value in record.__dict__.items() if name not in USUAL}
