"""Writes down the names and fields of all messages, and takes none away: `python -m tests.wire.names`."""

from __future__ import annotations

import json

import msgspec

from tests.wire.test_codec import NAMES
from windlass.wire import codec


def main() -> None:
    golden: dict[str, dict[str, bool]] = json.loads(NAMES.read_text())
    for kind in codec.MESSAGES:
        known = golden.setdefault(kind.__name__, {})
        for field in msgspec.structs.fields(kind):
            known.setdefault(field.encode_name, field.required)
    NAMES.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
