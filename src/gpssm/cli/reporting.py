"""`gpssm report`, `compare` and `demo`."""

from collections.abc import Sequence
from pathlib import Path

import gpssm
from gpssm.base.errors import ConfigError, expected
from gpssm.base.files import write_whole
from gpssm.evaluation.scoring import evaluate, evaluate_baselines
from gpssm.report.compare import Compared, comparison_page
from gpssm.training.phase import phase
from gpssm.workflow.folder import RunFolder, check_own, open_folder
from gpssm.workflow.scoring import tested_part

from .console import may_write, show, show_json


def report_command(
    paths: Sequence[Path],
    data: Sequence[str],
    out: Path | None,
    seed: int | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool = False,
) -> None:
    """A page for each run, about its test part or about other data."""
    if out is not None and len(paths) > 1:
        remedy = "Leave --out out: each run gets its own report.html."
        raise ConfigError(expected("--out", f"{len(paths)} runs", "one", remedy))
    if out is not None:
        may_write(out, overwrite)
    gpssm.prepare()
    folders = [open_folder(path) for path in paths]
    if data:
        folders = [folder.about(data) for folder in folders]
        for folder in folders:  # data of another day may have the same name
            may_write(out or folder.report, overwrite or out is not None)
    pages = [folder.write_report(path=out, seed=seed, quiet=quiet) for folder in folders]
    if as_json:
        show_json({"reports": pages})
    else:
        show("\n".join(f"report  {page}" for page in pages))


def compare_command(
    paths: Sequence[Path], out: Path, overwrite: bool, as_json: bool, quiet: bool = False
) -> None:
    """One page for several runs."""
    may_write(out, overwrite)
    gpssm.prepare()
    folders = [open_folder(path) for path in paths]
    compared = []
    with phase("scores", len(folders) + 1, quiet) as tell:
        for pair in zip(folders, _names(paths), strict=True):
            compared.append(_compared(*pair))
            tell()
        first = folders[0]
        test = tested_part(first.data)
        baselines = evaluate_baselines(first.data.train, test, first.protocol, first.trained_on)
        tell()
    write_whole(out, comparison_page(compared, baselines))
    if as_json:
        scores = {each.name: each.evaluation.to_json() for each in compared}
        show_json({"page": out, "scores": scores})
    else:
        show(f"page    {out}")


def _names(paths: Sequence[Path]) -> list[str]:
    """Names of the folders; the given paths where two names are equal."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _compared(folder: RunFolder, name: str) -> Compared:
    run = folder.choose()
    evaluation = evaluate(run, tested_part(folder.data), folder.protocol, folder.trained_on)
    name = name if evaluation.tested else f"{name} (not tested)"
    return Compared(name, run, folder.data, evaluation)


def demo_command(out: Path, as_json: bool, quiet: bool = False) -> None:
    """Fit and report the simulated tanks."""
    from gpssm.workflow.demo import is_demo, main

    check_own(out, is_demo(out), "a new folder or that of a demo")
    gpssm.prepare()
    results = main(out, silent=as_json, quiet=quiet)
    if as_json:
        show_json(results)
