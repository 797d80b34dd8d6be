"""`gpssm report`, `compare` and `demo`."""

from collections.abc import Sequence
from pathlib import Path

import gpssm
from gpssm.base.errors import ConfigError, expected
from gpssm.base.files import write_whole
from gpssm.evaluation.scoring import evaluate
from gpssm.report.compare import Compared, comparison_page
from gpssm.workflow.folder import RunFolder, check_own, open_folder

from .console import may_write, show, show_json


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
    pages = [open_folder(path).write_report(path=out, seed=seed) for path in paths]
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
        show_json({"page": out, "scores": {c.name: c.evaluation.to_json() for c in compared}})
    else:
        show(f"page    {out}")


def _names(paths: Sequence[Path]) -> list[str]:
    """Names of the folders; the given paths where two names are equal."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _compared(folder: RunFolder, name: str) -> Compared:
    run = folder.choose()
    evaluation = evaluate(run, folder.data.test, folder.protocol, folder.trained_on)
    return Compared(name, run, folder.data, evaluation)


def demo_command(out: Path, as_json: bool) -> None:
    """Fit and report the simulated tanks."""
    from gpssm.workflow.demo import FILES, main

    own = out.is_dir() and {each.name for each in out.iterdir()} <= set(FILES)
    check_own(out, own, "a new folder or that of a demo")
    gpssm.prepare()
    results = main(out, quiet=as_json)
    if as_json:
        show_json(results)
