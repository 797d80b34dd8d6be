"""The example's file is what the example says it is, and the example is short."""

from pathlib import Path

import gpssm.data as gd

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_csv_of_the_example_has_time_two_inputs_and_gaps():
    path = EXAMPLES / "own.csv"
    data = gd.read(path, inputs=["pump", "valve"], outputs="level", time="time").split(train=0.7)
    assert data.sampling_time == 2.0
    assert (data.dim_u, data.dim_y) == (2, 1)
    assert not data.train[0].mask.all()
    assert data.test[0].mask[-1, 0]
    assert len((EXAMPLES / "own_csv.py").read_text().splitlines()) < 20
