"""Remarks about logged data, found in seconds, before a training that takes minutes.

Every check is a function of one idea; `preflight` asks them all of the training part, and whether
the test part stays inside its range. Of data on disk they see the first block of each experiment.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from gpssm.base.extremes import ordinary_unit
from gpssm.base.text import percent

from .dataset import Dataset
from .disk import blocks
from .experiment import Experiment

Check = Literal[
    "range", "outliers", "sentinels", "constant", "sampling", "gaps", "rows", "time", "inputs"
]
Rows = Callable[[Experiment], Float[np.ndarray, "rows _"]]  # inputs or outputs
Pieces = Sequence[Float[np.ndarray, " _"]]  # one channel, experiment by experiment

OUTSIDE = 0.01  # share of the test rows of an input beyond the training range
MARGIN = 0.02  # of the training range, on both sides: noise of a level is no new level
FEW = 0.01  # share of the rows that may be outliers; more of them are how the channel moves
FAR = 8.0  # robust spreads from the median, of an outlier
NEIGHBOURS = 5  # rows on either side whose median an outlier is far from, too
SENTINEL_TIMES = 3  # rows with exactly this value, unless it is a known code
SENTINEL_WIDTHS = 3.0  # from the middle 90 % of the rest, in widths of these
STILL = 0.99  # share of the rows with one value: nearly constant
FLAT = 1e-6  # spread relative to the size of the values: nearly constant
TENS_OF_ROWS, BARELY = 20, 0.1  # rows, and the change in them relative to the spread: too fast
UNRELATED, LAGS = 0.1, 10  # largest autocorrelation up to this lag: too slow, or noise
FEW_ROWS = 100  # below which no sampling is told, and a record is called short

_CODES = (32767.0, 32768.0, 65535.0, 2147483647.0, 2147483648.0, 4294967295.0)
_MOST_SENTINELS = 5  # different ones in a channel
_MAD_TO_STD = 1.4826  # of a normal distribution


class Remark(NamedTuple):
    """What one check has found, in which channel ("": in all), and what to do."""

    check: Check
    channel: str
    text: str


class Channel(NamedTuple):
    """One input or output of the training part."""

    name: str
    is_input: bool
    pieces: Pieces

    @property
    def scaled(self) -> "Channel":
        """In a unit in which squares neither overflow nor vanish."""
        unit = ordinary_unit(self.known[:, None])[0]
        return self._replace(pieces=[each / unit for each in self.pieces])

    @property
    def known(self) -> Float[np.ndarray, " known"]:
        """All measured values."""
        values = np.concatenate(self.pieces)
        return values[~np.isnan(values)]


def preflight(data: Dataset) -> list[Remark]:
    """All remarks about a data set; the training part is all of it if it is not split."""
    train = data.train if "train" in data.parts else data
    channels = list(_channels(train))
    found = [remark for each in channels for remark in _about_channel(each)]
    found += _about_sampling(channels, train.sampling_time)
    if "test" in data.parts:
        found += _about_range(data)
    return [*found, *_about_rows(train)]


# ---------------------------------------------------------------------- one channel


def _about_channel(channel: Channel) -> Iterator[Remark]:
    name, values = channel.name, channel.known
    if len(values) == 0:
        yield Remark("constant", name, f"{name} is never measured in the training part")
        return
    share = still_share(values)
    if share == 1.0:
        yield Remark("constant", name, f"{name} is constant in the training part: leave it out")
        return
    if (share > STILL and not channel.is_input) or is_flat(values):
        words = f"{name} is nearly constant in the training part"
        yield Remark("constant", name, f"{words}: nothing can be learned about it")
    for value, times in sentinels(values, channel.is_input).items():
        words = f"{name} is {value:g} in {times} rows, far from all its other values"
        yield Remark("sentinels", name, f"{words}: if it marks missing values, empty these cells")
    _, rows = _cleaned(channel)
    if rows:
        several = f"{len(rows)} outliers" if len(rows) > 1 else "an outlier"
        words = f"{name} has {several}, more than {FAR:g} robust spreads from the median"
        place = f"{'the first ' if len(rows) > 1 else ''}in training row {rows[0] + 1}"
        yield Remark("outliers", name, f"{words}, {place}: check it")


def _cleaned(channel: Channel) -> tuple[Channel, list[int]]:
    """The channel without sentinels and outliers, and the rows of these outliers."""
    codes = list(sentinels(channel.known, channel.is_input))
    pieces = [np.where(np.isin(each, codes), np.nan, each) for each in channel.pieces]
    marked = channel._replace(pieces=pieces)
    found = [outliers(each, channel.known) for each in pieces]
    rows = np.flatnonzero(np.concatenate(found))
    if len(rows) > max(FEW * len(channel.known), SENTINEL_TIMES):
        return marked, []
    pieces = [np.where(bad, np.nan, each) for bad, each in zip(found, marked.pieces, strict=True)]
    return channel._replace(pieces=pieces), [int(row) for row in rows]


def still_share(values: Float[np.ndarray, " known"]) -> float:
    """Share of the rows with the most frequent value; 1 for a constant."""
    return float(np.unique(values, return_counts=True)[1].max() / len(values))


def is_flat(values: Float[np.ndarray, " known"]) -> bool:
    """Whether a channel moves by less than a millionth of its size."""
    size = np.max(np.abs(values)) or 1.0  # squares of 1e-300 are zero
    return bool(np.std(values / size) < FLAT * np.abs(np.mean(values / size)))


def sentinels(values: Float[np.ndarray, " known"], is_input: bool) -> dict[float, int]:
    """Values far from the rest that stand for something else, and the number of their rows.

    Known codes such as −9999, or a value that an output has exactly several times. An input may
    have such a level by intention: 0 while a pump is off.
    """
    found: dict[float, int] = {}
    for _ in range(_MOST_SENTINELS):
        ends = (float(values.min()), float(values.max()))
        value = next((each for each in ends if _is_sentinel(each, values, is_input)), None)
        if value is None:
            break
        found[value] = int(np.sum(values == value))
        values = values[values != value]
    return found


def _is_sentinel(value: float, values: Float[np.ndarray, " known"], is_input: bool) -> bool:
    rest = values[values != value]
    repeated = len(values) - len(rest) >= SENTINEL_TIMES and not is_input
    if len(rest) == 0 or not (is_code(value) or repeated):
        return False
    low, high = np.quantile(rest, (0.05, 0.95))
    far = max(low - value, value - high) > SENTINEL_WIDTHS * (high - low)
    return bool(far and (high > low or is_code(value)))


def is_code(value: float) -> bool:
    """Whether a number is a usual mark of a missing value: −999, 9999, 65535, 1e30, …"""
    size = abs(float(value))
    nines = size >= 999 and size.is_integer() and set(f"{size:.0f}") == {"9"}
    return nines or size in _CODES or size >= 1e20


def outliers(
    piece: Float[np.ndarray, " rows"], channel: Float[np.ndarray, " known"]
) -> Bool[np.ndarray, " rows"]:
    """Rows more than `FAR` robust spreads from the median of the channel, and of their neighbours.

    The spread is that of the median absolute deviation. A level that a signal moves to and stays at
    for longer than `NEIGHBOURS` rows is no outlier.
    """
    middle = np.median(channel)
    limit = FAR * _MAD_TO_STD * np.median(np.abs(channel - middle))
    found = np.abs(piece - middle) > limit if limit > 0 else np.zeros(len(piece), bool)
    rows = np.flatnonzero(found)
    padded = np.pad(piece, NEIGHBOURS, constant_values=np.nan)
    near = padded[rows[:, None] + np.arange(2 * NEIGHBOURS + 1)]
    found[rows] = np.abs(piece[rows] - np.nanmedian(near, axis=1)) > limit
    return found


# ---------------------------------------------------------------------- the pace of sampling


def _about_sampling(channels: Sequence[Channel], step: float | None) -> Iterator[Remark]:
    whole = {each.name: each.scaled for each in channels if not each.is_input}
    clean = [_cleaned(each)[0] for each in whole.values() if len(each.known) >= FEW_ROWS]
    moving = [each for each in clean if np.ptp(each.known) > 0 and not is_flat(each.known)]
    factor = decimation([each.pieces for each in moving])
    inputs = [each.scaled.pieces for each in channels if each.is_input]
    if factor and not any(changes_within(each, factor) for each in inputs):
        words = (
            f"the outputs change by less than {percent(BARELY)} of their spread in {factor} rows"
        )
        advice = f"keep every {factor}th row, data.decimate({factor}) in Python"
        if step is not None:
            new = f"{factor * step:g}"
            advice = f"resample to a step of {new} s (--resample {new}, data.resample({new}))"
        yield Remark("sampling", "", f"{words}: sampled far too fast; {advice}")
    for each in moving:
        if is_unrelated(each.pieces) and is_unrelated(whole[each.name].pieces):
            words = f"{each.name} is not related to its own values in the {LAGS} rows before"
            yield Remark("sampling", each.name, f"{words}: sampled too slowly, or mostly noise")


def decimation(outputs: Sequence[Pieces]) -> int | None:
    """The factor by which to decimate outputs that barely move in tens of rows; None: they move.

    The factor is 1, 2 or 5 times a power of ten, and leaves `FEW_ROWS` rows.
    """
    if not outputs or max(change(each, TENS_OF_ROWS) for each in outputs) >= BARELY:
        return None
    rows = min(sum(map(len, each)) for each in outputs)
    tens = [digit * 10**power for power in range(1, 7) for digit in (1, 2, 5)]
    usable = [k for k in tens if TENS_OF_ROWS <= k <= rows // FEW_ROWS]
    good = [k for k in usable if max(change(each, k) for each in outputs) < BARELY]
    return max(good, default=None)


def changes_within(pieces: Pieces, rows: int) -> bool:
    """Whether an input usually moves again within this number of rows, and by more than noise."""
    held = np.concatenate([np.diff(np.flatnonzero(np.diff(each))) for each in pieces])
    again = len(held) > 0 and np.median(held) < rows
    return bool(again and change(pieces, rows) >= BARELY)


def change(pieces: Pieces, lag: int) -> float:
    """RMS of y[t+lag] − y[t] without the steady rise, relative to the standard deviation of y."""
    steps = np.concatenate([each[lag:] - each[:-lag] for each in pieces])
    spread = np.nanstd(np.concatenate(pieces))
    return float(np.nanstd(steps) / spread) if np.isfinite(steps).any() else np.inf


def is_unrelated(pieces: Pieces) -> bool:
    """Whether an output is white: no autocorrelation is larger than chance makes it."""
    values = np.concatenate(pieces)
    centred = [each - np.nanmean(values) for each in pieces]
    products = [_products(centred, lag) for lag in range(1, LAGS + 1)]
    if min(map(len, products)) < FEW_ROWS:
        return False
    largest = max(abs(float(np.mean(each))) for each in products) / np.nanvar(values)
    return bool(largest < max(UNRELATED, 3.0 / np.sqrt(len(products[-1]))))


def _products(centred: Pieces, lag: int) -> np.ndarray:
    """y[t] · y[t + lag] wherever both are known."""
    found = np.concatenate([each[lag:] * each[:-lag] for each in centred])
    return found[~np.isnan(found)]


# ---------------------------------------------------------------------- training and test


def _about_range(data: Dataset) -> Iterator[Remark]:
    for name, share in inputs_outside(data.train, data.test).items():
        if share > OUTSIDE:
            words = (
                f"{percent(share)} of the test values of {name} lie outside of the training range"
            )
            yield Remark("range", name, f"{words}: there the model extrapolates")


def inputs_outside(train: Dataset, test: Dataset) -> dict[str, float]:
    """For each input, the share of its test rows beyond the range of the training part."""
    return dict(zip(train.input_names, _beyond(train, test, lambda e: e.u), strict=True))


def outputs_outside(train: Dataset, test: Dataset) -> dict[str, float]:
    """The same for each output; missing values count as inside."""
    return dict(zip(train.output_names, _beyond(train, test, lambda e: e.y), strict=True))


def constant_outputs(train: Dataset) -> list[str]:
    """Outputs that have one value in all rows, or none at all."""
    low, high = _range(train, lambda each: each.y)
    return [name for name, span in zip(train.output_names, high - low, strict=True) if not span > 0]


def _beyond(train: Dataset, test: Dataset, kind: Rows) -> Float[np.ndarray, " channels"]:
    """Share of the rows beyond the training range, by channel."""
    low, high = _range(train, kind)
    margin = MARGIN * (high - low)
    parts = (rows for each in test for _, rows in blocks(kind(each)))
    beyond = sum(np.sum((r < low - margin) | (r > high + margin), axis=0) for r in parts)
    return np.asarray(beyond / test.num_rows)


def _range(train: Dataset, kind: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each channel; one block in memory at a time."""
    parts = (rows for each in train for _, rows in blocks(kind(each)))
    ends = [(np.fmin.reduce(rows), np.fmax.reduce(rows)) for rows in parts]
    low, high = zip(*ends, strict=True)
    return np.fmin.reduce(low), np.fmax.reduce(high)


