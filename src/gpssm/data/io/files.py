"""Files as tables of named columns: one reader per suffix."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from gpssm.base.errors import DataError, expected
from gpssm.base.extras import load_extra

from .excel import read_excel
from .matlab import read_mat
from .npz import read_npz
from .opening import COMPRESSED, explained, plain_name, require_file
from .tables import Table
from .text import read_text


def read_table(path: str | Path) -> Table:
    """Read a file by its suffix, without checks of its values."""
    path = Path(path)
    suffix = Path(plain_name(path)).suffix.casefold()
    reader = READERS.get(suffix)
    is_packed = path.suffix.casefold() in COMPRESSED
    if reader is None or (is_packed and reader is not read_text):
        if path.exists():
            require_file(path)
        wanted = f"one of {sorted(READERS)}"
        given = f"suffix {''.join(path.suffixes[-2:]) if is_packed else path.suffix!r}"
        raise DataError(expected(str(path), given, wanted, "Convert the file."))
    with explained(path):
        return reader(path)


def read_columns(frame: pd.DataFrame, source: str, name: str) -> Table:
    """The columns of a pandas frame, with None for what pandas calls missing."""
    names = [str(column) for column in frame.columns]
    if twice := sorted(each for each, count in Counter(names).items() if count > 1):
        raise DataError(expected(source, f"two columns {twice[0]!r}", "different names"))
    columns = {each: _series(frame.iloc[:, i]) for i, each in enumerate(names)}
    return Table(source, columns, name=name)


def _series(series: pd.Series) -> np.ndarray:
    if series.dtype.kind in "biufmM" and isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    return series.astype(object).where(series.notna(), None).to_numpy()


def _parquet(path: Path) -> Table:
    load_extra("pyarrow", "files", f"{path}: a Parquet file")
    return read_columns(pd.read_parquet(path), str(path), path.stem)


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".dat": read_text,
    ".xlsx": read_excel,
    ".parquet": _parquet,
    ".mat": read_mat,
    ".npz": read_npz,
}
