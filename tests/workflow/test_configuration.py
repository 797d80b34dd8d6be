"""What a configuration may hold, and what is said of one that is none."""

import pytest

from gpssm import ConfigError
from gpssm.workflow.configuration import read_config


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "1" * 100_000, "x = y", "\x00"])
def test_a_file_without_a_configuration_is_refused(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="expected a TOML file"):
        read_config(path)
