"""What `windlass up` says of the workflows it brings along."""

from __future__ import annotations

import pytest

from windlass.cli import documents, welcome
from windlass.cli.documents import Document
from windlass.cli.ending import InvalidFile
from windlass.core.errors import Fault, Invalid
from windlass.sdk.client import Applied, Client


def test_why_a_workflow_is_not_saved_is_told_with_its_faults(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(server: Client, found: Document) -> Applied:
        faults = [Fault("/id", "call it otherwise"), Fault("/steps", "write one")]
        raise InvalidFile(found.file, Invalid("the workflow has 2 faults", faults))

    monkeypatch.setattr(documents, "save", refuse)
    with Client("http://127.0.0.1:9") as server:
        welcome.bring(server, [Document("app.py", b"", "application/json", "w")], quiet=True)
    (line,) = caplog.records
    assert vars(line)["reason"] == "the workflow has 2 faults; call it otherwise; write one"
