"""From a warm-up to a forecast: condition on the first outputs, then open loop on the prior."""

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.gp import make_keys

from .elbo import cast, factor_system, posterior_pass
from .family import System
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