# ---------------------------------------------------------------------- the record


def _about_rows(train: Dataset) -> Iterator[Remark]:
    if longest := max(longest_gap(column) for each in train for column in _columns(each.y)):
        yield Remark(
            "gaps", "", f"the longest gap of an output is {longest} row{'s' * (longest > 1)}"
        )
    if train.num_rows < FEW_ROWS:
        words = f"{train.num_rows} rows to train on are few"
        yield Remark("rows", "", f"{words}: expect wide prediction intervals")
    if train.sampling_time is None:
        words = "no sampling time is known"
        yield Remark("time", "", f"{words}, so missing rows cannot be found: name the time column")
    if not train.dim_u:
        yield Remark("inputs", "", "no inputs: the model treats the system as autonomous")


def longest_gap(values: Float[np.ndarray, " rows"]) -> int:
    """The largest number of missing values in a row."""
    known = np.concatenate([[True], ~np.isnan(values), [True]])
    edges = np.flatnonzero(np.diff(known.astype(int)))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def _channels(data: Dataset) -> Iterator[Channel]:
    for kind, names in (("y", data.output_names), ("u", data.input_names)):
        columns = zip(*(_columns(getattr(each, kind)) for each in data), strict=True)
        for name, pieces in zip(names, columns, strict=True):
            yield Channel(name, kind == "u", pieces)


def _columns(values: np.ndarray) -> Float[np.ndarray, "channels rows"]:
    """All rows, or the first block of them if they are on disk."""
    _, rows = next(blocks(values))
    return rows.T
