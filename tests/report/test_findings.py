"""The page shows five findings at most, and no two that contradict each other."""

import re
from itertools import combinations

import numpy as np
import pytest
from test_summary import history, own_rows, profile

from gpssm.report import summary
from gpssm.report.findings import caution, good, problem, select
from gpssm.report.verdict import Evidence, Whiteness

# Pairs of words that no page may hold together.
CONTRADICTIONS = (
    ("rain longer", "fewer steps"),
    ("not yet learned", "overfitting."),
    ("not yet learned", "has converged"),
    ("rain longer", "has converged"),
    ("nothing was learned", "overfitting"),
    ("outside the training range", ": overfitting."),
    ("outside the training range", "operation has changed"),
    ("lie (below|above) the measurements", "over-confident"),
    ("lie (below|above) the measurements", "Widen the band"),
    ("lie (below|above) the measurements", "calibrated"),
    ("under-confident", "over-confident"),
    ("under-confident", "larger than the model expects"),
    ("over-confident", "smaller than the model expects"),
    ("over-confident", "as well as the first ones"),
    ("late intervals are too narrow", "under-confident"),
    ("(nothing|little) predictable is left", "still explains"),
    ("more states", "larger inducing_kl"),
    ("this fit has failed", "not depend on the seed"),
    ("diverge: train with", "rain longer"),
    ("Do not use this model", "calibrated|are (nearly )?white|no sign of|converged|as well as"),
)


def random_findings(rng):
    """What the page would be made of, from random numbers of every size."""

    def anything(*values):
        return values[rng.integers(len(values))]

    evidence = Evidence(
        rmse=anything(0.3, 1.0, 1.2, 9.0, np.nan),
        mean=4.0,
        linear=anything(0.9, 1.0, np.inf),
        coverage={"y": 0.9},
        measured=int(anything(3, 29, 300)),
        constant=anything((), ("y",)),
    )
    covered = [float(anything(0.3, 0.8, 0.9, 0.95, 0.95, 1.0))] * 3 + [anything(0.6, 1.0)]
    bins = [
        each._replace(rmse=float(anything(1, 2, 8)), known=int(anything(3, 40)))
        for each in profile(*covered)
    ]
    elbo = np.cumsum(np.full(int(anything(10, 100)), anything(0.0, 1.0)))
    rmses = {0: anything(0.1, 1.0, 3.0, 9.0, np.nan), 1: anything(0.1, 1.0, np.inf)}
    mean, arx = anything(0.5, 4.0), (anything(0.5, 9.0), anything(0.3, 1.0))
    found = [
        summary.accuracy(evidence, anything([], ["z"])),
        summary.calibration(float(np.mean(covered)), bins, "y"),
        summary.middle(anything(0.1, 0.5, 0.9), int(anything(3, 300))),
        own_rows(0, rmses, anything(0.1, 1.0, 9.0), arx, mean, evidence.measured),
        *summary.training(history(elbo, skipped=int(anything(0, 3)))),
        summary.seeds([1.0, 1.01, anything(1.0, 3.0)]),
    ]
    for name in ("y", "z"):
        found.append(summary.bias(np.full(40, anything(0.1, *[0.5] * 6, 0.9)), name))
        found.append(summary.horizon(bins, name))
        white = Whiteness(anything(0.001, 0.5), anything(0.1, 0.5))
        found.append(summary.innovations(white, int(anything(20, 500)), name))
        found.append(summary.unexplained_input(int(anything(0, 10)), 25, name, "u"))
    if anything(True, False):
        found += [caution("outside", f"9 % of {n} lie outside the training range.") for n in "uv"]
    return [each for each in found if each is not None]


