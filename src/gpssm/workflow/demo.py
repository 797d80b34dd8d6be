"""The main job end to end on built-in data: simulate, fit, forecast, score, draw, report.

Two tanks stand above each other. A pump fills the upper one; only the level of the lower one is
measured. The model must find the hidden level, and predict far ahead from the pump alone.
"""

from pathlib import Path
from typing import Any

from rich.console import Console

from gpssm.base.startup import prepare
from gpssm.data import load_dataset
from gpssm.evaluation.scoring import Protocol
from gpssm.fitted.fitting import fit
from gpssm.inference import cbf_ssm
from gpssm.report import plot_forecast

from .scoring import score, write_report

PROTOCOL = Protocol(warmup=16, horizon=500, particles=200)
FILES = MODEL, FIGURE, REPORT = "two_tanks.gpssm", "forecast.png", "report.html"


def main(out: str | Path = "demo", quiet: bool = False) -> dict[str, Any]:
    """Runs the demo; `out` is the folder for the model, the figure and the report."""
    out, console = Path(out), Console(quiet=quiet)
    data = load_dataset("two_tanks")
    console.print(str(data), highlight=False, markup=False)
    run = fit(cbf_ssm(dim_x=2, k=1), data.train, steps=1500, learning_rate=0.02, seed=0)
    scoring = score(run, data, protocol=PROTOCOL)
    console.print(scoring.table())
    forecast, y = scoring.seeds[run.seed].stretches[0].scored
    figure = out / FIGURE
    plot_forecast(
        forecast,
        y,
        path=figure,
        title="Lower tank, upper level never measured",
        units=data.output_units,
        sampling_time=data.sampling_time,
    )
    model = run.save(out / MODEL)
    page = write_report(run, data, out / REPORT, scoring=scoring, title="gpssm demo: two tanks")
    lines = f"model   {model}\nfigure  {figure}\nreport  {page}"
    console.print(lines, highlight=False, markup=False)
    return {"model": model, "figure": figure, "report": page, "scores": scoring.to_json()}


if __name__ == "__main__":
    prepare()
    main()
