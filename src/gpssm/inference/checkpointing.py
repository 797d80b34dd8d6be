"""What the reverse pass of the time loop keeps of every step, and what it computes again.

To compute most results again is faster than to keep them in memory. Kernel values are kept, since
exponentials are expensive, and so are products with many inducing points. Of long sequences only
the moments of f are kept, which are few.
"""

from collections.abc import Callable

import jax

from gpssm.gp import Factor
from gpssm.gp.kernels import KERNEL_VALUES
from gpssm.gp.sparse import MOMENTS, PRODUCTS

_MOST_BYTES = 64e6  # of one kind of result of one scan that may be kept
_MANY_POINTS = 50  # from which on a product costs more than its way to memory and back


def checkpointed(step: Callable, factor: Factor, columns: int) -> Callable:
    """The step of a scan that visits so many columns x in all."""
    groups, _, m = factor.Lz_inverse.shape
    rows = {KERNEL_VALUES: groups * m, MOMENTS: groups + 2 * factor.mean.shape[0]}
    if m >= _MANY_POINTS:
        rows[PRODUCTS] = groups * factor.rows.shape[1]
    size = columns * factor.z.dtype.itemsize
    kept = [name for name, count in rows.items() if count * size <= _MOST_BYTES]
    policy = jax.checkpoint_policies.save_only_these_names(*kept)
    return jax.checkpoint(step, policy=policy, prevent_cse=False)  # which a scan does not need
