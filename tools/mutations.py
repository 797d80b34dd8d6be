"""Every small change of a source file that a test should notice.

A change is an edit of the text, so that its diff is one line and the rest of the file stays. What
cannot alter a result is left alone: docstrings, messages, annotations, what only costs time, the
order of what is compared by `min` or `max`, and conversions for the type checker.
"""

import ast
import difflib
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"), ast.Is: ("is", "is not"), ast.IsNot: (r"is\s+not", "is"),
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: (r"\*\*", "*"),
    ast.BitOr: (r"\|", "&"), ast.BitAnd: ("&", "|"),
}  # fmt: skip
_MESSAGES = {"expected", "warn", "BadParameter", "Argument"}  # calls whose arguments are texts
_WORDS = {"remedy", "wanted", "given", "message", "found", "note", "caption"}
_ONLY_TIME = {"jit", "filter_jit", "cache", "lru_cache", "overload", "dataclass", "contextmanager"}
_ONLY_STRICT = {
    "strict", "encoding", "stacklevel", "description", "help", "metavar", "name",
    "prevent_cse", "optimize",
}  # fmt: skip
_ANY_ORDER = {"min", "max", "minimum", "maximum", "fmin", "fmax"}
_ONLY_TYPE = {"float", "bool", "asarray"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutation:
    """One edit: the bytes from `start` to `end` of a file become `new`."""

    path: Path
    line: int
    kind: str
    start: int
    end: int
    new: str

    def apply(self, text: bytes) -> bytes:
        """The text of the file with the edit."""
        return text[: self.start] + self.new.encode() + text[self.end :]

    def diff(self, text: bytes) -> str:
        """The lines that change, before and after."""
        before, after = (t.decode().splitlines() for t in (text, self.apply(text)))
        lines = difflib.unified_diff(before, after, lineterm="", n=0)
        return "\n".join(line for line in lines if line[:3] not in ("---", "+++"))


def find_mutations(path: Path) -> list[Mutation]:
    """All edits of a file; a few of them may leave no program, see `is_program`."""
    return list(_Source(path, path.read_bytes()).edits())


def draw(key: int, paths: Iterable[Path], number: int) -> list[Mutation]:
    """Some edits of some files, each as likely as any other."""
    found = [each for path in sorted(paths) for each in find_mutations(path)]
    random.Random(key).shuffle(found)
    return list(itertools.islice(filter(is_program, found), number))


def is_program(mutation: Mutation) -> bool:
    """Whether the edit leaves a program, and another one than before."""
    text = mutation.path.read_bytes()
    try:
        return ast.dump(ast.parse(mutation.apply(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


@dataclass(frozen=True)
class _Source:
    path: Path
    text: bytes

    @cached_property
    def lines(self) -> list[int]:
        """Where each line begins, in bytes."""
        return [0, *(match.end() for match in re.finditer(b"\n", self.text))]

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def piece(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end].decode()

    def edits(self) -> Iterator[Mutation]:
        for node in _walk(ast.parse(self.text)):
            for kind, (start, end), new in self._of(node):
                yield Mutation(self.path, node.lineno, kind, start, end, new)

    def _of(self, node: ast.AST) -> Iterator[tuple[str, tuple[int, int], str]]:
        if isinstance(node, ast.Compare):
            pairs = zip([node.left, *node.comparators], node.comparators, strict=False)
            for (left, right), op in zip(pairs, node.ops, strict=True):
                yield from self._operator("comparison", left, right, _COMPARISONS[type(op)])
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            operator = _ARITHMETIC[type(node.op)]
            yield from self._operator("arithmetic", node.left, node.right, operator)
        elif isinstance(node, ast.BoolOp):
            change = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from self._operator("and/or", *node.values[:2], change)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            yield "negation removed", self.span(node), f"({self.piece(node.operand)})"
        elif isinstance(node, ast.Constant):
            if (new := _other_constant(node.value)) is not None:
                yield "constant", self.span(node), new
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.stmt):
            yield from self._of_statement(node)

    def _operator(
        self, kind: str, left: ast.AST, right: ast.AST, change: tuple[str, str]
    ) -> Iterator[tuple[str, tuple[int, int], str]]:
        old, new = change
        between = self.span(left)[1], self.span(right)[0]
        found = re.search(rf"\s{old}\s|{old}", self.text[slice(*between)].decode())
        if found:
            start = between[0] + found.start()
            yield kind, (start, start + len(found[0])), re.sub(old, new, found[0], count=1)

    def _of_call(self, node: ast.Call) -> Iterator[tuple[str, tuple[int, int], str]]:
        plain = [each for each in node.args if not isinstance(each, ast.Starred)]
        called = _called(node)
        single = len(plain) == len(node.args) == 1 and not isinstance(plain[0], ast.GeneratorExp)
        if single and called not in _ONLY_TYPE:
            yield "call removed", self.span(node), f"({self.piece(plain[0])})"
        if len(plain) > 1 and called not in _ANY_ORDER:
            first, second = plain[:2]
            between = self.text[self.span(first)[1] : self.span(second)[0]].decode()
            swapped = f"{self.piece(second)}{between}{self.piece(first)}"
            yield "arguments swapped", (self.span(first)[0], self.span(second)[1]), swapped
        for each in node.keywords:
            if each.arg and each.arg not in _ONLY_STRICT:
                start, end = self.span(each)
                comma = re.match(rb"\s*,\s*", self.text[end:])
                yield "keyword removed", (start, end + (comma.end() if comma else 0)), ""

    def _of_statement(self, node: ast.stmt) -> Iterator[tuple[str, tuple[int, int], str]]:
        if isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield "return nothing", self.span(node.value), "None"
        elif isinstance(node, ast.Raise | ast.AugAssign | ast.Expr | ast.Continue | ast.Break) or (
            isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
        ):
            yield "statement removed", self.span(node), "pass"
        elif isinstance(node, ast.If | ast.While):
            yield "condition", self.span(node.test), f"not ({self.piece(node.test)})"
        elif isinstance(node, _FUNCTIONS):
            for each in node.decorator_list:
                if not _names(each) & _ONLY_TIME:
                    start, end = self.span(each)
                    yield "decorator removed", (start - 1, end), ""


def _other_constant(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        return repr(2.0 * value if value else 1.0)
    return None


def _called(node: ast.Call) -> str:
    """The last word of the name of a function."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _names(node: ast.AST) -> set[str]:
    """The last word of every name in an expression."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose change matters, from the outside in."""
    if _is_text(node):
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    if isinstance(node, ast.Raise):
        return  # its message
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_text(node: ast.AST) -> bool:
    """Words for the reader, imports for a type checker, and arguments that change no result."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in _ONLY_STRICT
    if isinstance(node, ast.If) and "TYPE_CHECKING" in _names(node.test):
        return True
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Name) and each.id in _WORDS for each in node.targets)
    return isinstance(node, ast.Call) and bool(_names(node.func) & _MESSAGES)
