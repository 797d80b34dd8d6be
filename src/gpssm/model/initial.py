"""x[1] ~ N(μ1, Σ1)."""

import equinox as eqx
from jaxtyping import Array, Float

from gpssm.gp.positive import positive


class InitialState(eqx.Module):
    """The first state. An uninformative prior costs nothing in the ELBO, as in the paper.

    μ1 and Σ1 are also where the backward pass begins at the end of a sequence.
    """

    mean: Float[Array, " states"]
    raw_variance: Float[Array, " states"]
    informative: bool = eqx.field(static=True)

    @property
    def variance(self) -> Float[Array, " states"]:
        """The diagonal of Σ1."""
        return positive(self.raw_variance)
