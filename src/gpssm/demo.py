"""The main job end to end on built-in data: simulate, fit, forecast, score, draw.

Two tanks stand above each other. A pump fills the upper one; only the level of the lower one is
measured. The model must find the hidden level, and predict far ahead from the pump alone.
"""

from pathlib import Path

import numpy as np
from rich.console import Console

from .data import Dataset, load_dataset
from .inference import cbf_ssm
from .prediction import Forecast, constant_mean
from .startup import prepare
from .report import plot_forecast, score, score_table
from .run import Run, fit

WARMUP = 16
HORIZON = 500


def main(out: str | Path = "demo") -> None:
    """Runs the demo; `out` is the folder for the model and the figure."""
    out, console = Path(out), Console()
    data = load_dataset("two_tanks")
    console.print(str(data), highlight=False, markup=False)
    run = fit(cbf_ssm(dim_x=2, k=1), data.train, steps=800, learning_rate=0.02, seed=0)
    forecast, y = forecast_test(run, data)
    mean = constant_mean(np.concatenate([each.y for each in data.train]), len(y))
    rows = {"CBF-SSM": score(forecast, y), "constant mean": score(mean, y)}
    console.print(
        score_table(f"{len(y)} s open loop after {WARMUP} s of measurements (level in cm)", rows)
    )
    figure = out / "forecast.png"
    plot_forecast(
        forecast,
        y,
        path=figure,
        title="Lower tank, upper level never measured",
        units=data.output_units,
        sampling_time=data.sampling_time,
    )
    model = run.save(out / "two_tanks.gpssm")
    console.print(f"model   {model}\nfigure  {figure}", highlight=False)


def forecast_test(run: Run, data: Dataset) -> tuple[Forecast, np.ndarray]:
    """The forecast of the first stretch of the test part, and what was measured there."""
    test = data.test[0]
    forecast = run.predict(test.u[:HORIZON], test.y[:WARMUP], particles=200)
    return forecast, test.y[:HORIZON]


if __name__ == "__main__":
    prepare()
    main()
