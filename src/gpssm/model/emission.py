"""y[t] ~ N(C x[t], Σy) with C = [I 0]: the first components of the state are the outputs."""

import equinox as eqx
from jaxtyping import Array, Float

from gpssm.gp.positive import positive


class Emission(eqx.Module):
    """The sensors: which components of the state they see, and diagonal noise Σy."""

    raw_noise: Float[Array, " outputs"]

    @property
    def noise(self) -> Float[Array, " outputs"]:
        """The diagonal of Σy."""
        return positive(self.raw_noise)

    @property
    def dim_y(self) -> int:
        """Number of outputs."""
        return self.raw_noise.shape[0]

    def observe(self, x: Float[Array, "*time states n"]) -> Float[Array, "*time outputs n"]:
        """C x, without noise."""
        return x[..., : self.dim_y, :]
