"""`gpssm report`, `compare` and `demo`."""

from collections.abc import Sequence
from pathlib import Path

import gpssm
from gpssm.errors import ConfigError, expected
from gpssm.report.compare import Compared, comparison_page
from gpssm.report.evaluation import evaluate
from gpssm.report.material import ReportInput
from gpssm.report.page import report_page

from .folders import CONFIG, REPORT, RunFolder, check_demo_folder, open_folder, write_whole
from .scoring import Judged, judge
from .talk import may_write, show, show_json


def write_report(folder: RunFolder, path: Path, judged: Judged, seed: int | None = None) -> Path:
    """The page of one run, about one of its seeds; the table has all of them."""
    chosen = folder.choose(seed)
    given = ReportInput(
        title=folder.name,
        run=chosen,
        data=folder.data,
        evaluation=judged.seeds[chosen.seed],
        baselines=judged.baselines,
        other_seeds={s: each for s, each in judged.seeds.items() if s != chosen.seed},
        configuration=(folder.path / CONFIG).read_text(encoding="utf-8"),
    )
    return write_whole(path, report_page(given))


def report_command(
    paths: Sequence[Path], out: Path | None, seed: int | None, overwrite: bool, as_json: bool
) -> None:
    """A page for each run."""
    if out is not None and len(paths) > 1:
        remedy = "Leave --out out: each run gets its own report.html."
        raise ConfigError(expected("--out", f"{len(paths)} runs", "one", remedy))
    if out is not None:
        may_write(out, overwrite)
    gpssm.prepare()
    pages = []
    for path in paths:
        folder = open_folder(path)
        pages.append(write_report(folder, out or path / REPORT, judge(folder), seed))
    if as_json:
        show_json({"reports": pages})
    else:
        show("\n".join(f"report  {page}" for page in pages))


def compare_command(paths: Sequence[Path], out: Path, overwrite: bool, as_json: bool) -> None:
    """One page for several runs."""
    may_write(out, overwrite)
    gpssm.prepare()
    compared = [
        _compared(open_folder(path), name) for path, name in zip(paths, _names(paths), strict=True)
    ]
    write_whole(out, comparison_page(compared))
    if as_json:
        show_json({"page": out, "scores": {c.name: c.evaluation.scores for c in compared}})
    else:
        show(f"page    {out}")


def _names(paths: Sequence[Path]) -> list[str]:
    """Those of the folders; where two have the same one, the paths as they were given."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _compared(folder: RunFolder, name: str) -> Compared:
    run = folder.choose()
    evaluation = evaluate(run, folder.data.test, folder.protocol, folder.trained_on)
    return Compared(name, run, folder.data, evaluation)


def demo_command(out: Path, as_json: bool) -> None:
    """What `make demo` runs."""
    from gpssm.demo import FILES, main

    check_demo_folder(out, FILES)
    gpssm.prepare()
    results = main(out, quiet=as_json)
    if as_json:
        show_json(results)
