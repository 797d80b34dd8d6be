"""Methods by name, with their settings. It loads without JAX, for `gpssm --help`.

A new method is a file with a subclass of `AbstractMethod`, and one call of `register` here.

| name         | target of the conditioning      | draw of f     | k  |
|--------------|---------------------------------|---------------|----|
| `pr-ssm`     | none                            | independent   | –  |
| `vcdt`       | the observation y[t+1]          | trajectory    | 1  |
| `cbf-ssm-1`  | the smoothed pseudo-state x̃     | independent   | 1  |
| `cbf-ssm-50` | the smoothed pseudo-state x̃     | independent   | 50 |
| `cbf-ssm-1s` | the smoothed pseudo-state x̃     | trajectory    | 1  |
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """Description of a method, without its code."""

    target: str  # the value of `Model.target` that selects it
    place: str  # "module:object" of the `AbstractMethod`
    presets: Mapping[str, Mapping[str, Any]]  # the names that users know, with their settings
    has_backward_pass: bool = False  # whether it estimates hidden states by a second GP
    title: str | None = None  # how reports call the model, with settings in braces

    def settings(self, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of a preset that are not those of every model, with some changed."""
        chosen = {"target": self.target, **self.presets[name], **changes}
        sampled = "s" if chosen.get("function_draw") == "trajectory" else ""
        title = name
        with suppress(ArithmeticError, TypeError, ValueError):  # the model will refuse the setting
            title = self.title.format(**chosen, sampled=sampled) if self.title else name
        return {"name": title, **chosen}


TARGETS: dict[str, Entry] = {}
METHODS: dict[str, Entry] = {}


def register(entry: Entry) -> None:
    """Make a method known by its target and by the names of its presets."""
    TARGETS[entry.target] = entry
    METHODS.update(dict.fromkeys(entry.presets, entry))


_HERE, _INF = "gpssm.inference.methods", float("inf")
_PR_SSM = {"recognition": "mlp", "k": _INF}
_VCDT = {"recognition": "mlp", "k": 1, "function_draw": "trajectory"}
_CBF_SSM: dict[str, dict[str, Any]] = {
    "cbf-ssm-1": {"k": 1},
    "cbf-ssm-50": {"k": 50.0},
    "cbf-ssm-1s": {"k": 1, "function_draw": "trajectory"},
}
register(Entry("none", f"{_HERE}.structured:PR_SSM", {"pr-ssm": _PR_SSM}))
register(Entry("observation", f"{_HERE}.structured:VCDT", {"vcdt": _VCDT}))
register(Entry("smoother", f"{_HERE}.structured:CBF_SSM", _CBF_SSM, True, "cbf-ssm-{k:g}{sampled}"))
