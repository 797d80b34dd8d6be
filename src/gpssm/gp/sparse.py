"""A sparse GP: M inducing inputs z, inducing values u with q(u) = N(m, S).

Everything that depends on z alone is computed once per gradient step by `factorise`, in float64.
What the time loop then needs of x is a = Lz⁻¹ k(z, x), a product and not a solve.

    whitened (u = Lz v, q(v) = N(m, S)):   E f = aᵀ m          Var f = k(x,x) − aᵀa + aᵀ S a
    in u-space (q(u) = N(m, S)):           E f = bᵀ m          Var f = k(x,x) − aᵀa + bᵀ S b
                                           with b = Lz⁻ᵀ a, so E f = aᵀ (Lz⁻¹ m)
"""

import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from .cholesky import Cholesky, cholesky
from .kernels import AbstractCovariance, AbstractKernel
from .keys import Keys
from .positive import positive, raw_positive

Covariance = Literal["diagonal", "full", "delta"]
Features = Float[Array, "groups m n"]
PerGroup = Float[Array, "groups n"]
PerOutput = Float[Array, "outputs n"]
# How a checkpoint of the time loop can name them.
PRODUCTS, MOMENTS = "products with k(z, x)", "moments of f"

# Jitter on the diagonal of Kzz, relative to its mean. In float32 the product with Lz⁻¹ amplifies
# rounding by the condition number of Lz, hence the larger start.
FIRST_JITTER = {"float64": 1e-8, "float32": 1e-5}


class InducingPosterior(eqx.Module):
    """q(u) = N(m, S) for each output, with S diagonal, full (Cholesky) or zero (delta)."""

    mean: Float[Array, "outputs m"]
    raw_scale: Float[Array, "outputs m"] | Float[Array, "outputs m m"] | None
    whitened: bool = eqx.field(static=True)
    covariance: Covariance = eqx.field(static=True)

    @property
    def std(self) -> Float[Array, "outputs m"] | None:
        """√diag(S) of a diagonal S."""
        if self.raw_scale is None or self.covariance != "diagonal":
            return None
        return positive(self.raw_scale)

    @property
    def root(self) -> Float[Array, "outputs m m"] | None:
        """The Cholesky factor of a full S: a free lower triangle with a positive diagonal."""
        if self.raw_scale is None or self.covariance != "full":
            return None
        lower = jnp.tril(self.raw_scale, -1)
        diagonal = positive(jnp.diagonal(self.raw_scale, axis1=-2, axis2=-1))
        return lower + diagonal[..., None] * jnp.eye(lower.shape[-1], dtype=lower.dtype)[None]


def make_inducing_posterior(
    mean: Float[Array, "outputs m"], std: float, covariance: Covariance, whitened: bool
) -> InducingPosterior:
    """q(u) with the given mean and the same standard deviation everywhere."""
    outputs, m = mean.shape
    raw: Array | None = None
    if covariance == "diagonal":
        raw = raw_positive(np.full((outputs, m), std))
    elif covariance == "full":
        raw = jnp.tile(raw_positive(std) * jnp.eye(m)[None], (outputs, 1, 1))
    return InducingPosterior(mean, raw, whitened, covariance)


class SparseGP(eqx.Module):
    """The parameters of a sparse GP with independent outputs."""

    kernel: AbstractKernel
    inducing_inputs: Float[Array, "m inputs"]
    posterior: InducingPosterior


class Factor(eqx.Module):
    """What the time loop needs of a sparse GP, factored once and cast to the rollout's dtype.

    In the coordinates of a = Lz⁻¹ k(z, x) the mean of q(u) is `mean`. Its covariance enters as
    `std` on b (in u-space) or on a (whitened), or as `root` on a. `rows` times k(z, x) gives a,
    then b where `std` is for it, and then the mean.
    """

    kernel: AbstractKernel
    z: Float[Array, "inputs m"]
    kernel_at_z: AbstractCovariance
    Lz_inverse: Float[Array, "groups m m"]
    mean: Float[Array, "outputs m"]
    std: Float[Array, "outputs m"] | None
    variances: Float[Array, "m outputs"] | None
    root: Float[Array, "outputs m m"] | None
    rows: Float[Array, "groups rows m"]
    whitened: bool = eqx.field(static=True)


def inducing_cholesky(gp: SparseGP, dtype: DTypeLike) -> Cholesky:
    """Lz, the Cholesky factor of k(z, z), and Lz⁻¹, with the jitter of `dtype`."""
    z = gp.inducing_inputs.T
    return cholesky(gp.kernel.matrix(z, z), FIRST_JITTER[jnp.dtype(dtype).name])


def factorise(gp: SparseGP, Lz: Cholesky, dtype: DTypeLike) -> Factor:
    """Everything about z and q(u), in the precision of the parameters, then cast to `dtype`."""
    q, Lz_inverse = gp.posterior, Lz.inverse
    mean, std, root = q.mean, q.std, q.root
    if not q.whitened:
        mean = (Lz_inverse @ mean[..., None])[..., 0]
        root = None if root is None else Lz_inverse @ root
    z = gp.inducing_inputs.T
    kernel_at_z = gp.kernel.at(z)
    variances = None if std is None else jnp.square(std).T
    rows = _rows(Lz_inverse, mean, of_b=std is not None and not q.whitened)
    of_q = mean, std, variances, root, rows, q.whitened
    factor = Factor(gp.kernel, z, kernel_at_z, Lz_inverse, *of_q)
    return jax.tree.map(lambda leaf: leaf.astype(dtype), factor)


