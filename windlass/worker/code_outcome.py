"""How a program ended, as the outcome of its step."""

from __future__ import annotations

import base64
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

import msgspec

from windlass.core import durations, sizes
from windlass.core.task import VALUE_BYTES_MAX, Failure, Json, Outcome, Success
from windlass.worker.compiling import Facts
from windlass.worker.executors import DETAIL_BYTES_MAX, signal_name
from windlass.worker.masking import Mask
from windlass.worker.sandbox import Limits, Ran
from windlass.worker.toolchains import Installed

EXCEEDED: Final = {
    "timeout": "TimeLimit",
    "cpu": "CpuLimit",
    "memory": "MemoryLimit",
    "disk": "DiskLimit",
    "output": "OutputLimit",
}
# How the kernel tells a program that it has gone beyond a limit.
SIGNALS: Final[dict[int, str]] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "disk"}
DETAIL_CHARACTERS: Final = 4000  # of each stream in a failure's detail
VALUE_CHARACTERS: Final = (500_000, 100_000)  # of each stream where all of them are too much for a value
WORDS_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a program beside how it ran."""

    installed: Installed
    tier: str
    mask: Mask
    compiled: Facts | None = None


def outcome_of(ran: Ran, about: About, limits: Limits) -> Outcome:
    if ran.how == "not_started":
        return not_started(ran)
    exceeded = SIGNALS.get(ran.code, "") if ran.how == "signalled" else ""
    if ran.how not in ("exited", "signalled"):
        exceeded = ran.how
    value = _value(ran, exceeded, about)
    if exceeded:
        return _failure(EXCEEDED[exceeded], _beyond(exceeded, limits), value)
    if ran.how == "signalled":
        return _failure("Signal", f"was killed by {signal_name(ran.code)}", value)
    if ran.code != 0:
        last = _last_line(value["stderr"])
        return _failure("ExitCode", f"exited with {ran.code}" + (f": {last}" if last else ""), value)
    if (size := len(msgspec.json.encode(value))) > VALUE_BYTES_MAX:
        words = f"what it left has {size:,} bytes as JSON; at most {VALUE_BYTES_MAX:,} can be kept"
        return _failure("OutputLimit", words, {**value, "exceeded": "output"})
    return Success(value)


def not_started(ran: Ran) -> Failure:
    """Another worker, or the same a moment later, may have more luck."""
    words = f"the sandbox did not start: {ran.detail or 'no reason is known'}"
    return Failure("SandboxFailed", words, elsewhere=True)


def compile_failure(ran: Ran, about: About, missing: Sequence[str]) -> Failure:
    """The value is that of the compiler: what it printed, and how it ended."""
    if ran.how == "not_started":
        return not_started(ran)
    installed = about.installed
    said = b"\n".join(part for part in (ran.stderr.strip(), ran.stdout.strip()) if part)
    words = _text(said, len(said), about.mask)  # masked before anything is cut
    message = _complaint(ran, words, installed.language.file, missing)
    exceeded = ran.how if ran.how in EXCEEDED else ""
    facts = Facts(cached=False, time_s=ran.wall_s)
    value = _value(replace(ran, files={}), exceeded, replace(about, compiled=facts))
    return Failure(
        "CompileError",
        f"{installed.name} {installed.version}: {message[:WORDS_CHARACTERS]}",
        detail=words.encode()[:DETAIL_BYTES_MAX].decode(errors="ignore"),
        retryable=False,
        value=_fitting(value),
    )


def _complaint(ran: Ran, words: str, file: str, missing: Sequence[str]) -> str:
    """The line that says most. Not every compiler calls an error so; then it names at least the file."""
    limits = "the compiler went beyond its limit of"
    match ran.how:
        case "exited" if ran.code == 0:
            return f"the compiler left no {', '.join(missing)}"
        case "exited":
            lines = [line.strip() for line in words.splitlines()]
            telling = [line for line in lines if "error" in line.lower()]
            telling += [line for line in lines if f"{file}:" in line]
            return next(iter(telling), "") or _first_line(words) or f"the compiler exited with {ran.code}"
        case "signalled":
            return f"the compiler was killed by {signal_name(ran.code)}"
        case "timeout":
            return f"{limits} time"
        case "cpu":
            return f"{limits} processor time"
        case "memory" | "disk" | "output":
            return f"{limits} {ran.how}"
        case "not_started":
            return "the compiler did not start"
        case _:
            assert_never(ran.how)


def _value(ran: Ran, exceeded: str, about: About) -> dict[str, Json]:
    value: dict[str, Json] = {
        "stdout": _text(ran.stdout, ran.stdout_bytes, about.mask),
        "stderr": _text(ran.stderr, ran.stderr_bytes, about.mask),
        "exitCode": ran.code if ran.how == "exited" else None,
        "timeS": round(ran.wall_s, 4),
        "cpuS": round(ran.cpu_s, 4),
        "peakBytes": ran.peak_bytes,
        "tier": about.tier,
        "protections": msgspec.structs.asdict(ran.protections),
        "language": about.installed.name,
        "version": about.installed.version,
    }
    if ran.how == "signalled":
        value["signal"] = signal_name(ran.code)
    if exceeded:
        value["exceeded"] = exceeded
    if about.compiled is not None:
        value["compile"] = {"cached": about.compiled.cached, "timeS": round(about.compiled.time_s, 4)}
    if ran.files:
        value["files"] = {name: _content(raw) for name, raw in ran.files.items()}
    return value


def _failure(type: str, message: str, value: Mapping[str, Json]) -> Failure:
    """With all that it left; in the detail, the end of what it printed. The step says what then."""
    ends = (end for end in _ends(value, DETAIL_CHARACTERS).values() if end)
    raw = "\n".join(end.rstrip("\n") for end in ends).encode()
    return Failure(
        type, message, detail=raw[-DETAIL_BYTES_MAX:].decode(errors="ignore"), value=_fitting(value)
    )


def _fitting(value: Mapping[str, Json]) -> dict[str, Json]:
    """As much of it as a value may hold: what is too much is first the files, then what it printed first."""
    fit = dict(value)
    if len(msgspec.json.encode(fit)) > VALUE_BYTES_MAX:
        fit.pop("files", None)
    for characters in VALUE_CHARACTERS:
        if len(msgspec.json.encode(fit)) > VALUE_BYTES_MAX:
            fit |= _ends(value, characters)
    return fit


def _ends(value: Mapping[str, Json], characters: int) -> dict[str, str]:
    return {name: _end(value[name], characters) for name in ("stdout", "stderr")}


def _beyond(exceeded: str, limits: Limits) -> str:
    match exceeded:
        case "timeout":
            return f"took longer than {durations.show(limits.wall_s)}"
        case "cpu":
            return f"used more than {durations.show(limits.cpu_s)} of processor time"
        case "memory":
            return f"used more than {sizes.show(limits.memory_bytes)} of memory"
        case "disk":
            return f"wrote more than {sizes.show(limits.disk_bytes)} to disk"
        case _:
            return f"printed more than {sizes.show(limits.output_bytes)}"


def _text(raw: bytes, total: int, mask: Mask) -> str:
    """As text that every journal can hold. What was cut may end with half a secret: that is left out."""
    text = raw.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not mask:
        return text
    return mask.between(text, 0, max(0, len(text) - mask.reach) if total > len(raw) else None)


def _content(raw: bytes) -> Json:
    """A text, or its bytes in base64: as files are given to a step."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = "\0"
    return {"base64": base64.b64encode(raw).decode()} if "\0" in text else text


def _end(text: str, characters: int) -> str:
    cut = len(text) - characters
    return f"[{cut} characters cut]\n{text[cut:]}" if cut > 0 else text


def _last_line(text: str) -> str:
    lines = text[-2000:].strip().splitlines()
    return lines[-1].strip()[:WORDS_CHARACTERS] if lines else ""


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else ""
