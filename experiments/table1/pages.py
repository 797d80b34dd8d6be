"""From the records of the cells to the pages: no number is written by hand.

    python -m experiments.table1 --pages

writes `table1.md` beside the records. For the results of the repository it also writes the parts
of `docs/table1.md`, of the README and of `docs/choosing.md` between their markers. A cell that is
not there yet is shown as –.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from gpssm import Model

from ..common.files import ROOT, read_json, write_text
from ..common.pages import DIVERGED, MISSING, TITLES, publish
from ..common.scores import LEVELS
from ..common.tables import best_within_std, markdown_table, mean_std
from .config import DATASETS, FOLDER, METHODS
from .protocol import PROTOCOLS

Cells = dict[str, dict[str, dict[str, Any]]]  # data set → method → record of the cell

DOCS, README = ROOT / "docs" / "table1.md", ROOT / "README.md"
CHOOSING = ROOT / "docs" / "choosing.md"  # has what the defaults of the library do
_SHORT = ("cbf-ssm-50", "arx", "gru")
_OURS, _TARGETS = "cbf-ssm-50", ("cbf-ssm-50", "pr-ssm", "cbf-ssm-1")
_UNTUNED = ("cbf-ssm-50", "cbf-ssm-1", "vcdt")
_COVERED = (0.88, 0.99)  # what a 95 % interval should cover


def write_pages(results: Path) -> list[Path]:
    """Write all pages of a folder of results; return their paths."""
    cells = read_cells(results / "table1.json")
    paper = read_json(FOLDER / "paper.json")["table1"]
    body, more = tables(cells, paper), details(cells)
    page = results / "table1.md"
    write_text(page, f"# Table 1\n\n{body}\n\n{more}\n{_figures(results)}")
    untuned = defaults_table(cells, read_cells(results / "defaults" / "table1.json"))
    return [
        page,
        *publish(results, DOCS, body),
        *publish(results, README, headline(cells, paper)),
        *publish(results, CHOOSING, untuned, "defaults"),
    ]


def read_cells(path: Path) -> Cells:
    """The records of a file, in the order of the table."""
    found = read_json(path) or {}
    return {
        name: {m: found[name][m] for m in METHODS if m in found.get(name, {})} for name in DATASETS
    }


# ---------------------------------------------------------------------- the tables


def tables(cells: Cells, paper: dict[str, Any]) -> str:
    """The main results, which the documentation shows too."""
    done = sum(len(row) for row in cells.values())
    parts = [
        f"{done} of {len(DATASETS) * len(METHODS)} cells are there; the others show {MISSING}.",
        "## Test RMSE, protocol `paper`",
        "Original units, mean (standard deviation) over the seeds. Bold: within one standard "
        "deviation of the best of its row.",
        rmse_table(cells, paper),
        "## Targets",
        "Each cell: whether the target is reached, our error, and the largest error allowed. "
        "Protocol `paper`.",
        target_table(cells, paper),
        "## Test RMSE, protocol `strict`",
        score_table(cells, ("strict",), lambda s: s["rmse"], bold=True),
        "## Share of the measurements inside the 95 % interval",
        score_table(cells, ("paper",), lambda s: s["coverage"]["95%"]),
    ]
    return "\n\n".join(parts)


def details(cells: Cells) -> str:
    """All further tables: likelihood, coverage, horizon, times, settings, what made the numbers."""
    parts = [
        "## Log-likelihood per time step",
        score_table(cells, tuple(PROTOCOLS), lambda s: s["log_likelihood"]),
        f"## Coverage of the {', '.join(f'{level:.0%}' for level in LEVELS)} bands",
        coverage_table(cells),
        "## RMSE against the horizon, protocol `strict`",
        horizon_table(cells),
        "## Training time",
        "Seconds per seed, compilation included; in brackets milliseconds per gradient step of "
        "all seeds that train in one program.",
        time_table(cells),
        "## Settings",
        settings_table(cells),
        *_notes(cells),
    ]
    return "\n\n".join(parts)


def headline(cells: Cells, paper: dict[str, Any]) -> str:
    """The table of the README: our main method beside the paper and the strongest others."""
    header = ["data set", "CBF-SSM-50", "its 95 % band covers", "paper", "linear ARX", "GRU"]
    rows = []
    for name in DATASETS:
        scores = _finite(_scores(cells, name, "paper", lambda s: s["rmse"]))
        covered = _means(cells, name, lambda s: s["coverage"]["95%"]).get(_OURS)
        ours, arx, gru = (mean_std(scores[m]) if m in scores else MISSING for m in _SHORT)
        band = MISSING if covered is None else f"{covered:.0%}"
        rows.append([name, ours, band, _paper_cell(paper[name], _OURS).strip("*"), arx, gru])
    return markdown_table(header, rows)


def defaults_table(cells: Cells, untuned: Cells) -> str:
    """The library as it comes, beside what was chosen for Table 1, and the linear ARX.

    Behind an error: the share of the measurements that the 95 % band covers.
    """
    header = [
        *(TITLES[method] for method in _UNTUNED),
        "CBF-SSM-50 as chosen",
        "linear ARX",
        "mean",
    ]
    rows = []
    for name in (each for each in DATASETS if untuned[each]):
        theirs = _finite(_scores(untuned, name, "paper", lambda s: s["rmse"]))
        covered = _means(untuned, name, lambda s: s["coverage"]["95%"])
        shown = [
            f"{mean_std(theirs[method])}, {covered[method]:.0%}" if method in theirs else MISSING
            for method in _UNTUNED
        ]
        tuned = _finite(_scores(cells, name, "paper", lambda s: s["rmse"]))
        others = [tuned.get(method) for method in (_OURS, "arx", "constant-mean")]
        rows.append([name, *shown, *(mean_std(each) if each else MISSING for each in others)])
    return markdown_table(["data set", *header], rows)


def rmse_table(cells: Cells, paper: dict[str, Any]) -> str:
    rows = []
    for name in DATASETS:
        scores = _scores(cells, name, "paper", lambda s: s["rmse"])
        rows.append([name, "ours", *_row(scores, bold=True)])
        theirs = paper.get(name, {})
        rows.append(["", "paper", *(_paper_cell(theirs, method) for method in METHODS)])
    return _table(["data set", ""], rows)


def _paper_cell(theirs: dict[str, Sequence[float]], method: str) -> str:
    if method not in theirs:
        return MISSING
    best = min(theirs.values(), key=lambda pair: pair[0])
    return _bold(_pair(theirs[method]), theirs[method][0] <= best[0] + best[1])


def _pair(mean_and_std: Sequence[float]) -> str:
    mean, std = mean_and_std
    return f"{mean:.3f} ({std:.3f})"


def score_table(
    cells: Cells,
    protocols: Sequence[str],
    value: Callable[[dict[str, Any]], float | None],
    bold: bool = False,
) -> str:
    """One row per data set and protocol."""
    rows = [
        [name, protocol, *_row(_scores(cells, name, protocol, value), bold)]
        for name in DATASETS
        for protocol in protocols
    ]
    return _table(["data set", "protocol"], rows)


def coverage_table(cells: Cells) -> str:
    rows = [
        [name, protocol, *(_coverage_cell(cells[name].get(m), protocol) for m in METHODS)]
        for name in DATASETS
        for protocol in PROTOCOLS
    ]
    return _table(["data set", "protocol"], rows)


def _coverage_cell(record: dict[str, Any] | None, protocol: str) -> str:
    if record is None:
        return MISSING
    levels = [
        [seed[protocol]["coverage"][f"{level:.0%}"] for seed in record["seeds"]] for level in LEVELS
    ]
    if any(value is None for values in levels for value in values):
        return DIVERGED
    return " / ".join(f"{100 * sum(values) / len(values):.0f}" for values in levels)


def horizon_table(cells: Cells) -> str:
    """Steps after the last conditioned one; the mean over the seeds."""
    methods = (_OURS, "arx", "gru")
    rows = []
    for name in DATASETS:
        for method in methods:
            if (record := cells[name].get(method)) is None:
                continue
            rows.append([name, TITLES[method], _horizon_cell(record)])
    return markdown_table(["data set", "method", "up to step: RMSE"], rows, words=3)


def _horizon_cell(record: dict[str, Any]) -> str:
    runs = [seed["strict"]["horizon"] for seed in record["seeds"]]
    bins = zip(*runs, strict=True)
    return ", ".join(f"{each[0]['to']}: {_average(b['rmse'] for b in each)}" for each in bins)


def target_table(cells: Cells, paper: dict[str, Any]) -> str:
    """Which of the study's targets are reached, by data set; protocol `paper`."""
    header = ["data set"]
    header += [f"{TITLES[m]} ≤ paper + std" for m in _TARGETS]
    header += ["CBF-SSM-50 < paper", "CBF-SSM-50 ≤ ARX", "95 % band covers"]
    rows = [[name, *_targets(cells, name, paper.get(name, {}))] for name in DATASETS]
    return markdown_table(header, rows, words=len(header))


