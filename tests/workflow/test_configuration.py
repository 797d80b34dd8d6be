"""What a configuration may hold, and what is said of one that is none."""

import pytest

from gpssm import ConfigError
from gpssm.workflow.configuration import make_config, read_config


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "1" * 100_000, "x = y", "\x00"])
def test_a_file_without_a_configuration_is_refused(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="expected a TOML file"):
        read_config(path)


@pytest.mark.parametrize("value", [1, 2.5, "none", [3]])
def test_a_value_in_the_place_of_a_section_is_refused(value):
    with pytest.raises(ConfigError, match=r"forecast: got .*, expected a section \[forecast\]"):
        make_config({"forecast": value, "data": {"files": ["log.csv"]}}, {})
