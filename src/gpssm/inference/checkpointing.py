"""What the reverse pass of the time loop keeps of every step, and what it computes again.

To keep everything would need memory for every intermediate result of every step, and is slower
than to compute it again. The kernel values are the exception, since exponentials are dear; of long
sequences only the moments of f, which are few. The products with the kernel values are not worth
it: they are as many again twice over, and leave the caches before they are needed.
"""

from collections.abc import Callable

import jax

from gpssm.gp import Factor
from gpssm.gp.kernels import KERNEL_VALUES
from gpssm.gp.sparse import MOMENTS

_MOST_BYTES = 64e6  # of one kind of result of one scan that may be kept


def checkpointed(step: Callable, factor: Factor, columns: int) -> Callable:
    """The step of a scan that visits so many columns x in all."""
    groups, _, m = factor.Lz_inverse.shape
    rows = {KERNEL_VALUES: groups * m, MOMENTS: groups + 2 * factor.mean.shape[0]}
    size = columns * factor.z.dtype.itemsize
    kept = [name for name, count in rows.items() if count * size <= _MOST_BYTES]
    policy = jax.checkpoint_policies.save_only_these_names(*kept)
    return jax.checkpoint(step, policy=policy, prevent_cse=False)  # which a scan does not need