def _targets(cells: Cells, name: str, theirs: dict[str, Sequence[float]]) -> list[str]:
    means = _means(cells, name, lambda s: s["rmse"])
    answers = [_verdict(means, m, sum(theirs[m])) for m in _TARGETS]
    answers.append(_verdict(means, _OURS, theirs[_OURS][0], strictly=True))
    answers.append(_verdict(means, _OURS, means["arx"]) if "arx" in means else MISSING)
    covered = _means(cells, name, lambda s: s["coverage"]["95%"]).get(_OURS)
    if covered is None:
        return [*answers, MISSING]
    return [*answers, f"{_yes(_COVERED[0] <= covered <= _COVERED[1])}: {covered:.0%}"]


def _verdict(means: dict[str, float], method: str, limit: float, strictly: bool = False) -> str:
    if method not in means:
        return MISSING
    reached = means[method] < limit if strictly else means[method] <= limit
    return f"{_yes(reached)}: {means[method]:.3f}, {limit:.3f}"


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def time_table(cells: Cells) -> str:
    rows = [[name, *(_time_cell(cells[name].get(m)) for m in METHODS)] for name in DATASETS]
    return _table(["data set"], rows)


def _time_cell(record: dict[str, Any] | None) -> str:
    if record is None:
        return MISSING
    seconds, step = record["training_seconds_per_seed"], record["seconds_per_step"]
    return f"{seconds:.0f}" if step is None else f"{seconds:.0f} ({1000 * step:.1f})"


