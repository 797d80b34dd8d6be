"""The numbers in prose are those of the results that it speaks of."""

import json
import re

from experiments.car.pages import ratios, read_study
from experiments.common.files import ROOT, read_json
from experiments.common.tables import mean_std
from experiments.drone.figures import pose_error
from experiments.table1.config import FOLDER


def prose(path):
    """One space between words, wherever the lines end."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


README = prose("README.md")


def test_times_of_the_peers_are_those_of_the_benchmark():
    rows = json.loads((ROOT / "benchmarks" / "results.json").read_text())["rows"]
    small = [row for row in rows if row["workload"] == "small" and not row["settings"]]
    ours = next(r for r in small if r["method"] == "cbf-ssm-50" and r["devices"] == 1)
    gpjax, gpytorch = (
        next(r for r in small if name in r["method"])["minimum"] / ours["minimum"]
        for name in ("GPJax", "GPyTorch")
    )
    assert f"One training step on one core takes {1e3 * ours['minimum']:.0f} ms" in README
    assert f"{gpjax:.0f} times as long with GPJax and {gpytorch:.0f} times" in README


def test_ratios_of_the_car_are_those_of_the_study():
    (told,) = ratios(read_study(ROOT / "results")[0])
    shares = re.findall(r"[\d.]+ of that of \S+SSM|[\d.]+ of that of VCDT", told)
    assert len(shares) == 2
    assert all(share in README for share in shares)


def test_ratios_of_the_drone_are_those_of_the_study():
    records = read_json(ROOT / "results" / "drone.json")
    physics, ours = records["physics"], records["cbf-ssm"]["50"]
    pose = pose_error(ours["open_loop"]) / pose_error(physics)
    assert f"learned to {ours['force']['ratio']:.2f} of the error of the equations" in README
    assert f"off by {pose:.2f} of what they are off" in README


def test_what_the_table_reaches():
    table, paper = (
        read_json(path) for path in (ROOT / "results/table1.json", FOLDER / "paper.json")
    )
    above, below = [], []
    for name, row in table.items():
        ours = row["cbf-ssm-50"]
        error = sum(seed["paper"]["rmse"] for seed in ours["seeds"]) / len(ours["seeds"])
        mean, std = paper["table1"][name]["cbf-ssm-50"]
        if error > mean + std:
            above.append(name)
        if error < mean:
            below.append(name)
    words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    told = (
        f"On {' and '.join(above) or 'no set'} is the error more than one standard deviation above "
    )
    assert f"{told}the paper's, on {words[len(below)]} of the eight it is below it" in README
    dryer = {name: cell["seeds"][0]["paper"]["rmse"] for name, cell in table["dryer"].items()}
    assert abs(dryer["arx"] / dryer["cbf-ssm-50"] - 1.0) < 0.05, "a linear model is as good"


def test_what_the_tutorial_says_of_the_furnace():
    page, row = prose("docs/benchmark.md"), read_json(ROOT / "results" / "table1.json")["furnace"]
    ours, arx = ([seed["strict"] for seed in row[name]["seeds"]] for name in ("cbf-ssm-50", "arx"))

    def late(scores):
        """The mean over the seeds, from step 51 to 100 and after that."""
        ends = zip(*([part["rmse"] for part in s["horizon"][-2:]] for s in scores), strict=True)
        return [f"{sum(errors) / len(errors):.3f}" for errors in ends]

    errors = [mean_std([score["rmse"] for score in scores]) for scores in (ours, arx)]
    assert "Table 1 has {} for this cell and {} for the linear ARX".format(*errors) in page
    covered = sum(score["coverage"]["95%"] for score in ours) / len(ours)
    assert f"its 95 % interval covers {100 * covered:.0f} % here" in page
    middle, end = late(ours)
    assert f"an RMSE of {middle} between the steps 50 and 100 and of {end} after" in page
    assert "as well ({} and {})".format(*late(arx)) in page


def test_what_is_said_of_the_cost_of_a_step():
    page, table = prose("docs/paper/reproduce.md"), (ROOT / "results" / "cost.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    steps = {row[0]: row[1:] for row in rows if len(row) == 7}
    forecasts = [int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()]
    name = "CBF-SSM-50"
    (*_, ratio, growth), (*_, whole, proportional) = (
        steps[name],
        steps[f"{name}, backward pass in one piece"],
    )
    assert f"grows here as {growth} ({proportional} with the backward pass in one piece" in page
    assert f"takes {ratio} times as long as one of PR-SSM ({whole} in one piece)" in page
    assert f"{min(forecasts)} to {max(forecasts)} ms with every method" in page


def test_what_is_said_of_the_time_of_the_table():
    page, table = prose("docs/paper/reproduce.md"), read_json(ROOT / "results" / "table1.json")
    took = {name: row["cbf-ssm-50"]["training_seconds_per_seed"] for name, row in table.items()}
    longest = took.pop("sarcos")
    least, most = min(took.values()), max(took.values())
    others = f"where the others take {least:.0f} to {most:.0f} s"
    assert f"{longest:.0f} s per seed for CBF-SSM-50, {others}" in page


def test_the_limits_of_the_table_are_those_of_its_records():
    page, table = prose("docs/table1.md"), read_json(ROOT / "results" / "table1.json")

    def mean(name, score):
        seeds = [seed["paper"] for seed in table[name]["cbf-ssm-50"]["seeds"]]
        return sum(score(each) for each in seeds) / len(seeds)

    furnace, drive = (mean(name, lambda s: s["coverage"]["95%"]) for name in ("furnace", "drive"))
    assert f"interval of CBF-SSM-50 covers {furnace:.0%} of" in page.replace(" %", "%")
    assert 0.99 < drive < 0.995, "slightly more than 99 %"
    paper = read_json(FOLDER / "paper.json")["table1"]["dryer"]["cbf-ssm-50"]
    dryer = mean("dryer", lambda s: s["rmse"])
    assert f"our {dryer:.3f} and its {paper[0]:.3f} come from different data" in page
    assert f"the target is {sum(paper):.3f}" in page
    (note,) = table["sarcos"]["pr-ssm"]["data_notes"]
    assert re.search(r"[\d.]+(?=%)", note)[0] + " % in this table" in page
