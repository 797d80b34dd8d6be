"""The sequence-length study on a car that trains for a moment: cells, resumption, pages."""

import json

import jax
import numpy as np
import pytest
from experiments.car import pages
from experiments.car.dubins import WARMUP, cut_stretches
from experiments.car.figure3a import (
    fit_runs,
    fitted_noise,
    make_job,
    open_loop,
    run_length,
    settings_for,
)
from experiments.common.config import merge
from experiments.common.files import add_record

from gpssm.data.benchmarks.simulators import dubins
from gpssm.training.progress import silent

CONFIG = {
    "seeds": 2,
    "seeds_at_once": 2,
    "model": {"dim_x": 3, "inducing_points": 4, "particles": 3, "lag": 8},
    "training": {"steps": 2, "batch_size": 2, "stride": 50, "calibrate": False},
}


@pytest.fixture(scope="module")
def car():
    return dubins(jax.random.key(4), steps=1000, train=400)


@pytest.fixture(scope="module")
def record(car):
    settings = settings_for(CONFIG, car, "cbf-ssm-1", 12)
    return run_length(car, "cbf-ssm-1", 12, settings, silent)


def test_windows_leave_no_gap_and_a_recognition_network_fits_into_them(car):
    short, long = (settings_for(CONFIG, car, "pr-ssm", length) for length in (10, 60))
    assert (short.training.sequence_length, short.training.stride) == (10, 10)
    assert (long.training.sequence_length, long.training.stride) == (60, 50)
    assert (short.model.warmup, long.model.warmup) == (10, 16)


def test_only_shorter_stages_come_first(car):
    stages = [{"steps": 1, "sequence_length": 20}]
    config = merge(CONFIG, {"training": {"stages": stages}})
    short, long = (settings_for(config, car, "pr-ssm", length) for length in (20, 40))
    assert short.training.stages == ()
    assert [stage.sequence_length for stage in long.training.stages] == [20]


def test_a_cell_tells_scores_and_noise_of_every_seed(record, car):
    assert len(record["seeds"]) == 2
    for seed in record["seeds"]:
        assert set(seed["rmse_at"]) == {"25", "50", "100", "300"}
        assert len(seed["observation_variance"]) == len(seed["process_variance"]) == 2
    assert record["seeds"][0]["rmse"] != record["seeds"][1]["rmse"]
    json.dumps(record, allow_nan=False)


def test_noise_is_told_in_the_units_of_the_data(car):
    run = fit_runs(car, settings_for(CONFIG, car, "cbf-ssm-1", 12), silent)[0]
    found = fitted_noise(run)["observation_variance"]
    scale = np.var(car.train[0].y, axis=0)
    np.testing.assert_allclose(found, np.asarray(run.system.model.emission.noise) * scale)


def test_a_method_that_cannot_condition_starts_from_its_last_outputs(car):
    run = fit_runs(car, settings_for(CONFIG, car, "pr-ssm", 12), silent)[0]
    stretch = cut_stretches(car, 1)[0]
    forecast = open_loop(run)(stretch.u, stretch.y[:WARMUP])
    skipped = WARMUP - 12
    assert forecast.particles.shape == (3, len(stretch), 2)
    np.testing.assert_array_equal(forecast.particles[0, :skipped], stretch.y[:skipped])
    late = run.predict(stretch.u[skipped:], stretch.y[skipped:WARMUP])
    np.testing.assert_array_equal(forecast.particles[:, skipped:], late.particles)


def test_a_finished_cell_is_not_computed_again(record, car, tmp_path):
    job = make_job(CONFIG, car, "cbf-ssm-1", 12, tmp_path)
    assert not job.is_done
    add_record(job.path, job.key, record)
    assert make_job(CONFIG, car, "cbf-ssm-1", 12, tmp_path).is_done
    assert not make_job({**CONFIG, "seeds": 3}, car, "cbf-ssm-1", 12, tmp_path).is_done


def test_the_page_compares_at_the_greatest_length_that_all_methods_have():
    def cell(method, length, *errors):
        return {"method": method, "length": length, "seeds": [{"rmse": e} for e in errors]}

    records = [cell("pr-ssm", 50, 4.0), cell("vcdt", 50, 1.0, 3.0), cell("cbf-ssm-1", 50, 0.5)]
    assert pages.ratios(records[1:]) == []
    (told,) = pages.ratios([*records, cell("pr-ssm", 300, 4.0), cell("vcdt", 300, None)])
    assert "at length 50" in told
    assert "0.12 of that of PR-SSM and 0.25 of that of VCDT" in told


def test_pages_show_every_cell_the_references_and_the_true_noise(record, tmp_path):
    at = {"25": 1.0, "50": 2.0, "100": 3.0, "300": 4.0}
    lines = {"hold the last position": 4.5, "true equations": 0.04}
    references = {name: {"rmse": rmse, "rmse_at": at} for name, rmse in lines.items()}
    study = {"references": references, "cells": {"cbf-ssm-1": {"12": record}}}
    (tmp_path / "figure3a.json").write_text(json.dumps(study))
    page, figure = pages.write(tmp_path)
    text = page.read_text()
    assert figure.stat().st_size > 10_000
    assert "| CBF-SSM-1 | 12 |" in text
    assert "| true equations |  | 0.040 | 1.000 | 2.000 |" in text
    assert "| truth |  | 1.0e-04 | 1.0e-05 |" in text
