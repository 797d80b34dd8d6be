"""Optuna proposes configurations, by asking and telling; what it knows is rebuilt from the table.

It proposes in rounds. A round depends on the finished ones before it and on the seed, and on
nothing else: a driver that was killed asks for the same configurations again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpssm.base.extras import load_extra

from .settings import Range, Search, Values
from .space import Chosen


def propose(search: Search, earlier: Sequence[tuple[Chosen, float]], first: int) -> list[Chosen]:
    """The round from the configuration `first` on, given `earlier` ones with their losses."""
    optuna = _optuna()
    space = {name: _distribution(optuna, values) for name, values in search.space.items()}
    seed = int(np.random.SeedSequence([search.seed, first]).generate_state(1)[0])
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
    for chosen, loss in earlier:  # infinite where a fit failed
        known = {name: _encode(search.space[name], value) for name, value in chosen.items()}
        trial = optuna.trial.create_trial(params=known, distributions=space, value=loss)
        study.add_trial(trial)
    asked = [study.ask(space).params for _ in range(search.at_once)]
    return [
        {name: _decode(search.space[name], value) for name, value in params.items()}
        for params in asked
    ]


def _optuna() -> Any:
    optuna = load_extra("optuna", "cluster", "search: kind 'optuna'")
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
