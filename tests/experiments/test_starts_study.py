"""Whether several starts pay: a choice of three out of eight, on what was held out."""

from dataclasses import replace
from itertools import permutations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from experiments.config import DATASETS, gpssm_settings, read_config
from experiments.files import ROOT

from experiments import pages, starts
from gpssm.training.progress import silent
from gpssm.training.starts import first_to_hold


@pytest.mark.parametrize("kept_of", [1, 2, 3, 7])
def test_the_error_is_that_of_all_choices_of_so_many(kept_of):
    """The i-th lowest of n is kept if the others are of the n - 1 - i above it."""
    own, held_out = np.random.default_rng(3).uniform(1.0, 2.0, (2, 7))
    chances = [comb(6 - i, kept_of - 1) / comb(7, kept_of) for i in range(7)]
    part = {"own": own, "held_out": held_out}
    found = starts.expected_error(part, kept_of, starts.lowest)
    assert found == pytest.approx(np.dot(chances, held_out[np.argsort(own)]))


def test_the_first_that_holds_is_any_that_has_not_failed():
    """In all orders: those a quarter above the best are left out, the others count alike."""
    own, held_out = np.array([0.2, 0.1, 0.12, 0.5]), np.array([7.0, 3.0, 1.0, 9.0])
    assert starts.first_to_hold(own, held_out) == 2.0
    kept = [held_out[list(order)][first_to_hold(own[list(order)].tolist())]
            for order in permutations(range(4))]  # fmt: skip
    assert np.mean(kept) == pytest.approx(2.0)


def record(own, held_out):
    return {"parts": [{"own": own, "held_out": held_out}]}


@pytest.mark.parametrize("keep", [starts.lowest, starts.first_to_hold])
def test_a_gain_is_relative_to_one_start(keep):
    """Of all three the one with 2 is kept; one start has 4 on average."""
    assert starts.gain(record([0.1, 0.2, 0.3], [2.0, 4.0, 6.0]), keep) == pytest.approx(0.5)
    assert starts.gain(record([0.3, 0.2, 0.1], [2.0, 4.0, 6.0]), keep) == pytest.approx(1.5)
    both = record([0.1, 0.2, 0.3], [2.0, 4.0, 6.0])
    both["parts"] += record([0.3, 0.2, 0.1], [2.0, 4.0, 6.0])["parts"]
    assert starts.gain(both, keep) == pytest.approx(np.sqrt(0.75))


def test_where_all_hold_only_the_lowest_error_makes_a_difference():
    alike = record([0.10, 0.11, 0.12], [6.0, 4.0, 2.0])
    assert starts.gain(alike, starts.lowest) == pytest.approx(1.5)
    assert starts.gain(alike, starts.first_to_hold) == pytest.approx(1.0)


def test_a_start_that_diverged_is_what_several_would_have_saved():
    assert starts.gain(record([0.1, None, 0.3], [2.0, 4.0, 6.0])) is None
    assert starts.pays([1.2, None, 1.0])


def test_it_pays_from_two_per_cent_on():
    assert starts.pays([0.9, 1.0, 1.04])
    assert not starts.pays([0.9, 1.1, 1.0])


@pytest.fixture(scope="module")
def job(data, tiny):
    return starts.make_job(tiny, data, "cbf-ssm-1", Path())


def test_every_start_is_judged_on_its_own_rows_and_on_others(job):
    found = job.run(silent)
    assert found["judge"] == "folds=2"
    assert [len(part[name]) for part in found["parts"] for name in part] == [8] * 4
    errors = [tuple(part[name]) for part in found["parts"] for name in part]
    assert len(set(errors)) == 4
    assert all(np.isfinite(each).all() and np.ptp(each) > 0 for each in errors)


def test_the_test_part_is_never_looked_at(job, data, tiny):
    poisoned = replace(
        data,
        experiments=tuple(
            replace(run, y=np.full_like(run.y, 1e6)) if run.part == "test" else run
            for run in data.experiments
        ),
    )
    again = starts.make_job(tiny, poisoned, "cbf-ssm-1", Path())
    assert again.run(silent)["parts"] == job.run(silent)["parts"]


def test_the_page_is_what_the_records_say():
    page, results = pages.DOCS.read_text(encoding="utf-8"), ROOT / "results"
    written = {
        "starts": starts.starts_table(starts.read_records(results)),
        "tested": starts.tested_table(*starts.read_tested(results)),
    }
    for name, table in written.items():
        assert page == pages.between_markers(page, table, name), "run: make table1 ARGS=--pages"


def test_test_errors_with_one_start_stand_beside_those_with_several():
    scored = lambda *rmses: {"seeds": [{"paper": {"rmse": each}} for each in rmses]}  # noqa: E731
    cells, alone = ({name: {} for name in DATASETS} for _ in range(2))
    cells["tank"] = {"pr-ssm": scored(0.2, 0.4), "vcdt": scored(9.0)}
    cells["drive"] = {"pr-ssm": scored(1.0)}  # was not computed again
    alone["tank"] = {"pr-ssm": scored(0.2, None)}
    *_, row = starts.tested_table(cells, alone).splitlines()
    words = [cell.strip() for cell in row.strip("|").split("|")]
    assert words[:4] == ["tank", "PR-SSM", "diverged", "diverged"]
    assert words[4:] == ["0.300 (0.141)", "0.200 to 0.400"]


def test_the_settings_follow_the_rule():
    config, records = read_config(), starts.read_records(ROOT / "results")
    for name in starts.SMALL:
        gains = [starts.gain(records[name][method]) for method in starts.METHODS]
        wanted = 3 if starts.pays(gains) else 1
        for method in starts.METHODS:
            training = gpssm_settings(config, name, method).training
            assert training is not None
            assert training.starts == wanted, (name, method)
