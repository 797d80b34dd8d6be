"""The report of a run without a test part: what it learned, and how it simulates its own rows."""

from . import html, report_data, summary
from .findings import Finding, select
from .page import header, model_sections, score_tables, unit_of_errors
from .report_charts import all_charts
from .report_data import ReportInput

_CHARTS = ("forecast", "training", "slices", "inducing")  # those that need no test part
_PAGES = [
    ("trust", "What to trust"), ("forecast", "Training rows"), ("learned", "What was learned"),
    ("training", "Training"), ("details", "Details"),
]  # fmt: skip


def untested_page(given: ReportInput) -> str:
    """The whole page as one text; the evaluations of `given` are those of training rows."""
    charts = all_charts(given, None, report_data.around_the_test(given))
    shown = {chart.key: chart for chart in charts if chart.key in _CHARTS}
    warmup = given.evaluation.stretches[0].scored.forecast.warmup
    words = f"The model uses {warmup} measurements (shaded), then only the inputs. It has been "
    words += "trained on these rows: errors on other data are larger."
    body = [
        header(given, f"all {given.data.num_rows} rows", _PAGES),
        html.section("trust", "What to trust", html.findings(_findings(given))),
        html.section(
            "forecast", "Simulation of training rows",
            html.card(shown["forecast"], "Open loop over the newest training rows", words, True),
            score_tables(given),
        ),
        *model_sections(given, shown),
    ]  # fmt: skip
    return html.page(f"{given.title}: gpssm report", body, list(shown.values()))


def _findings(given: ReportInput) -> list[Finding]:
    """What training rows alone can say: of forecasts of other rows nothing is known."""
    seed, found = given.run.seed, summary.training(given.run.history.table)
    known = summary.known_training_rmse({seed: given.evaluation, **given.other_seeds})
    own = summary.unlearned(seed, known, given.baselines, unit_of_errors(given.data))
    return select([*found, own] if own else found)
