"""Optuna proposes configurations, by asking and telling; what it knows is rebuilt from the table.

It proposes in rounds. A round depends on the finished ones before it and on the seed, and on
nothing else: a driver that was killed asks for the same configurations again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpssm.errors import ConfigError

from .settings import Range, Search, Values
from .space import Chosen


class Told(NamedTuple):
    """A finished configuration, and how good it was; an infinite loss is one that failed."""

    chosen: Chosen
    loss: float


def propose(search: Search, told: Sequence[Told], first: int) -> list[Chosen]:
    """The round that begins with the configuration `first`."""
    optuna = _optuna()
    space = {name: _distribution(optuna, values) for name, values in search.space.items()}
    seed = int(np.random.SeedSequence([search.seed, first]).generate_state(1)[0])
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
    for each in told:
        known = {name: _encode(search.space[name], value) for name, value in each.chosen.items()}
        study.add_trial(
            optuna.trial.create_trial(params=known, distributions=space, value=each.loss)
        )
    asked = [study.ask(space).params for _ in range(search.at_once)]
    return [
        {name: _decode(search.space[name], value) for name, value in params.items()}
        for params in asked
    ]


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "search: got kind 'optuna', which is not installed. pip install 'gpssm[cluster]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _distribution(optuna: Any, values: Values) -> Any:
    """Choices go by their position: Optuna knows numbers and texts only."""
    kinds = optuna.distributions
    if not isinstance(values, Range):
        return kinds.CategoricalDistribution(range(len(values)))
    kind = kinds.IntDistribution if values.whole else kinds.FloatDistribution
    return kind(*values.ends, log=values.log)


def _encode(values: Values, value: Any) -> Any:
    return value if isinstance(values, Range) else values.index(value)


def _decode(values: Values, value: Any) -> Any:
    return value if isinstance(values, Range) else values[value]
