"""What an expression is read into: a tree, each part with its place in the text."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec

Operator = Literal["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in"]
Macro = Literal["all", "exists", "exists_one", "map", "filter"]


class Mistake(Exception):
    """The text is no expression."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"at character {position + 1}: {message}")
        self.message = message
        self.position = position  # 0-based, into the text of the expression


class Part(msgspec.Struct, frozen=True):
    at: int


class Literally(Part, frozen=True):
    value: bool | int | float | str | None


class Name(Part, frozen=True):
    name: str


class Select(Part, frozen=True):
    of: Node
    field: str
    field_at: int


class Has(Part, frozen=True):
    of: Node
    field: str


class Index(Part, frozen=True):
    of: Node
    key: Node


class Call(Part, frozen=True):
    """`function(…)`, or `target.function(…)` where the first of `args` is the target."""

    function: str
    args: tuple[Node, ...]
    on: bool  # whether it was called on its first argument


class ListOf(Part, frozen=True):
    items: tuple[Node, ...]


class MapOf(Part, frozen=True):
    entries: tuple[tuple[Node, Node], ...]


class Not(Part, frozen=True):
    of: Node


class Minus(Part, frozen=True):
    of: Node


class Binary(Part, frozen=True):
    operator: Operator
    left: Node
    right: Node


class Logic(Part, frozen=True):
    """All (`&&`) or any (`||`) of the terms."""

    every: bool
    terms: tuple[Node, ...]


class Choice(Part, frozen=True):
    test: Node
    yes: Node
    no: Node


class Loop(Part, frozen=True):
    """`over.macro(variable, args…)`."""

    macro: Macro
    over: Node
    variable: str
    args: tuple[Node, ...]


Node = (
    Literally
    | Name
    | Select
    | Has
    | Index
    | Call
    | ListOf
    | MapOf
    | Not
    | Minus
    | Binary
    | Logic
    | Choice
    | Loop
)


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Literally() | Name():
            return ()
        case Select() | Has() | Not() | Minus():
            return (node.of,)
        case Index():
            return node.of, node.key
        case Call():
            return node.args
        case ListOf():
            return node.items
        case MapOf():
            return tuple(part for entry in node.entries for part in entry)
        case Binary():
            return node.left, node.right
        case Logic():
            return node.terms
        case Choice():
            return node.test, node.yes, node.no
        case Loop():
            return node.over, *node.args
        case _:
            assert_never(node)
