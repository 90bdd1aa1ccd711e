"""What somebody who sends a program says, and the run that it becomes: one step of kind `code`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.core import callback_url, code_step, durations, secret_refs
from windlass.core.faults import Faults, found, join
from windlass.core.fields import Fields
from windlass.core.needs import language_of
from windlass.core.step_fields import PRIORITY_MAX
from windlass.core.task import Json
from windlass.core.task_fold import STEP, TIMEOUT_S, WORKFLOW

KEYS: Final = (
    "language", "version", "code", "stdin", "files", "outputs", "resourceLimit", "protections", "priority",
    "metadata", "callbackUrl", "callbackSecret", "retries", "queueTimeout", "cache",
)  # fmt: skip
# By the names of the step that has them.
LIMITS: Final = {
    "timeout": "timeout",
    "memory": "memory",
    "cpu": "cores",
    "processes": "processes",
    "openFiles": "open_files",
    "disk": "disk",
    "inodes": "inodes",
    "output": "output",
    "network": "network",
}
PROGRAM: Final = ("language", "version", "code", "stdin", "files", "outputs", "protections")

LABEL: Final = "windlass:language"  # which every task has
RESERVED: Final = "windlass:"
# For compiling, and for what is on its way: a step is given up only if its worker does not answer.
GRACE_S: Final = 90.0
SLACK_S: Final = 0.5
QUEUE_TIMEOUT_S: Final = 600.0
QUEUE_TIMEOUT_MAX_S: Final = 7 * 86_400.0
RETRIES_MAX: Final = 10
LOSSES_MAX: Final = 3  # workers that may be lost with it
METADATA_BYTES_MAX: Final = 16 * 1024
CACHE_S: Final = 3600.0
CACHE_MAX_S: Final = 86_400.0

_NUMBER: Final = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class CodeRequest:
    language: str = ""  # by its one name
    program: dict[str, Json] = field(default_factory=dict)  # as the step has it, without limits
    limits: dict[str, Json] = field(default_factory=dict)  # as the step has them, as far as they were said
    timeout_s: float = TIMEOUT_S
    priority: int = 0
    metadata: dict[str, Json] = field(default_factory=dict)
    callback: str = ""
    callback_secret: str = ""
    retries: int = 0
    queue_timeout_s: float = QUEUE_TIMEOUT_S
    cache_s: float = 0.0  # how old a result of the same program may be; 0: it is run anew

    @property
    def labels(self) -> dict[str, str]:
        texts = {name: value for name, value in self.metadata.items() if isinstance(value, str)}
        return {**texts, LABEL: self.language}

    @property
    def modest(self) -> bool:
        """Whether any worker will do that knows the language, also one that knows of no limits."""
        return not self.limits and not any(self.program.get(key) for key in ("files", "outputs"))

    def document(self, *, limited: bool = True) -> dict[str, Json]:
        """The run's own document. `limited`: under limits, the usual ones where none were said."""
        limits = {"timeout": durations.show(self.timeout_s), **self.limits}
        step = {
            "kind": "code",
            "with": {**self.program, "limits": limits} if limited else self.program,
            "timeout": durations.show(self.timeout_s + GRACE_S),
            "retry": {"attempts": 1 + self.retries},
            "on_lost": LOSSES_MAX,
        }
        return {
            "id": WORKFLOW,
            "queue_timeout": durations.show(self.queue_timeout_s),
            "steps": {STEP: step},
        }

    def content(self) -> bytes:
        """All that decides what comes out of it, as bytes."""
        return msgspec.json.encode([self.program, self.limits, self.timeout_s], order="sorted")


