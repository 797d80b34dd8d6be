"""The one container for logged data: experiments, channel names, units and parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.data.io.frames import Frames, frame_tables, xarray_tables
from gpssm.data.io.gathering import gather
from gpssm.data.io.pieces import Checked, check_table
from gpssm.data.io.tables import Name, Request
from gpssm.data.io.timing import Timing, common_step
from gpssm.data.transforms.drift import Drift
from gpssm.data.transforms.removal import without_again, without_drift, without_trend
from gpssm.data.transforms.resample import check_new_step, resampled

from .channels import check_measured, check_same_channels, check_units, labels, numbered, with_units
from .experiment import PARTS, Experiment, summary
from .splits import by_experiment, by_fraction, by_row
from .steps import check_same_steps, fill_rows


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Logged inputs and outputs of one system. Immutable: every step returns a new one."""

    experiments: tuple[Experiment, ...]
    name: str = "data"
    sampling_time: float | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    output_units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.experiments:
            raise DataError(expected(f"data set {self.name!r}", "no experiment", "at least one"))
        check_same_channels(self.experiments)
        if self.sampling_time is not None and not 0 < self.sampling_time < np.inf:
            wanted = "a positive number of seconds, or None if it is not known"
            raise DataError(expected("sampling_time", self.sampling_time, wanted))
        for kind, prefix, count in (("input", "u", self.dim_u), ("output", "y", self.dim_y)):
            names = getattr(self, f"{kind}_names") or numbered(prefix, count)
            units = getattr(self, f"{kind}_units") or ("",) * count
            object.__setattr__(self, f"{kind}_names", labels(names, f"{kind}_names", count))
            object.__setattr__(self, f"{kind}_units", labels(units, f"{kind}_units", count))

    # ------------------------------------------------------------------ ways in

    @classmethod
    def from_arrays(
        cls,
        y: Any,
        u: Any = None,
        *,
        sampling_time: float | None = None,
        input_names: Sequence[str] = (),
        output_names: Sequence[str] = (),
        input_units: Sequence[str] = (),
        output_units: Sequence[str] = (),
        name: str = "data",
        experiment_names: Sequence[str] = (),
    ) -> "Dataset":
        """From an array [time, channels] or [time], or a list of arrays: one per experiment.

        NaN in `y` marks a missing value. Numbers in plain lists are one experiment. An array from
        `np.load(path, mmap_mode="r")` stays on disk, and may be larger than the memory.
        """
        outputs = _as_experiments(y)
        inputs = _as_experiments(u) if u is not None else [None] * len(outputs)
        if len(inputs) != len(outputs):
            given = f"{len(inputs)} experiments of inputs and {len(outputs)} of outputs"
            raise DataError(expected("y and u", given, "as many of one as of the other"))
        default = [name] if len(outputs) == 1 else [f"{name}-{i}" for i in range(len(outputs))]
        names = labels(experiment_names or default, "experiment_names", len(outputs))
        runs = zip(inputs, outputs, names, strict=True)
        made = cls(
            tuple(Experiment.of(each_y, each_u, label) for each_u, each_y, label in runs),
            name=name,
            sampling_time=sampling_time,
            input_names=tuple(input_names),
            output_names=tuple(output_names),
            input_units=tuple(input_units),
            output_units=tuple(output_units),
        )
        check_measured(made.experiments, made.output_names)
        return made

    @classmethod
    def from_pandas(
        cls,
        frames: Frames,
        *,
        outputs: Name | Sequence[Name],
        inputs: Name | Sequence[Name] = (),
        time: Name | None = None,
        experiment: Name | None = None,
        sampling_time: float | None = None,
        time_unit: str | None = None,
        resample: float | None = None,
        input_lag: int = 0,
        units: Mapping[str, str] = MappingProxyType({}),
        name: str = "data",
    ) -> "Dataset":
        """From a pandas frame, or several as experiments; the arguments are those of a file."""
        timing = Timing(time_unit, resample, input_lag)
        request = Request.of(outputs, inputs, time, experiment, timing)
        files = [check_table(each, request) for each in frame_tables(frames, name)]
        return cls.from_checked(files, request, sampling_time, units, name)

    @classmethod
    def from_xarray(
        cls,
        data: Any,
        *,
        outputs: Name | Sequence[Name],
        inputs: Name | Sequence[Name] = (),
        time: str | None = None,
        experiment: str | None = None,
        sampling_time: float | None = None,
        time_unit: str | None = None,
        resample: float | None = None,
        input_lag: int = 0,
        name: str = "data",
    ) -> "Dataset":
        """From an xarray.Dataset; `experiment` is a dimension or a variable along time.

        Units come from the attribute `units` of the variables.
        """
        timing = Timing(time_unit, resample, input_lag)
        request = Request.of(outputs, inputs, time, experiment, timing)
        tables, request = xarray_tables(data, request, name)
        units = {str(k): str(v.attrs["units"]) for k, v in data.items() if "units" in v.attrs}
        files = [check_table(each, request) for each in tables]
        return cls.from_checked(files, request, sampling_time, units, name)

    @classmethod
    def from_checked(
        cls,
        files: Sequence[Checked],
        request: Request,
        sampling_time: float | None,
        units: Mapping[str, str],
        name: str,
    ) -> "Dataset":
        """From files or frames that were checked one by one."""
        made = cls(name=name, **gather(files, request, sampling_time, units)._asdict())
        new_step = request.timing.resample if request.time is None else None
        return made if new_step is None else made.resample(new_step)

    # ------------------------------------------------------------------ what it holds

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self.experiments)

    def __len__(self) -> int:
        return len(self.experiments)

    def __getitem__(self, index: int) -> Experiment:
        return self.experiments[index]

    @property
    def dim_u(self) -> int:
        """Number of inputs, possibly zero."""
        return self.experiments[0].u.shape[1]

    @property
    def dim_y(self) -> int:
        """Number of outputs."""
        return self.experiments[0].y.shape[1]

    @property
    def num_rows(self) -> int:
        """Time steps over all experiments."""
        return sum(len(each) for each in self.experiments)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that are present, in the order train, validation, test."""
        return tuple(p for p in PARTS if any(each.part == p for each in self.experiments))

    @property
    def train(self) -> "Dataset":
        """The part for training and normalisation."""
        return self._part("train")

    @property
    def validation(self) -> "Dataset":
        """The part for choices between models."""
        return self._part("validation")

    @property
    def test(self) -> "Dataset":
        """The part that is forecast and scored."""
        return self._part("test")

    def _part(self, part: str) -> "Dataset":
        chosen = tuple(each for each in self.experiments if each.part == part)
        if not chosen:
            given = f"parts {self.parts}" if self.parts else "data that is not split"
            remedy = "Call split, split_at or split_experiments first, with rows for that part."
            raise DataError(expected(f"{self.name}.{part}", given, f"a {part} part", remedy))
        return replace(self, experiments=chosen)

    # ------------------------------------------------------------------ parts

    def split(self, train: float = 0.7, validation: float = 0.0) -> "Dataset":
        """Cut every experiment in time: first `train`, then `validation`; the rest is the test."""
        return replace(self, experiments=by_fraction(self.experiments, train, validation))

    def split_at(self, train_end: int, validation_end: int | None = None) -> "Dataset":
        """Cut every experiment at a row: train before `train_end`, test after the last border."""
        last = train_end if validation_end is None else validation_end
        return replace(self, experiments=by_row(self.experiments, train_end, last))

    def split_experiments(
        self,
        train: Sequence[str | int],
        test: Sequence[str | int] | None = None,
        validation: Sequence[str | int] = (),
    ) -> "Dataset":
        """Whole experiments, by name or position; without `test` it is all that is not named."""
        return replace(self, experiments=by_experiment(self.experiments, train, validation, test))

    def with_test(self, test: "Dataset") -> "Dataset":
        """All of this data set for training, and all of another one as the test part."""
        for kind in ("input", "output"):
            ours, theirs = (getattr(each, f"{kind}_names") for each in (self, test))
            if ours != theirs:
                raise DataError(expected(f"{kind}_names of the test part", theirs, f"{ours}"))
            check_units(ours, *(getattr(each, f"{kind}_units") for each in (self, test)))
        common_step([("training", self.sampling_time), ("the test", test.sampling_time)], None)
        check_same_steps(*((d.steps, d[0].trends, d.sampling_time) for d in (self, test)))
        parts = {"train": self, "test": test}
        both = (replace(each, part=part) for part, found in parts.items() for each in found)
        return replace(self, experiments=tuple(both))

    # ------------------------------------------------------------------ steps that can be undone

    def decimate(self, factor: int, *, average_inputs: bool = False) -> "Dataset":
        """Keep every factor-th row.

        With `average_inputs` the input of a row is its mean until the next kept row, which is
        what drives the system in between. `restore` gives the original time axis back.
        """
        if factor < 1 or factor != int(factor):
            raise DataError(expected("decimate", f"factor {factor}", "a whole number from 1"))
        kept = tuple(each.every(int(factor), average_inputs) for each in self.experiments)
        time = self.sampling_time * factor if self.sampling_time is not None else None
        steps = (*self.steps, f"decimate({factor})")
        return replace(self, experiments=kept, sampling_time=time, steps=steps)

    def resample(self, step: float) -> "Dataset":
        """Rows at other equal steps, in seconds: u is held and averaged, y is averaged around them.

        The input of a row is its mean until the next row. An output is the mean of the samples
        within half a step around the row, and is missing where there is none. Samples at irregular
        times are read with `gpssm.read(..., resample=step)`. `restore` knows the new rows only.
        """
        if self.sampling_time is None:
            remedy = "Name the time column or the step (--sampling-time, in Python sampling_time=)."
            given = "data without a sampling time"
            raise DataError(expected("resample", given, "data with one", remedy))
        time, step = self.sampling_time, check_new_step(step)
        runs = tuple(resampled(each, time, step) for each in self.experiments)
        steps = (*self.steps, f"resample({step:g})")
        return replace(self, experiments=runs, sampling_time=step, steps=steps)

    def detrend(self, order: int = 1) -> "Dataset":
        """Subtract from each output a polynomial in the time since its experiment began.

        It is fitted to the training part alone where there is one (so split first): nothing of
        the test part leaks into it. `restore` adds it back to a forecast. Order 0 is the mean.
        """
        rest = without_trend(self.experiments, order, self.output_names)
        return replace(self, experiments=rest, steps=(*self.steps, f"detrend({order})"))

    def remove_drift(self, size: float = 0.1) -> "Dataset":
        """Subtract from each output a slow drift that the inputs do not explain.

        `size` is how far it may drift in as long as was recorded, in units of the spread of the
        output; the larger, the more of what is slow is taken for drift. It is found in the
        training part alone where there is one (so split first), record by record, and goes on in
        a straight line. `restore` adds it back to a forecast.
        """
        rest = without_drift(self.experiments, size, self.output_names)
        return replace(self, experiments=rest, steps=(*self.steps, f"remove_drift({size:g})"))

    @property
    def has_drift(self) -> bool:
        """Whether a drift was removed."""
        return any(isinstance(trend, Drift) for trend in self.experiments[0].trends)

    def refitted(self) -> "Dataset":
        """Fit trends and drifts again to the current training part, and remove them."""
        if not self.experiments[0].trends:
            return self
        return replace(self, experiments=without_again(self.experiments, self.output_names))

    def restore(
        self, values: Any, experiment: int = 0, *, every_row: bool = False
    ) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, "... time outputs"]]:
        """Undo decimate, detrend and remove_drift for a forecast of one of these experiments.

        `values` are output means, quantiles or particles [..., time, outputs] that start with
        the experiment's first row. Returned: the time since the original record began (seconds,
        or rows where the sampling time is not known) and the values with what was removed added.
        `every_row` also fills in the rows that decimate left out, by straight lines.
        """
        run = self.experiments[experiment]
        values = np.asarray(values, dtype=np.float64)
        if values.ndim < 2 or values.shape[-1] != self.dim_y or values.shape[-2] > len(run):
            wanted = f"[..., up to {len(run)} time steps, {self.dim_y} outputs]"
            raise DataError(expected("restore", f"an array of shape {values.shape}", wanted))
        rows = run.rows[: values.shape[-2]]
        if every_row:
            rows, values = fill_rows(rows, values)
        per_row = 1.0 if self.sampling_time is None else self.sampling_time / run.stride
        return rows * per_row, values + run.removed(rows)

    # ------------------------------------------------------------------ print

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        time = "unknown" if self.sampling_time is None else f"{self.sampling_time:g} s"
        lines = [f"Dataset {self.name!r}: {self.num_rows} rows, sampling time {time}"]
        for kind in ("input", "output"):
            named = with_units(getattr(self, f"{kind}_names"), getattr(self, f"{kind}_units"))
            lines.append(f"  {kind + 's':<11}{', '.join(named) or 'none'}")
        for part in self.parts or ("",):
            runs = [each for each in self.experiments if each.part == part]
            lines.append(f"  {part or 'all':<11}{summary(runs)}")
        lines += [f"  step       {step}" for step in self.steps]
        lines += [f"  note       {note}" for note in self.notes]
        return "\n".join(lines)


def _as_experiments(values: Any) -> list[Any]:
    """A list of arrays is several experiments; an array, or numbers in plain lists, is one."""
    several = isinstance(values, list | tuple) and len(values) > 0
    arrays = several and all(hasattr(each, "shape") and np.ndim(each) > 0 for each in values)
    return list(values) if arrays else [values]
