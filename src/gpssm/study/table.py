"""The table of a study: a folder of small Parquet files that reads as one table.

What finishes together is one file, written under a name that readers pass over and renamed when it
is whole. So a stop at any moment leaves no half row, nothing that was written is ever touched
again, and no writer waits for another.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .settings import OBJECTIVES, Range, Study, Values
from .space import Chosen
from .trials import Row, as_text

_KEY = (("configuration", pa.int64()), ("dataset", pa.string()), ("seed", pa.int64()))
_FOUND = (
    *((name, pa.float64()) for name in OBJECTIVES),
    ("best_step", pa.int64()),
    ("seconds", pa.float64()),
    ("error", pa.string()),
    ("finished", pa.timestamp("us", tz="UTC")),
    ("settings", pa.string()),
)


class Trials:
    """The rows of all finished trials below one folder."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder = folder
        searched = [(name, _type(values)) for name, values in study.search.space.items()]
        self._schema = pa.schema([*_KEY, *searched, *_FOUND])

    def append(self, rows: Sequence[Row]) -> Path:
        """Write what has finished together. The same trials again take the place of the old."""
        self.folder.mkdir(parents=True, exist_ok=True)
        first = rows[0]
        path = self.folder / f"{first['dataset']}-{first['configuration']:06d}.parquet"
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                pq.write_table(pa.Table.from_pylist(self._plain(rows), self._schema), file)
                file.flush()
                os.fsync(file.fileno())  # the content before the name, even if the power goes
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def read(self) -> pd.DataFrame:
        """All rows, in the order of their configurations; an empty table where there are none."""
        if not self.folder.is_dir() or not any(self.folder.glob("*.parquet")):
            return self._schema.empty_table().to_pandas()
        table = pq.read_table(self.folder, schema=self._schema).to_pandas()
        return table.sort_values([name for name, _ in _KEY], ignore_index=True)

    def finished(self) -> set[tuple[int, str]]:
        """Number and data set of the configurations that need not be fitted again."""
        table = self.read()
        return set(zip(table["configuration"], table["dataset"], strict=True))

    def _plain(self, rows: Sequence[Row]) -> list[Row]:
        """Values that are no numbers or texts, among choices of all kinds, as JSON."""
        texts = [field.name for field in self._schema if field.type == pa.string()]
        return [{**row, **{name: _text(row.get(name)) for name in texts}} for row in rows]


def chosen_in(table: pd.DataFrame) -> dict[int, Chosen]:
    """What was chosen in the configurations that have any row, by their numbers."""
    first = table.drop_duplicates("configuration")
    return {
        int(number): json.loads(text)
        for number, text in zip(first["configuration"], first["settings"], strict=True)
    }


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else as_text(value)


def _type(values: Values) -> pa.DataType:
    """Of the column of a searched setting: the same in all files, whatever is in them."""
    ends = values.ends if isinstance(values, Range) else values
    kinds = {type(value) for value in ends if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
