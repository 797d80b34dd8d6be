"""The main job end to end on built-in data: simulate, fit, forecast, score, draw, report.

Two tanks stand above each other. A pump fills the upper one; only the level of the lower one is
measured. The model must find the hidden level, and predict far ahead from the pump alone.
"""

from pathlib import Path
from typing import Any

from rich.console import Console

from .data import load_dataset
from .fitting import fit
from .inference import cbf_ssm
from .report import plot_forecast, score_table
from .report.evaluation import Protocol, evaluate, evaluate_baselines
from .report.material import ReportInput
from .report.page import report_page
from .startup import prepare

PROTOCOL = Protocol(warmup=16, horizon=500, particles=200)
FILES = MODEL, FIGURE, REPORT = "two_tanks.gpssm", "forecast.png", "report.html"


def main(out: str | Path = "demo", quiet: bool = False) -> dict[str, Any]:
    """Runs the demo; `out` is the folder for the model, the figure and the report."""
    out, console = Path(out), Console(quiet=quiet)
    data = load_dataset("two_tanks")
    console.print(str(data), highlight=False, markup=False)
    run = fit(cbf_ssm(dim_x=2, k=1), data.train, steps=1500, learning_rate=0.02, seed=0)
    evaluation = evaluate(run, data.test, PROTOCOL, data.train)
    baselines = evaluate_baselines(data.train, data.test, PROTOCOL)
    rows = {"CBF-SSM": evaluation.scores} | {name: e.scores for name, e in baselines.items()}
    steps = PROTOCOL.horizon - PROTOCOL.warmup
    title = f"{steps} s open loop after {PROTOCOL.warmup} s of measurements (level in cm)"
    console.print(score_table(title, rows))
    forecast, y = evaluation.stretches[0].scored
    figure = out / FIGURE
    plot_forecast(
        forecast,
        y,
        path=figure,
        title="Lower tank, upper level never measured",
        units=data.output_units,
        sampling_time=data.sampling_time,
    )
    model, page = run.save(out / MODEL), out / REPORT
    given = ReportInput("gpssm demo: two tanks", run, data, evaluation, baselines)
    page.write_text(report_page(given), encoding="utf-8")
    lines = f"model   {model}\nfigure  {figure}\nreport  {page}"
    console.print(lines, highlight=False, markup=False)
    scores = {name: each._asdict() for name, each in rows.items()}
    return {"model": model, "figure": figure, "report": page, "scores": scores}


if __name__ == "__main__":
    prepare()
    main()
