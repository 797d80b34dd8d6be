"""The table of a study: a folder of small Parquet files that reads as one table.

Trials that finish together are one file, renamed when it is whole. So a stop leaves no half row, no
file is written twice, and no writer waits for another.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gpssm.base.extras import load_extra
from gpssm.base.files import write_whole
from gpssm.training.validation import validated_metrics

from .settings import Range, Study, Values
from .space import Chosen
from .trials import Row, as_text

_KEY = ("configuration", "dataset", "seed")


class Trials:
    """The rows of all finished trials below one folder."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder = folder
        self._schema = _schema(_arrow(), study)

    def append(self, rows: Sequence[Row]) -> Path:
        """Write what has finished together. The same trials again take the place of the old."""
        first = rows[0]
        path = self.folder / f"{first['dataset']}-{first['configuration']:06d}.parquet"
        table, write = self._table(rows), _arrow(".parquet").write_table
        return write_whole(path, lambda temporary: write(table, temporary))

    def read(self) -> pd.DataFrame:
        """All rows, in the order of their configurations; an empty table where there are none."""
        if not self.folder.is_dir() or not any(self.folder.glob("*.parquet")):
            return self._schema.empty_table().to_pandas()
        table = _arrow(".parquet").read_table(self.folder, schema=self._schema).to_pandas()
        return table.sort_values(list(_KEY), ignore_index=True)

    def finished(self) -> set[tuple[int, str]]:
        """Number and data set of the configurations that need not be fitted again."""
        table = self.read()
        return set(zip(table["configuration"], table["dataset"], strict=True))

    def _table(self, rows: Sequence[Row]) -> Any:
        """Values that are no numbers or texts, among choices of all kinds, as JSON."""
        texts = [field.name for field in self._schema if field.type == _arrow().string()]
        plain = [{**row, **{name: _text(row.get(name)) for name in texts}} for row in rows]
        return _arrow().Table.from_pylist(plain, self._schema)


def chosen_in(table: pd.DataFrame) -> dict[int, Chosen]:
    """Chosen settings of the configurations in the table, by number."""
    first = table.drop_duplicates("configuration")
    return {
        int(number): json.loads(text)
        for number, text in zip(first["configuration"], first["settings"], strict=True)
    }


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else as_text(value)


def _arrow(part: str = "") -> Any:
    return load_extra(f"pyarrow{part}", "files", "The table of a study")


def _schema(pa: Any, study: Study) -> Any:
    """The columns: what names a trial, the settings that are searched, and what was found."""
    searched = [(name, _type(pa, values)) for name, values in study.search.space.items()]
    found = [
        *((name, pa.float64()) for name in validated_metrics(study.objective)),
        ("best_step", pa.int64()),
        ("seconds", pa.float64()),
        ("error", pa.string()),
        ("finished", pa.timestamp("us", tz="UTC")),
        ("settings", pa.string()),
    ]
    key = zip(_KEY, (pa.int64(), pa.string(), pa.int64()), strict=True)
    return pa.schema([*key, *searched, *found])


def _type(pa: Any, values: Values) -> Any:
    """Type of the column of a searched setting; the same in all files."""
    ends = values.ends if isinstance(values, Range) else values
    kinds = {type(value) for value in ends if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