def _rows(
    Lz_inverse: Float[Array, "groups m m"], mean: Float[Array, "outputs m"], of_b: bool
) -> Float[Array, "groups rows m"]:
    """The rows that turn k(z, x) into a, into b if asked for, and into E f: one product, not three.

    The time loop's derivative must go through a and Lz⁻¹ where the variance does. That of aᵀa is
    2b, too, and b is there, but in float32 b has rounding errors as large as the condition number.
    """
    groups, m, _ = Lz_inverse.shape
    of_mean = mean.reshape(groups, -1, m) @ Lz_inverse
    Kz_inverse = [jnp.swapaxes(Lz_inverse, -1, -2) @ Lz_inverse] if of_b else []
    return jnp.concatenate([Lz_inverse, *Kz_inverse, of_mean], axis=1)


def whitened_features(factor: Factor, x: Float[Array, "inputs n"]) -> Features:
    """a = Lz⁻¹ k(z, x)."""
    return factor.Lz_inverse @ factor.kernel_at_z(x)


def prior_variance(factor: Factor, a: Features, x: Float[Array, "inputs n"]) -> PerGroup:
    """Var(f(x) given u) = k(x,x) − aᵀa."""
    return _unexplained(factor.kernel_at_z.diagonal(x), jnp.sum(jnp.square(a), axis=1))


def _unexplained(total: PerGroup, explained: PerGroup) -> PerGroup:
    """k(x,x) − aᵀa, kept above zero against rounding."""
    return jnp.maximum(total - explained, jnp.finfo(total.dtype).eps * total)


def conditional(factor: Factor, x: Float[Array, "inputs n"]) -> tuple[PerOutput, PerOutput]:
    """Mean and variance of f(x) with u integrated out over q(u)."""
    groups, rows, m = factor.rows.shape
    ends = list(range(m, rows - factor.mean.shape[0] // groups + 1, m))  # of a, of b if there
    products = checkpoint_name(factor.rows @ factor.kernel_at_z(x), PRODUCTS)
    *features, mean = jnp.split(products, ends, axis=1)
    explained = jnp.sum(jnp.square(features[0]), axis=1)
    added = _added_variance(factor, features[-1])
    moments = mean.reshape(added.shape), explained, added
    mean, explained, added = checkpoint_name(moments, MOMENTS)
    total = factor.kernel_at_z.diagonal(x)
    return mean, jnp.broadcast_to(_unexplained(total, explained) + added, mean.shape)


def _added_variance(factor: Factor, features: Features) -> PerOutput:
    """What the uncertainty of u adds: bᵀ S b or aᵀ S a, whichever S is stated for."""
    if factor.root is not None:
        return jnp.sum(jnp.square(jnp.swapaxes(factor.root, -1, -2) @ features), axis=1)
    outputs, n = factor.mean.shape[0], features.shape[2]
    if factor.variances is None:
        return jnp.zeros((outputs, n), features.dtype)
    return weigh(factor.variances, jnp.square(features))


def weigh(weights: Float[Array, "m outputs"], features: Features) -> PerOutput:
    """Σ_m weights[m, d] features[g, m, n], with g = d, or the one group that all outputs share."""
    if features.shape[0] == 1:
        return weights.T @ features[0]
    return jnp.einsum("md,dmn->dn", weights, features)


def sample_inducing(keys: Keys, factor: Factor, particles: int) -> Float[Array, "outputs m n"]:
    """Draws of u ~ q(u), in whitened coordinates: f(x) given u has the mean aᵀ v."""
    mean = factor.mean[..., None]
    noise = keys.normal(factor.mean.shape, particles, factor.mean.dtype)
    if factor.root is not None:
        return mean + factor.root @ noise
    if factor.std is not None:
        spread = factor.std[..., None] * noise
        return mean + (spread if factor.whitened else factor.Lz_inverse @ spread)
    return jnp.broadcast_to(mean, noise.shape)


def kl_divergence(gp: SparseGP, Lz: Cholesky) -> Float[Array, ""]:
    """KL(q(u)‖p(u)), summed over the outputs; for a delta q(u), −log p(u)."""
    q, (outputs, m) = gp.posterior, gp.posterior.mean.shape
    if q.whitened:  # the prior of v is N(0, I)
        Lz = Cholesky.identity(m, Lz.L.dtype)
    distance = jnp.sum(jnp.square(Lz.inverse @ q.mean[..., None]))
    log_prior = outputs // Lz.L.shape[0] * _log_determinant(Lz.L)
    if q.raw_scale is None:
        return 0.5 * (distance + log_prior + outputs * m * math.log(2.0 * math.pi))
    trace, log_posterior = _spread(q, Lz)
    return 0.5 * (distance + trace - outputs * m + log_prior - log_posterior)


def _spread(q: InducingPosterior, Lz: Cholesky) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """tr(Kz⁻¹ S) and log det S."""
    if q.root is not None:
        return jnp.sum(jnp.square(Lz.inverse @ q.root)), _log_determinant(q.root)
    assert q.std is not None
    precisions = jnp.sum(jnp.square(Lz.inverse), axis=1)  # the diagonal of Kz⁻¹
    return jnp.sum(precisions * jnp.square(q.std)), 2.0 * jnp.sum(jnp.log(q.std))


def _log_determinant(L: Float[Array, "any m m"]) -> Float[Array, ""]:
    """log det of L Lᵀ, summed over the matrices."""
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(L, axis1=-2, axis2=-1)))
