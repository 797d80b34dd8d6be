"""The main job end to end on built-in data: simulate, fit, forecast, score, draw, report.

Two tanks stand above each other. A pump fills the upper one; only the level of the lower one is
measured. The model must find the hidden level, and predict far ahead from the pump alone.
"""

from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.text import Text

from gpssm.base.startup import prepare
from gpssm.data import load_dataset
from gpssm.evaluation.scoring import Protocol
from gpssm.fitted.fitting import fit
from gpssm.inference import cbf_ssm
from gpssm.report import plot_forecast
from gpssm.report.verdict import Remedy

from .folder import is_marked, mark
from .scoring import score, write_report

PROTOCOL = Protocol(warmup=16, horizon=500, particles=200)
MODEL, FIGURE, REPORT = "two_tanks.gpssm", "forecast.png", "report.html"
NEXT = "gpssm fit two_tanks --out runs/two_tanks"  # the same plant as a run of one's own


def is_demo(path: Path) -> bool:
    """Whether a demo has written the folder."""
    return is_marked(path, "demo")


def main(out: str | Path = "demo", silent: bool = False, quiet: bool = False) -> dict[str, Any]:
    """Runs the demo; `out` is the folder for the model, the figure and the report.

    `silent` prints nothing; `quiet` shows no progress.
    """
    out, console = Path(out), Console(quiet=silent)
    mark(out, "demo")
    data = load_dataset("two_tanks")
    console.print(str(data), highlight=False, markup=False)
    tanks, commands = cbf_ssm(dim_x=2, k=1), dict.fromkeys(get_args(Remedy), NEXT)
    run = fit(tanks, data.train, steps=1500, learning_rate=0.02, seed=0, quiet=quiet)
    scoring = score(run, data, protocol=PROTOCOL, commands=commands, quiet=quiet)
    for each in scoring.shown():
        console.print(each, soft_wrap=isinstance(each, Text))
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
    title = "gpssm demo: two tanks"
    page = write_report(run, data, out / REPORT, scoring=scoring, title=title, quiet=quiet)
    lines = f"model   {model}\nfigure  {figure}\nreport  {page}"
    console.print(lines, highlight=False, markup=False)
    return {"model": model, "figure": figure, "report": page, "scores": scoring.to_json()}


if __name__ == "__main__":
    prepare()
    main()
