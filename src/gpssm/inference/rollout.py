"""From a warm-up to a forecast: condition on the first outputs, then open loop on the prior."""

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from gpssm.gp import make_keys

from .family import System
from .forward import forward_pass
from .methods.abstract import find_method
from .sequences import Sequences
from .terms import cast, factor_system


@eqx.filter_jit
def predict(
    key: PRNGKeyArray,
    system: System,
    u: Float[Array, "time controls batch"],
    warmup: Sequences,
    conditioned: int,
) -> Float[Array, "time states n"]:
    """Particles of x[1:T], normalised. Only the warm-up's outputs are seen.

    The backward pass smooths the whole warm-up; its first `conditioned` steps are conditioned on.
    """
    keys = make_keys(key, u.shape[-1])
    return find_method(system.config).predict(keys, system, u, warmup, conditioned)


@eqx.filter_jit
def go_on(
    key: PRNGKeyArray,
    system: System,
    x: Float[Array, "states n"],
    u: Float[Array, "time controls batch"],
    part: Int[Array, ""],
) -> Float[Array, "time states n"]:
    """Open loop from where `predict` ended: the same functions, and noise of its own per part.

    The first row is x itself, at the time of the first row of u.
    """
    local, factors = cast(system, u.dtype), factor_system(system, u.dtype)
    keys = find_method(system.config).forward_keys(make_keys(key, u.shape[-1]))
    return forward_pass(keys, local, factors.forward, x, u, None, part).x
