"""Findings of the report, grouped by their causes: which of them the page shows.

A finding is a sentence with a mark. Of those with one cause the strongest explanation is shown.
What another finding explains is left out, so that no two sentences advise against each other.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, get_args

Mark = Literal["good", "caution", "problem"]
Cause = Literal["accuracy", "training", "data", "interval", "dynamics"]
Kind = Literal[
    "accuracy", "diverged", "failed", "nothing learned", "skipped", "unlearned", "overfitting",
    "changed", "rising", "seeds", "outside", "bias", "narrow", "wide", "growing", "middle",
    "input", "coloured", "few rows", "fine",
]  # fmt: skip

_CAUSES: dict[Cause, tuple[Kind, ...]] = {  # of every kind, the strongest explanation first
    "accuracy": ("accuracy",),
    "training": (
        "diverged", "failed", "nothing learned", "unlearned", "skipped", "overfitting", "rising",
        "seeds",
    ),
    "data": ("outside", "changed", "bias"),
    "interval": ("narrow", "wide", "growing", "middle"),
    "dynamics": ("input", "coloured"),
}  # fmt: skip
_SYMPTOMS: frozenset[Kind] = frozenset(("bias", "narrow", "wide", "growing", "middle"))
_UNFINISHED: frozenset[Kind] = _SYMPTOMS | {"overfitting", "changed", "rising", "input", "coloured"}
_EXPLAINS: dict[Kind, frozenset[Kind]] = {  # what is no longer said beside the explanation
    "diverged": _UNFINISHED | {"unlearned", "seeds", "outside"},
    "failed": _UNFINISHED | {"unlearned", "seeds"},
    "nothing learned": _UNFINISHED | {"unlearned", "seeds"},
    "unlearned": _UNFINISHED,
    "skipped": frozenset(("rising",)),
    "outside": _SYMPTOMS | {"overfitting", "changed"},
    "changed": _SYMPTOMS | {"overfitting"},
    "overfitting": frozenset(("rising", "narrow", "growing", "middle", "input", "coloured")),
    "bias": frozenset(("narrow", "wide", "growing", "middle")),
    "narrow": frozenset(("growing", "middle")),
    "wide": frozenset(("growing", "middle")),
    "input": frozenset(("coloured",)),
}


class Finding(NamedTuple):
    """One sentence of the report, its mark, what it is about, and the cause it belongs to."""

    mark: Mark
    text: str
    kind: Kind
    cause: Cause


def _finding(kind: Kind, mark: Mark, text: str) -> Finding:
    """A caution or a problem: its kind has one cause."""
    cause = next(cause for cause, kinds in _CAUSES.items() if kind in kinds)
    return Finding(mark, text, kind, cause)


def caution(kind: Kind, text: str) -> Finding:
    """Something to look at before the model is relied on."""
    return _finding(kind, "caution", text)


def problem(kind: Kind, text: str) -> Finding:
    """Something for which the model is not to be used."""
    return _finding(kind, "problem", text)


def good(cause: Cause, text: str) -> Finding:
    """Something that is as it should be."""
    return Finding("good", text, "fine", cause)


def inconclusive(cause: Cause, text: str) -> Finding:
    """Neither good nor bad: there are too few rows to tell."""
    return Finding("caution", text, "few rows", cause)


def select(found: Iterable[Finding]) -> list[Finding]:
    """What the page says: at most one finding for each cause, and none that another explains.

    Of one cause the strongest explanation stays, not its symptoms. A good sentence is said where
    nothing speaks against it: no caution of the same cause, explained or not, and no problem.
    Intervals around a biased forecast are not called calibrated.
    """
    found = list(found)
    unexplained = _unexplained({each.kind for each in found})
    trouble: set[Cause] = {each.cause for each in found if each.mark != "good"}
    if any(each.kind == "bias" for each in found):
        trouble.add("interval")
    spoiled = any(each.mark == "problem" for each in found)
    kept = [
        each
        for each in found
        if (each.kind in unexplained if each.mark != "good" else each.cause not in trouble)
        and not (spoiled and each.mark == "good")
    ]
    first = {cause: [each for each in kept if each.cause == cause] for cause in get_args(Cause)}
    return [_first(each) for each in first.values() if each]


def _unexplained(kinds: AbstractSet[Kind]) -> set[Kind]:
    """The kinds that are said. What is left out itself explains nothing."""
    kept: set[Kind] = set()
    rest = set(kinds)
    while rest:
        strongest = rest - {weaker for each in rest for weaker in _EXPLAINS.get(each, ())}
        kept |= strongest
        rest -= strongest | {weaker for each in strongest for weaker in _EXPLAINS.get(each, ())}
    return kept


def _first(found: Sequence[Finding]) -> Finding:
    """The strongest finding of one cause; others of its kind are counted."""
    best = min(found, key=_strength)
    others = 0 if best.kind == "fine" else sum(each.kind == best.kind for each in found) - 1
    return (
        best._replace(text=f"{best.text} The same holds for {others} more.") if others > 0 else best
    )


def _strength(finding: Finding) -> tuple[int, int]:
    """Small for what comes first among findings of one cause."""
    kinds = _CAUSES[finding.cause]
    place = kinds.index(finding.kind) if finding.kind in kinds else len(kinds)
    return place, -severity(finding.mark)


def severity(mark: str) -> int:
    """0 for good, 1 for caution, 2 for problem."""
    return get_args(Mark).index(mark)
