"""The command line in this process, and a record that is small enough for it."""

import json

import numpy as np
from typer.testing import CliRunner

from gpssm.cli import app

CONFIG = """
[data]
time = "t"
units = {level = "cm", pump = "V"}

[forecast]
warmup = 4
particles = 10

[model]
dim_x = 2
inducing_points = 5
particles = 4
lag = 4
warmup = 4

[training]
steps = 6
sequence_length = 12
batch_size = 3
"""
ROWS = 120


def invoke(*arguments):
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(each) for each in arguments])


def all_commands(group, prefix=""):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from all_commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def answer(*arguments):
    """What a command says to machines."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write_csv(path, rows=ROWS, seed=0):
    """A leaky tank with a gap in its measurements."""
    rng = np.random.default_rng(seed)
    pump, level = np.repeat(rng.uniform(2, 8, rows // 10), 10), np.zeros(rows)
    for t in range(rows - 1):
        level[t + 1] = 0.9 * level[t] + 0.3 * pump[t]
    cells = [f"{v:.3f}" for v in level + 0.1 * rng.standard_normal(rows)]
    cells[20:23] = ["", "", ""]
    lines = [f"{0.5 * t},{u:.3f},{y}" for t, (u, y) in enumerate(zip(pump, cells, strict=True))]
    path.write_text("\n".join(["t,pump,level", *lines]) + "\n")
    return path
