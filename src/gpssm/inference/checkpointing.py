"""What the reverse pass of the time loop keeps of every step, and what it computes again.

To keep everything would need memory for every intermediate result of every step, and is slower
than to compute it again. The kernel values are the exception: exponentials are dear.
"""

from collections.abc import Callable

import jax

from gpssm.gp import Factor
from gpssm.gp.kernels import KERNEL_VALUES

_MOST_BYTES = 64e6  # of kernel values of one scan that may be kept


def checkpointed(step: Callable, factor: Factor, columns: int) -> Callable:
    """The step of a scan that visits so many columns x in all."""
    groups, _, m = factor.Lz_inverse.shape
    kept = groups * m * columns * factor.z.dtype.itemsize
    policies = jax.checkpoint_policies
    policy = policies.save_only_these_names(KERNEL_VALUES) if kept <= _MOST_BYTES else None
    return jax.checkpoint(step, policy=policy)
