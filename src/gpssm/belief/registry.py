"""The filters, by name. Each is functions of its own state, which have the same arguments."""

from collections.abc import Callable
from typing import Any, NamedTuple

from . import ensemble, gaussian, particle


class Filter(NamedTuple):
    """`start` makes a state; `predict` and `update` turn it into the next one and its `Info`.

    `hold` is the prediction for the first row, before which nothing moves. `forecast` gives the
    outputs that a prediction expects. `members` are draws of equal weight, where it has them.
    """

    name: str
    start: Callable[..., Any]
    hold: Callable[..., Any]
    predict: Callable[..., Any]
    forecast: Callable[..., Any]
    update: Callable[..., Any]
    moments: Callable[..., Any]
    members: Callable[..., Any] | None


def _of(name: str, module: Any) -> Filter:
    found = (getattr(module, field, None) for field in Filter._fields[1:])
    return Filter(name, *found)  # type: ignore[arg-type]


FILTERS = {
    each.name: each
    for each in (
        _of("ensemble", ensemble),
        _of("particle", particle),
        _of("gaussian", gaussian),
    )
}
