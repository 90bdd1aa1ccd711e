"""A workflow's document in a file: read, checked as text, and saved on the server."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from windlass.cli import app_files
from windlass.cli.app_files import AppWorkflow
from windlass.cli.ending import InvalidFile
from windlass.core import document as documents
from windlass.core import graph
from windlass.core.definition import Definition
from windlass.core.errors import Invalid
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.gateway import written
from windlass.gateway.text import Kind, parse_on
from windlass.sdk.client import Applied, Client, DocumentType

SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Document:
    file: str
    body: bytes
    type: DocumentType
    workflow: str  # empty if it says none; the server will say so
    inputs: dict[str, Json] = field(default_factory=dict)  # as it declares them


def is_file(name: str) -> bool:
    """Whether a name on the command line means a file and not a workflow's id."""
    return name == STDIN or os.sep in name or name.endswith(SUFFIXES)


def read_all(file: str) -> list[Document]:
    """A file of Python may hold several. Raises InvalidFile, or a usage error if there is no such file."""
    if file.endswith(app_files.SUFFIX):
        return [of_app(file, workflow) for workflow in app_files.compiled(file)]
    return [read(file)]


def of_app(file: str, workflow: AppWorkflow) -> Document:
    body = json.dumps(workflow.document, ensure_ascii=False).encode()
    return Document(file, body, "application/json", workflow.id, workflow.document.get("inputs", {}))


def read(file: str) -> Document:
    """Raises InvalidFile, or a usage error if there is no such file."""
    try:
        body = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from None
    name = "stdin" if file == STDIN else file
    as_json = file.endswith(".json")
    try:
        given = parse_on(body, kind="json" if as_json else "yaml").document
    except Invalid as error:
        raise InvalidFile(name, error) from None
    meant = graph.meant(given, Faults()).document if isinstance(given, dict) else {}
    workflow, inputs = meant.get("id"), meant.get("inputs")
    return Document(
        file=name,
        body=body,
        type="application/json" if as_json else "application/yaml",
        workflow=workflow if isinstance(workflow, str) else "",
        inputs=inputs if isinstance(inputs, dict) else {},
    )


def definitions(file: str) -> list[Definition]:
    """The same for a file that may hold several."""
    if not file.endswith(app_files.SUFFIX):
        return [definition(file)]
    return [documents.read(workflow.document) for workflow in app_files.compiled(file)]


def definition(file: str) -> Definition:
    """What the document in a file means. Raises InvalidFile with all its faults, each with its place."""
    found = read(file)
    try:
        return written.read(found.body, kind=_kind(found.type)).definition
    except Invalid as error:
        raise InvalidFile(found.file, error) from None


def save(server: Client, found: Document) -> Applied:
    """Raises InvalidFile for a document that is not sound; nothing is stored then."""
    try:
        return server.apply(found.workflow, found.body, found.type)
    except Invalid as error:
        raise InvalidFile(found.file, error) from None


def describe(applied: Applied) -> str:
    match applied.outcome:
        case "created":
            return "created"
        case "changed":
            return f"version {applied.version}"
        case "unchanged":
            return f"unchanged (version {applied.version})"


def _kind(type: DocumentType) -> Kind:
    return "json" if type == "application/json" else "yaml"