def test_five_findings_at_most_and_none_against_another():
    rng, seen = np.random.default_rng(0), set()
    before = 0
    for _ in range(700):
        found = random_findings(rng)
        shown = select(found)
        assert 1 <= len(shown) <= 5
        assert len({each.cause for each in shown}) == len(shown)
        text = " ".join(each.text for each in shown)
        for one, other in CONTRADICTIONS:
            assert not (re.search(one, text) and re.search(other, text)), (one, other, text)
        whole = " ".join(each.text for each in found)
        before += any(re.search(a, whole) and re.search(b, whole) for a, b in CONTRADICTIONS)
        seen |= {each.kind for each in shown}
    assert before > 350  # what the page said before
    assert len(seen) >= 18  # every kind is shown where nothing explains it


def test_every_contradiction_is_one_of_words_that_are_really_said():
    rng, said = np.random.default_rng(1), ""
    for _ in range(150):
        said += " ".join(each.text for each in random_findings(rng))
    for pair in CONTRADICTIONS:
        for words in pair:
            assert re.search(words, said), words


def test_an_explanation_replaces_its_symptoms():
    outside = caution("outside", "u lies outside the training range.")
    symptoms = [caution("overfitting", "overfitting"), problem("narrow", "narrow"),
                caution("bias", "biased")]  # fmt: skip
    assert select([*symptoms, outside]) == [outside]
    assert [each.kind for each in select(symptoms)] == ["overfitting", "bias"]


def test_intervals_around_a_biased_forecast_are_not_praised():
    fine, biased = good("interval", "calibrated"), caution("bias", "below")
    assert select([fine, biased]) == [biased]
    assert select([fine]) == [fine]


def test_what_is_left_out_explains_nothing():
    outside = caution("outside", "u lies outside the training range.")
    overfitting, coloured = caution("overfitting", "overfitting"), caution("coloured", "not white")
    assert select([overfitting, coloured]) == [overfitting]
    assert select([outside, overfitting, coloured]) == [outside, coloured]


def test_what_holds_of_several_is_said_once():
    found = [caution("coloured", f"errors of {name}.") for name in "abc"]
    assert [each.text for each in select(found)] == ["errors of a. The same holds for 2 more."]


def test_good_is_said_only_where_nothing_speaks_against_it():
    fine = good("interval", "calibrated")
    assert select([fine]) == [fine]
    assert select([fine, caution("middle", "off")]) == [caution("middle", "off")]
    assert select([fine, problem("accuracy", "bad")]) == [problem("accuracy", "bad")]
    # an explained symptom is a symptom
    found = select([fine, caution("narrow", "off"), caution("bias", "biased")])
    assert [each.kind for each in found] == ["bias"]


@pytest.mark.parametrize(("first", "second"), [*combinations(("bias", "outside", "changed"), 2)])
def test_of_one_cause_the_strongest_is_shown_whatever_the_order(first, second):
    pair = [caution(first, "a"), caution(second, "b")]
    assert select(pair) == select(pair[::-1])
    assert len(select(pair)) == 1


SYMPTOMS = "bias narrow wide growing middle"
UNFINISHED = f"{SYMPTOMS} overfitting changed rising input coloured"
EXPLAINED = {
    "diverged": f"{UNFINISHED} unlearned seeds outside",
    "failed": f"{UNFINISHED} unlearned seeds",
    "nothing learned": f"{UNFINISHED} unlearned seeds",
    "unlearned": UNFINISHED,
    "skipped": "rising",
    "outside": f"{SYMPTOMS} overfitting changed",
    "changed": f"{SYMPTOMS} overfitting",
    "overfitting": "rising narrow growing middle input coloured",
    "bias": "narrow wide growing middle",
    "narrow": "growing middle",
    "wide": "growing middle",
    "input": "coloured",
}
KINDS = {kind for words in EXPLAINED.values() for kind in words.split()} | EXPLAINED.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_finding_silences_what_it_explains_and_nothing_else(kind):
    for other in KINDS - {kind}:
        one, two = caution(kind, "one."), caution(other, "two.")
        if one.cause == two.cause:
            continue
        silent = other in EXPLAINED.get(kind, "").split()
        silenced = kind in EXPLAINED.get(other, "").split()
        shown = {each.kind for each in select([one, two])}
        assert shown == ({kind} if silent else {other} if silenced else {kind, other})
