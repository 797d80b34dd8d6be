"""The elements of a MAT file before v7.3, checked against the file before SciPy reads them.

SciPy believes what an element says of its type and size: a damaged one takes the memory, or ends
the process. A file is a sequence of elements, each with a tag (type, bytes). An array is an element
that holds others: its class, its dimensions, its name, and the values.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import scipy.io

_V5, _HEADER = 1, 128  # what SciPy calls the version of v5; bytes before its first element
_TAG, _CHUNK = 8, 2**16
_ARRAY, _COMPRESSED, _UINT32 = 14, 15, 6
_SPARSE = 5  # a class of arrays
# Elements of an array before its values, and of the values, for classes that hold numbers or text.
_BEFORE, _VALUES = 3, {4: 1, _SPARSE: 3, **dict.fromkeys(range(6, 16), 1)}
_COMPLEX = 0x0800  # a flag beside the class: another element has the imaginary part
_KNOWN = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 16, 17, 18}  # types of elements
_DEEPEST = 50  # arrays in arrays
_V4_HEADER, _V4_BYTES = 20, (8, 4, 4, 2, 2, 1)  # of a value, by its type
_LONGEST_NAME = 4096


class _Tag(NamedTuple):
    kind: int
    size: int  # bytes of the content
    small: bytes | None  # the content, where it stands in the tag itself


class _Unpacked:
    """The bytes of a compressed element, a piece at a time."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size
        self._unpack, self._ready = zlib.decompressobj(), b""

    def read(self, count: int) -> bytes:
        """As many bytes as are asked for; fewer only at the end."""
        while len(self._ready) < count and (packed := self._next()):
            self._ready += self._unpack.decompress(packed, _CHUNK)
        found, self._ready = self._ready[:count], self._ready[count:]
        return found

    def _next(self) -> bytes:
        if self._unpack.unconsumed_tail:
            return self._unpack.unconsumed_tail
        packed = self._file.read(min(_CHUNK, self._left))
        self._left -= len(packed)
        return packed


def declared_sizes(path: Path) -> list[int]:
    """Bytes of each array in memory as a sound file declares them; ValueError if it is damaged."""
    is_v5 = scipy.io.matlab.matfile_version(path)[0] == _V5
    with path.open("rb") as file:
        return list(_check_v5(file) if is_v5 else _check_v4(file, path.stat().st_size))


def _check_v5(file: BinaryIO) -> Iterator[int]:
    order = "<" if file.read(_HEADER)[-2:] == b"IM" else ">"
    while start := file.read(_TAG):
        kind, size = struct.unpack(f"{order}II", _whole(start, _TAG))
        following = file.tell() + size
        stream: BinaryIO | _Unpacked = file
        if kind == _COMPRESSED:
            stream = _Unpacked(file, size)
            kind, size = struct.unpack(f"{order}II", _whole(stream.read(_TAG), _TAG))
        if kind != _ARRAY:
            raise ValueError(f"an element of type {kind} where an array should begin")
        _check_array(stream, size, order, depth=0)
        yield size
        file.seek(following)


def _check_array(stream: BinaryIO | _Unpacked, size: int, order: str, depth: int) -> None:
    """Read to the end of an array of this size, whose content must fit into it."""
    if depth > _DEEPEST:
        raise ValueError(f"arrays in arrays, more than {_DEEPEST} deep")
    left, place, flags = size, 0, 0
    while left >= _TAG:
        tag, used = _read_tag(stream, order)
        left -= used
        if tag.kind not in _KNOWN or tag.size > (left if tag.small is None else 4):
            raise ValueError(f"an element of type {tag.kind} and {tag.size} bytes")
        if tag.kind == _ARRAY:
            if place < _BEFORE or flags & 0xFF in _VALUES:
                raise ValueError(f"an array in one with flags {flags:#x}")
            _check_array(stream, tag.size, order, depth + 1)
        else:
            content = _content(stream, tag, keep=place < 2)
            if place == 0:
                flags = _flags(tag, content, order)
            if place == 1:
                _check_dimensions(content, order, flags & 0xFF, size)
        left -= 0 if tag.small is not None else min(tag.size + -tag.size % 8, left)
        place += 1
    _check_number(flags, place)


def _read_tag(stream: BinaryIO | _Unpacked, order: str) -> tuple[_Tag, int]:
    """A tag, and its bytes. A small element has its size in the upper half, and its content."""
    start = _whole(stream.read(_TAG), _TAG)
    kind, size = struct.unpack(f"{order}II", start)
    if small := kind >> 16:
        return _Tag(kind & 0xFFFF, small, start[4 : 4 + small]), _TAG
    return _Tag(kind, size, None), _TAG


def _content(stream: BinaryIO | _Unpacked, tag: _Tag, keep: bool) -> bytes:
    """The content of an element, which is read in pieces and kept only where it is needed."""
    if tag.small is not None:
        return tag.small
    kept, left = b"", tag.size + -tag.size % 8
    while left and (piece := stream.read(min(left, _CHUNK))):
        kept, left = kept + piece if keep else kept, left - len(piece)
    if left > -tag.size % 8:  # the last one may lack what fills it up
        raise ValueError("the file ends in an element")
    return kept[: tag.size]


def _check_dimensions(content: bytes, order: str, kind: int, size: int) -> None:
    """An array has at least a byte for each of its values; a sparse one has fewer of them."""
    lengths = struct.unpack(f"{order}{len(content) // 4}i", content[: len(content) // 4 * 4])
    if kind != _SPARSE and (min(lengths, default=0) < 0 or math.prod(lengths) > size):
        raise ValueError(f"an array of shape {lengths} in {size} bytes")


def _flags(tag: _Tag, content: bytes, order: str) -> int:
    if tag.kind != _UINT32 or len(content) != 8:
        raise ValueError(f"an array that begins with type {tag.kind} and {tag.size} bytes")
    return int(struct.unpack(f"{order}I", content[:4])[0])


def _check_number(flags: int, elements: int) -> None:
    """SciPy would look for what is missing in the array that follows."""
    values = _VALUES.get(flags & 0xFF)
    if values and elements < _BEFORE + values + bool(flags & _COMPLEX):
        raise ValueError(f"an array with flags {flags:#x} of {elements} elements")


def _check_v4(file: BinaryIO, size: int) -> Iterator[int]:
    while start := file.read(_V4_HEADER):
        kind, rows, columns, imaginary, name = _v4_header(_whole(start, _V4_HEADER))
        value = _V4_BYTES[kind // 10 % 10] if kind // 10 % 10 < len(_V4_BYTES) else 8
        content = value * rows * columns * (2 if imaginary else 1)
        if min(rows, columns, name) < 0 or name > _LONGEST_NAME:
            raise ValueError(f"an array of shape {(rows, columns)} with a name of {name} letters")
        if file.tell() + name + content > size:
            raise ValueError(f"an array of shape {(rows, columns)} that is cut off")
        yield content
        file.seek(name + content, 1)


def _v4_header(start: bytes) -> tuple[int, ...]:
    """Type, rows, columns, whether it is complex, length of the name; in the order of SciPy."""
    found = struct.unpack("<5i", start)
    return found if 0 <= found[0] <= 5000 else struct.unpack(">5i", start)


def _whole(piece: bytes, size: int) -> bytes:
    if len(piece) < size:
        raise ValueError("the file ends in an element")
    return piece
