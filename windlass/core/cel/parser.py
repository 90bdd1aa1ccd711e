"""Reading an expression. By precedence, so that what is nested is the only thing that recurs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final, get_args

from windlass.core.cel import syntax
from windlass.core.cel.functions import FUNCTIONS
from windlass.core.cel.syntax import Macro, Mistake, Node, Operator
from windlass.core.cel.tokens import Token, tokens

TEXT_MAX: Final = 4_096
NESTING_MAX: Final = 32  # brackets in brackets
HEIGHT_MAX: Final = 100  # parts in parts, brackets or not: a chain of operators counts, too

# What the words of a workflow are; a variable of a loop may not hide one.
ROOTS: Final = ("inputs", "context", "steps", "run", "item", "index")
MACROS: Final[Mapping[str, Macro]] = {macro: macro for macro in get_args(Macro)}
TYPES: Final = ("bool", "int", "double", "string", "list", "map", "null_type")
NAMESPACES: Final = ("math",)
_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "return", "var", "void", "while"),
    )
)
_PRECEDENCE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 1),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys("*/%", 3),
}
_OPERATORS: Final[Mapping[str, Operator]] = {operator: operator for operator in get_args(Operator)}
_CONSTANTS: Final[Mapping[str, bool | None]] = {"null": None, "true": True, "false": False}
_INSTEAD: Final = {
    "and": "write &&",
    "or": "write ||",
    "not": "write !",
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "undefined": "write null",
    "if": "write test ? yes : no",
    "len": "write size(…)",
    "str": "write string(…)",
    "float": "write double(…)",
}
_NOT_HERE: Final = {
    "bytes": "there are no bytes here",
    "uint": "there are no unsigned numbers here; write int(…)",
    "len": "write size(…)",
    "str": "write string(…)",
    "float": "write double(…)",
    "now": "the time would be another one at each retry; write timestamp(run.started_at)",
    "min": "write math.least(…)",
    "max": "write math.greatest(…)",
    "lower": "write lowerAscii()",
    "upper": "write upperAscii()",
    "any": "write exists(x, …)",
}


def parse(text: str) -> Node:
    """The tree of this text. Raises Mistake."""
    if len(text) > TEXT_MAX:
        raise Mistake(f"longer than {TEXT_MAX:,} characters; let a step compute it", TEXT_MAX)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._next: Token = next(self._tokens)
        self._nesting = 0
        self._bound: list[str] = []  # the variables of the loops around

    def whole(self) -> Node:
        if self._ended():
            raise Mistake("there is nothing here; write an expression, such as inputs.day", 0)
        node = self._expression()
        if not self._ended():
            raise Mistake(self._unexpected("an operator"), self._next.at)
        _check_height(node)
        return node

    def _expression(self) -> Node:
        at = self._next.at
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            raise Mistake(f"nested deeper than {NESTING_MAX} levels; let a step compute it", at)
        node = self._logic("||")
        if self._take("?"):
            yes = self._expression()
            self._expect(":", "`:` and what it is otherwise")
            node = syntax.Choice(at, node, yes, self._expression())
        self._nesting -= 1
        return node

    def _logic(self, mark: str) -> Node:
        at = self._next.at
        terms: list[Node] = []
        while not terms or self._take(mark):
            terms.append(self._logic("&&") if mark == "||" else self._binary(1))
        return terms[0] if len(terms) == 1 else syntax.Logic(at, mark == "&&", tuple(terms))

    def _binary(self, level: int) -> Node:
        left = self._unary()
        while (here := _PRECEDENCE.get(self._next.text, 0)) >= level and self._next.kind in ("mark", "name"):
            token = self._advance()
            right = self._binary(here + 1)
            left = syntax.Binary(token.at, _OPERATORS[token.text], left, right)
        return left

    def _unary(self) -> Node:
        """`!` and `-`, any number of one of them: two of a kind undo each other."""
        token = self._next
        if token.kind != "mark" or token.text not in ("!", "-"):
            return self._members()
        count = 0
        while self._take(token.text):
            count += 1
        if token.text == "!":
            node: Node = self._members()
            for _ in range(2 - count % 2):
                node = syntax.Not(token.at, node)
            return node
        if self._next.kind == "int" and count % 2:
            return self._after(self._number(token.at, negative=True))
        node = self._members()
        for _ in range(2 - count % 2):
            node = syntax.Minus(token.at, node)
        return node

    def _members(self) -> Node:
        return self._after(self._primary())

    def _after(self, node: Node) -> Node:
        """Whatever hangs on: `.field`, `.function(…)`, `[key]`."""
        while True:
            at = self._next.at
            if self._take("."):
                if self._next.kind != "name":
                    raise Mistake(self._unexpected("a name after the point"), self._next.at)
                word = self._advance()
                node = self._method(node, word) if self._take("(") else self._select(node, word)
            elif self._take("["):
                key = self._expression()
                self._expect("]", "]")
                node = syntax.Index(at, node, key)
            else:
                return node

    def _select(self, node: Node, word: Token) -> Node:
        return syntax.Select(node.at, node, word.text, word.at)

    def _method(self, node: Node, word: Token) -> Node:
        if word.text in MACROS:
            return self._loop(node, word)
        if isinstance(node, syntax.Name) and node.name in NAMESPACES and node.name not in self._bound:
            return self._call(f"{node.name}.{word.text}", word.at, (), on=False)
        return self._call(word.text, word.at, (node,), on=True)

    def _loop(self, over: Node, word: Token) -> Node:
        variable = self._next
        expected = "a name for the element, such as x in items.map(x, x.id)"
        if variable.kind != "name" or variable.text in _RESERVED or variable.text in _CONSTANTS:
            raise Mistake(self._unexpected(expected), variable.at)
        if variable.text in ROOTS or variable.text in NAMESPACES or variable.text in TYPES:
            raise Mistake(f"`{variable.text}` has a meaning already; choose another name", variable.at)
        self._advance()
        if not self._take(","):
            raise Mistake(self._unexpected(expected), self._next.at)
        self._bound.append(variable.text)
        args = self._arguments()
        self._bound.pop()
        if len(args) != 1 and not (word.text == "map" and len(args) == 2):
            raise Mistake(f"`{word.text}` takes a name and one expression", word.at)
        return syntax.Loop(word.at, MACROS[word.text], over, variable.text, args)

    def _call(self, function: str, at: int, target: tuple[Node, ...], *, on: bool) -> Node:
        args = (*target, *self._arguments())
        known = FUNCTIONS.get(function)
        if known is None or not (known.on if on else known.free):
            raise Mistake(_unknown_function(function, on=on), at)
        if not known.least <= len(args) <= known.most:
            few = "few" if len(args) < known.least else "many"
            raise Mistake(f"too {few} arguments; write {known.usage}", at)
        return syntax.Call(at, function, args, on)

    def _arguments(self) -> tuple[Node, ...]:
        args: list[Node] = []
        while not self._take(")"):
            if args:
                self._expect(",", ", or )")
            args.append(self._expression())
        return tuple(args)

    def _primary(self) -> Node:
        token = self._next
        match token.kind:
            case "name":
                return self._word()
            case "int":
                return self._number(token.at, negative=False)
            case "double":
                self._advance()
                return syntax.Literally(token.at, float(token.text))
            case "text":
                self._advance()
                return syntax.Literally(token.at, token.text)
        if self._take("("):
            node = self._expression()
            self._expect(")", ")")
            return node
        if self._take("["):
            return syntax.ListOf(token.at, self._items("]"))
        if self._take("{"):
            return self._map(token.at)
        raise Mistake(self._unexpected("a value"), token.at)

    def _number(self, at: int, *, negative: bool) -> Node:
        value = int(self._advance().text)
        if not negative and value == 2**63:
            raise Mistake("this number needs more than 64 bit; write it with a point, or as text", at)
        return syntax.Literally(at, -value if negative else value)

    def _word(self) -> Node:
        token = self._advance()
        word = token.text
        if word in _CONSTANTS:
            return syntax.Literally(token.at, _CONSTANTS[word])
        if word in _RESERVED:
            instead = f"; {_INSTEAD[word]}" if word in _INSTEAD else ""
            raise Mistake(f"`{word}` cannot be a name{instead}", token.at)
        if not self._take("("):
            if word in _INSTEAD and word not in self._bound:
                raise Mistake(f"there is no `{word}`; {_INSTEAD[word]}", token.at)
            return syntax.Name(token.at, word)
        if word == "has":
            return self._has(token)
        if word in MACROS:
            raise Mistake(f"`{word}` is called on a list; write items.{word}(x, …)", token.at)
        return self._call(word, token.at, (), on=False)

    def _has(self, token: Token) -> Node:
        args = self._arguments()
        if len(args) == 1 and isinstance(field := args[0], syntax.Select):
            return syntax.Has(token.at, field.of, field.field)
        raise Mistake(
            "`has` asks for a field; write has(inputs.day), or 'a b' in inputs for other keys", token.at
        )

    def _items(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._take(closing):
            if items:
                self._expect(",", f", or {closing}")
                if self._take(closing):
                    break
            items.append(self._expression())
        return tuple(items)

    def _map(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._take("}"):
            if entries:
                self._expect(",", ", or }")
                if self._take("}"):
                    break
            key = self._expression()
            if isinstance(key, syntax.Literally) and not isinstance(key.value, str):
                raise Mistake("the keys of an object are texts; put it in quotes", key.at)
            self._expect(":", "`:` and a value")
            entries.append((key, self._expression()))
        return syntax.MapOf(at, tuple(entries))

    def _ended(self) -> bool:
        return self._next.kind == "end"

    def _advance(self) -> Token:
        token = self._next
        if not self._ended():
            self._next = next(self._tokens)
        return token

    def _take(self, mark: str) -> bool:
        if self._next.kind != "mark" or self._next.text != mark:
            return False
        self._advance()
        return True

    def _expect(self, mark: str, expected: str) -> None:
        if not self._take(mark):
            raise Mistake(self._unexpected(expected), self._next.at)

    def _unexpected(self, expected: str) -> str:
        token = self._next
        if token.kind == "end":
            return f"it ends too early; expected {expected}"
        shown = repr(token.text) if token.kind == "text" else f"`{token.text}`"
        instead = f"; {_INSTEAD[token.text]}" if token.text in _INSTEAD else ""
        return f"expected {expected}, found {shown}{instead}"


def _unknown_function(name: str, *, on: bool) -> str:
    if name in _NOT_HERE:
        return f"there is no function `{name}`; {_NOT_HERE[name]}"
    if (known := FUNCTIONS.get(name)) is not None:
        return f"`{name}` is not called that way; write {known.usage}"
    names = [other for other, function in FUNCTIONS.items() if (function.on if on else function.free)]
    near = difflib.get_close_matches(name[:40], [*names, *(MACROS if on else ("has",))], n=1)
    return f"there is no function `{name[:100]}`" + (f"; did you mean `{near[0]}`?" if near else "")


def _check_height(node: Node) -> None:
    """A tree is walked by functions that call each other: its height is what they need of the stack."""
    level = [node]
    for _ in range(HEIGHT_MAX):
        level = [part for parent in level for part in syntax.children(parent)]
        if not level:
            return
    raise Mistake(f"more than {HEIGHT_MAX} operations hang on each other; let a step compute it", level[0].at)
