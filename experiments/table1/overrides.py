"""Settings from the command line, on top of all that a file says.

--set training.steps=500,1000 --set model.noise_draw=shared --set training.half_life=null,100
--set calibration_folds=5
"""

import tomllib
from typing import Any

from gpssm.base.errors import ConfigError, expected

from ..common.config import merge

_NOTHING = "null"  # TOML has no word for it
Candidate = dict[str, Any]  # "training.steps" → 500; ".calibration_folds" → 5, which has no table
Grid = dict[str, dict[str, list[Any]]]


def parse_set(text: str) -> Grid:
    """`training.steps=500,1000` as a grid of one setting."""
    name, _, values = text.partition("=")
    table, _, key = name.rpartition(".")
    found = tomllib.loads(f"values = [{_quoted(values)}]")["values"]
    return {table: {key: [None if value == _NOTHING else value for value in found]}}


def _quoted(values: str) -> str:
    """Words need no quotes on the command line; numbers and booleans stay what they are."""
    words = (word.strip() for word in values.split(","))
    bare = lambda w: w in ("true", "false", "inf") or not w[:1].isalpha()  # noqa: E731
    return ", ".join(word if bare(word) else f'"{word}"' for word in words)


def with_candidate(
    config: dict[str, Any], dataset: str, method: str, candidate: Candidate
) -> dict[str, Any]:
    """The configuration with the candidate on top of all that it says itself."""
    own: dict[str, Any] = {}
    for name, value in candidate.items():
        table, _, key = name.partition(".")
        (own.setdefault(table, {}) if table else own)[key] = value
    return merge(config, {"datasets": {dataset: {"methods": {method: own}}}})


def parse_candidate(texts: list[str]) -> Candidate:
    """Settings that have one value each."""
    candidate: Candidate = {}
    for text in texts:
        for table, row in parse_set(text).items():
            for key, values in row.items():
                if len(values) != 1:
                    raise ConfigError(expected("--set", repr(text), "one value"))
                candidate[f"{table}.{key}"] = values[0]
    return candidate