def settings_table(cells: Cells) -> str:
    """What the methods were run with: for ours the settings that decide most, else the choice."""
    rows = []
    for name, row in cells.items():
        lines: dict[str, list[str]] = {}  # methods with the same settings share a row
        for method, record in row.items():
            if text := _settings_text(record):
                lines.setdefault(text, []).append(TITLES[method])
        rows += [[name, ", ".join(methods), text] for text, methods in lines.items()]
    return markdown_table(["data set", "methods", "settings"], rows, words=3)


_MODEL = (
    "dim_x", "inducing_points", "particles", "recognition", "noise_draw", "lag", "lookahead",
    "start", "whitened", "covariance",
)  # fmt: skip
_TRAINING = (
    "steps", "learning_rate", "schedule", "inducing_kl", "state_kl", "batch_size",
    "sequence_length", "calibrate",
)  # fmt: skip


def _settings_text(record: dict[str, Any]) -> str:
    used = record["settings"]
    model = {key: Model.model_fields[key].default for key in _MODEL} | used.get("model", {})
    pairs = [(key, model[key]) for key in _MODEL] if "model" in used else []
    pairs += [(key, used["training"][key]) for key in _TRAINING] if "training" in used else []
    pairs += [("drift", size)] if (size := used.get("data", {}).get("drift")) else []
    pairs += [("half_life", rows)] if (rows := used.get("training", {}).get("half_life")) else []
    pairs += [("starts", n)] if (n := used.get("training", {}).get("starts", 1)) > 1 else []
    pairs += list(used.get("gru", {}).items())
    pairs += [("calibration_folds", n)] if (n := used.get("calibration_folds")) else []
    words = [f"{key} {value}" for key, value in pairs]
    return ", ".join([*words, record["chosen"]] if "chosen" in record else words)


def _notes(cells: Cells) -> list[str]:
    """What the loaders say of the data, and what the numbers were made with."""
    records = [record for row in cells.values() for record in row.values()]
    notes = {f"{r['dataset']}: {note}" for r in records for note in r["data_notes"]}
    versions = {(r["versions"]["commit"], r["versions"]["machine"]) for r in records}
    lines = [f"- {note}" for note in sorted(notes)]
    lines += [f"- made by commit {commit} on {machine}" for commit, machine in sorted(versions)]
    return ["## Notes", "\n".join(lines)] if lines else []


def _figures(results: Path) -> str:
    paths = [results / "figures" / f"{name}.png" for name in DATASETS]
    shown = [f"![{p.stem}](figures/{p.name})" for p in paths if p.is_file()]
    return "\n\n".join(["", "## Forecasts of CBF-SSM-50, seed 0", *shown, ""]) if shown else ""


# ---------------------------------------------------------------------- parts of a table


def _scores(
    cells: Cells, name: str, protocol: str, value: Callable[[dict[str, Any]], float | None]
) -> dict[str, list[float | None]]:
    """One value per seed of every method that is there."""
    row = cells[name].items()
    return {m: [value(seed[protocol]) for seed in record["seeds"]] for m, record in row}


def _means(
    cells: Cells, name: str, value: Callable[[dict[str, Any]], float | None]
) -> dict[str, float]:
    found = _finite(_scores(cells, name, "paper", value))
    return {method: sum(values) / len(values) for method, values in found.items()}


def _finite(scores: dict[str, list[float | None]]) -> dict[str, list[float]]:
    """Without the methods of which a seed diverged."""
    kept = {m: [v for v in values if v is not None] for m, values in scores.items()}
    return {m: values for m, values in kept.items() if len(values) == len(scores[m])}


def _row(scores: dict[str, list[float | None]], bold: bool) -> list[str]:
    finite = _finite(scores)
    best = best_within_std(finite) if bold else set()
    return [
        _bold(mean_std(finite[m]), m in best) if m in finite else _absent(m in scores)
        for m in METHODS
    ]


def _absent(computed: bool) -> str:
    return DIVERGED if computed else MISSING


def _average(values: Iterable[float | None]) -> str:
    known = list(values)
    if any(value is None for value in known):
        return DIVERGED
    return mean_std([sum(v for v in known if v is not None) / len(known)])


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _table(first: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    header = [*first, *(TITLES[method] for method in METHODS)]
    return markdown_table(header, rows, words=len(first))
