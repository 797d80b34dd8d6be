"""From a warm-up to a forecast: condition on the first outputs, then open loop on the prior."""

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from gpssm.gp import make_keys

from .elbo import cast, factor_system, posterior_pass
from .family import System
from .forward import roll
from .sequences import Sequences


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
    dtype = u.dtype
    local, factors = cast(system, dtype), factor_system(system, dtype)
    keys = make_keys(key, u.shape[-1])
    return posterior_pass(keys, local, factors, warmup, conditioned, u).forward.x


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
    dtype = u.dtype
    local, factors = cast(system, dtype), factor_system(system, dtype)
    *_, keys_forward = make_keys(key, u.shape[-1]).split(3)
    keys_draw, keys_noise = keys_forward.split(2)
    return roll(keys_draw, keys_noise.fold_in(part + 1), local, factors.forward, x, u, None).x
