"""The study of sequence lengths: how it chooses, and what it says of records that are known."""

import pytest
from experiments.horizon import lengths as study


def fits(errors, coverage=0.9):
    return {str(i): {"mean_square": e**2, "coverage": coverage} for i, e in enumerate(errors)}


RECORDS = {
    "default 1000": fits([1.0, 1.0, 1.0]),
    "growing 1000": fits([0.1, 0.9, 0.9]),
    "inside 1000": fits([0.8, 0.8, 0.8], coverage=0.8),
}


def test_a_third_is_no_judge_of_the_candidate_that_counts_in_it():
    """In the first third `growing` is far better, which the others do not know."""
    assert study.chosen(RECORDS, 0) == "inside"
    assert study.chosen(RECORDS, 1) == "growing"


def test_a_row_has_the_chosen_errors_of_all_thirds():
    row = study.make_row("tank", RECORDS)
    assert row.default == pytest.approx(1.0)
    assert row.chosen == pytest.approx(((0.8**2 + 2 * 0.9**2) / 3) ** 0.5)
    assert row.covers == pytest.approx((0.9, (0.8 + 2 * 0.9) / 3))
    assert row.longer is None


def test_more_steps_are_compared_in_the_same_third():
    longer = {"growing 3000": {"1": {"mean_square": 0.99**2, "coverage": 0.9}}}
    assert study.make_row("tank", {**RECORDS, **longer}).longer == pytest.approx(1.1)


def test_the_summary_names_what_is_worse_and_leaves_out_what_is_not_complete():
    worse = {**RECORDS, "default 1000": fits([0.5, 0.5, 0.5])}
    text = study.page({"tank": RECORDS, "drive": worse, "emps": {"default 1000": {}}})
    assert "2 sets" in text
    assert "Above 1.10: drive." in text
    assert "| emps" not in text


def test_a_record_is_not_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "lengths.json"
    job = study.Job("tank", "default", 1000, 0)
    study.add_record(path, job.key, {"mean_square": 1.0})
    monkeypatch.setattr(study, "run_job", lambda *_: pytest.fail("computed again"))
    study.compute([job], path, workers=1)
    assert study.read_json(path) == {"tank": {"default 1000": {"0": {"mean_square": 1.0}}}}