def read(given: object, faults: Faults) -> CodeRequest:
    """Adds a fault for each mistake, with its place. Only without any is the answer of use."""
    if not isinstance(given, dict):
        faults.add(
            "", f'expected an object such as {{"language": "python", "code": …}}, found {found(given)}'
        )
        return CodeRequest()
    # Null is as good as leaving it out.
    fields = Fields({name: value for name, value in given.items() if value is not None}, "", faults, KEYS)
    said: dict[str, Json] = {key: fields.given[key] for key in PROGRAM if key in fields.given}
    step = code_step.read(Fields(said, "", faults, PROGRAM))
    limits, timeout_s = _limits(fields)
    retries = fields.whole("retries", low=0, high=RETRIES_MAX)
    return CodeRequest(
        language=step.language,
        program={**said, "language": language_of(step.language)},
        limits=limits,
        timeout_s=timeout_s,
        priority=fields.whole("priority", low=-PRIORITY_MAX, high=PRIORITY_MAX) or 0,
        metadata=_metadata(fields),
        callback=_callback(fields),
        callback_secret=_callback_secret(fields),
        retries=retries or 0,
        queue_timeout_s=_within(fields, "queueTimeout", QUEUE_TIMEOUT_MAX_S) or QUEUE_TIMEOUT_S,
        cache_s=_cache(fields),
    )


def _limits(fields: Fields) -> tuple[dict[str, Json], float]:
    """As the step has them; and the longest that the program may take."""
    members = fields.members("resourceLimit", 'an object such as {"timeout": "30s", "memory": "256MB"}') or {}
    at = fields.pointer("resourceLimit")
    inner = Fields(
        {name: value for name, value in members.items() if value is not None}, at, fields.faults, LIMITS
    )
    said = {LIMITS[name]: value for name, value in inner.given.items() if name in LIMITS}
    if "cores" in said:
        said["cores"] = _cores(said["cores"])
    mistakes = Faults()
    asked = code_step.limits(said, at, mistakes)
    for mistake in mistakes.listed:
        fields.faults.add(_as_written(mistake.pointer), mistake.message)
    timeout_s = asked.timeout_s or TIMEOUT_S
    if asked.cores is not None:
        said["cpu"] = durations.show(_processor_s(asked.cores, timeout_s))
    return said, timeout_s


def _cores(given: Json) -> Json:
    """A number, which the seed writes as text."""
    return float(given) if isinstance(given, str) and _NUMBER.fullmatch(given) else given


def _processor_s(cores: float, timeout_s: float) -> float:
    """What so many processors can do in that time; a little more, so that time is over before work is."""
    _, high = code_step.DURATION_S
    return min(high, round(cores * timeout_s + SLACK_S, 3))


def _as_written(pointer: str) -> str:
    """Back to the names that the request has."""
    parent, _, name = pointer.rpartition("/")
    written = {ours: theirs for theirs, ours in LIMITS.items()}
    return f"{parent}/{written.get(name, name)}"


def _metadata(fields: Fields) -> dict[str, Json]:
    given = fields.members("metadata", 'an object such as {"userId": "user_123"}') or {}
    for name in given:
        if name.startswith(RESERVED):
            place = join(fields.pointer("metadata"), name)
            fields.faults.add(place, f"names that begin with {RESERVED} are ours; call it otherwise")
    if len(msgspec.json.encode(given)) > METADATA_BYTES_MAX:
        fields.wrong("metadata", f"it may take {METADATA_BYTES_MAX:,} bytes as JSON")
    return given


def _callback(fields: Fields) -> str:
    url = fields.text("callbackUrl", "an address such as https://example.org/done") or ""
    if url and (flaw := callback_url.fault(url)) is not None:
        fields.wrong("callbackUrl", flaw)
    return url


def _callback_secret(fields: Fields) -> str:
    name = fields.text("callbackSecret", "the name of a secret") or ""
    if name and not secret_refs.is_name(name):
        fields.wrong("callbackSecret", "a secret has a name of letters, digits, _ and -, at most 64")
    if name and not fields.has("callbackUrl"):
        fields.wrong("callbackSecret", "there is nothing to sign without `callbackUrl`")
    return name


def _cache(fields: Fields) -> float:
    match fields.given.get("cache", False):
        case bool() as wanted:
            return CACHE_S if wanted else 0.0
        case _:
            return _within(fields, "cache", CACHE_MAX_S) or 0.0


def _within(fields: Fields, key: str, most_s: float) -> float | None:
    seconds = fields.duration(key)
    if seconds is not None and not 0 < seconds <= most_s:
        fields.wrong(key, f"it is more than nothing, and at most {durations.show(most_s)}")
        return None
    return seconds
