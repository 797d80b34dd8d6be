"""Damage to bytes, to texts and to JSON, drawn from a random generator."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NUMBERS = (
    "", "0", "-0", "1", "-1", "1e999", "-1e999", "1e300", "1e-320", "nan", "inf", "-Infinity",
    "1_000", "0x10", "1,5", "1.2.3", "٣", "½", "１", "1e", "--1", "9" * 400, "1" + "0" * 30, "true",
    "2024-03-01 10:00:00", "10:00", "99999-01-01", "01.02.2024 08:00", "2024-13-45T99:99", "P1D",
)  # fmt: skip
WORDS = (
    "u", "y", "t", "time", "", " ", "  ", "\t", "NA", "null", "None", "#N/A", '"', "'", '""', "\\",
    "=1+1", "@SUM(A1)", "<script>", "</script>", "ü", "日本", "\u202e", "\ufeff", "\x00", "\x1a",
    "\U0001f600", "e\u0301", "a\nb", "a\r\nb", "a;b", "a,b", "0", "1", "-", "%s", "{0}", "../..",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 3, 10**9, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e300, 1e-300,
    -1e300, float("inf"), float("nan"), "", "none", "nan", "Infinity", "x", "\x00", "é" * 9, [], {},
    [1], [None], [[]], {"": 1}, ["a", "a"], {"a": {"b": []}}, [1e308] * 3, "9" * 50,
)  # fmt: skip


def damage(rng: Random, content: bytes) -> bytes:
    """One to four faults of a disk, a wire or a careless program."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(_FAULTS)(rng, content or b"\x00")
    return content


def _flip(rng: Random, content: bytes) -> bytes:
    found = bytearray(content)
    found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _cut(rng: Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def _lose_start(rng: Random, content: bytes) -> bytes:
    return content[rng.randrange(len(content)) :]


def _overwrite(rng: Random, content: bytes) -> bytes:
    at, length = rng.randrange(len(content)), rng.choice([1, 2, 4, 8, 64])
    new = rng.choice([rng.randbytes(length), b"\x00" * length, b"\xff" * length])
    return content[:at] + new + content[at + length :]


def _insert(rng: Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.randbytes(rng.choice([1, 3, 8, 100])) + content[at:]


def _repeat(rng: Random, content: bytes) -> bytes:
    begin, end = sorted(rng.randrange(len(content) + 1) for _ in "ab")
    return content[:end] + content[begin:end] * rng.choice([1, 2, 10]) + content[end:]


def _remove(rng: Random, content: bytes) -> bytes:
    begin, end = sorted(rng.randrange(len(content) + 1) for _ in "ab")
    return content[:begin] + content[end:]


def _swap(rng: Random, content: bytes) -> bytes:
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in "abc")
    return content[:a] + content[b:c] + content[a:b] + content[c:]


_FAULTS: Sequence[Callable[[Random, bytes], bytes]] = (
    _flip, _flip, _cut, _lose_start, _overwrite, _overwrite, _insert, _repeat, _remove, _swap,
)  # fmt: skip


def splice(rng: Random, one: bytes, other: bytes) -> bytes:
    """The start of a file and the end of another."""
    return one[: rng.randrange(len(one) + 1)] + other[rng.randrange(len(other) + 1) :]


def edit_text(rng: Random, text: str) -> str:
    """One to three edits by lines and cells, as of a careless hand or another program."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        text = rng.choice(_EDITS)(rng, text)
    return text


def _replace_cell(rng: Random, text: str) -> str:
    lines = text.split("\n")
    row = rng.randrange(len(lines))
    mark = next((mark for mark in ",;\t =" if mark in lines[row]), ",")
    cells = lines[row].split(mark)
    cells[rng.randrange(len(cells))] = _token(rng)
    lines[row] = mark.join(cells)
    return "\n".join(lines)


def _token(rng: Random) -> str:
    if rng.random() < 0.01:
        return rng.choice("a1\"' ") * 100_000  # a very long cell
    return rng.choice(rng.choice([NUMBERS, WORDS]))


def _edit_line(rng: Random, text: str) -> str:
    lines = text.split("\n")
    row = rng.randrange(len(lines))
    lines[row : row + 1] = rng.choice([[], [lines[row]] * 2, [""], [lines[-1]], [_token(rng)]])
    return "\n".join(lines)


def _other_mark(rng: Random, text: str) -> str:
    old, new = rng.choice(",;\t\n. "), rng.choice([",", ";", "\t", " ", "|", "\r\n", "\r", ".", ""])
    return text.replace(old, new, rng.choice([-1, -1, 1, 5]))


def _insert_word(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + _token(rng) + text[at:]


def _drop_start(rng: Random, text: str) -> str:
    return text.split("\n", rng.choice([1, 1, 2, 40]))[-1]


def _preamble(rng: Random, text: str) -> str:
    return "\n".join([rng.choice(["# made by hand", "", "sep=;", "Date,2024", '"']), text])


_EDITS: Sequence[Callable[[Random, str], str]] = (
    _replace_cell, _replace_cell, _replace_cell, _edit_line, _edit_line, _other_mark, _insert_word,
    _drop_start, _preamble,
)  # fmt: skip


def encode(rng: Random, text: str) -> bytes:
    """Mostly UTF-8; sometimes what another system writes."""
    odd = ("utf-16", "latin-1", "utf-8-sig", "utf-32", "cp1252")
    encoding = "utf-8" if rng.random() < 0.85 else rng.choice(odd)
    return text.encode(encoding, errors="replace")


def edit_json(rng: Random, content: Any, odd: Sequence[Any] = ODD) -> Any:
    """A copy with one entry replaced, removed, renamed or added."""
    if isinstance(content, dict) and content and rng.random() < 0.9:
        key = rng.choice(sorted(content))
        if rng.random() < 0.75:
            return {**content, key: edit_json(rng, content[key], odd)}
        others = {name: each for name, each in content.items() if name != key}
        return rng.choice([others, {**content, "x": 1}, {**others, f"{key} ": content[key]}])
    if isinstance(content, list) and content and rng.random() < 0.7:
        at = rng.randrange(len(content))
        return [*content[:at], edit_json(rng, content[at], odd), *content[at + 1 :]]
    return rng.choice(odd)
