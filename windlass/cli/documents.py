"""A workflow's document in a file: read, checked as text, and saved on the server."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from windlass.cli.ending import InvalidFile
from windlass.core.definition import Definition
from windlass.core.errors import Invalid
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


def is_file(name: str) -> bool:
    """Whether a name on the command line means a file and not a workflow's id."""
    return name == STDIN or os.sep in name or name.endswith(SUFFIXES)


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
    workflow = given.get("id") if isinstance(given, dict) else None
    return Document(
        file=name,
        body=body,
        type="application/json" if as_json else "application/yaml",
        workflow=workflow if isinstance(workflow, str) else "",
    )


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
