"""A folder belongs to what has started in it, also if somebody has broken its file."""

import pytest

from gpssm.claims import claim
from gpssm.errors import ConfigError


def test_the_same_goes_on_and_another_is_refused(tmp_path):
    path = tmp_path / "run.json"
    claim(path, {"training": {"steps": 3}}, "run_dir")
    claim(path, {"training": {"steps": 3}}, "run_dir")
    with pytest.raises(ConfigError, match=r"training.steps: was 3, is 4"):
        claim(path, {"training": {"steps": 4}}, "run_dir")


def test_a_damaged_file_is_one_sentence(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"training": ')
    with pytest.raises(ConfigError, match=r"run_dir: got .*damaged.*Use another run_dir"):
        claim(path, {"training": {}}, "run_dir")
