"""Speed and memory of one gradient step, side by side with what one would write instead.

`make bench` runs this and writes `benchmarks/results.md` and `benchmarks/results.json`. Times are
those of this run on this machine; the ratios are what counts.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import jax
from timing import Timing, compile_and_measure, machine, machine_peaks, measure
from workloads import WORKLOADS, Workload, arithmetic, configure, make

from gpssm.gp import Keys
from gpssm.inference import Sequences, System, Weights, elbo
from gpssm.training.devices import make_mesh, over_devices

HERE = Path(__file__).parent
PEERS = ("GPJax in a scan", "PyTorch + GPyTorch")


def gradient(system: System, keys: Keys, sequences: Sequences):
    """Every term of the ELBO, and the gradient of its negative."""

    def loss(system: System):
        terms = elbo(keys, system, sequences, Weights(inducing_kl=0.01))
        return -terms.total, terms

    gradient, terms = jax.grad(loss, has_aux=True)(system)
    return terms, gradient


def measure_gpssm(workload: Workload, preset: str, devices: int, **settings) -> dict:
    system, sequences, keys = make(workload, preset, **settings)
    step = over_devices(gradient, make_mesh(workload.batch, jax.devices()[:devices]))
    timing, compilation, memory = compile_and_measure(step, system, keys, sequences)
    flops, exps = arithmetic(workload, configure(workload, preset, **settings))
    return row(workload.name, preset, timing, compilation, memory, flops, exps, devices, settings)


def row(name, preset, timing: Timing, compilation, memory, flops, exps, devices, settings) -> dict:
    return {
        "workload": name,
        "method": preset,
        "devices": devices,
        "settings": settings,
        **asdict(timing),
        "compile": compilation,
        "temporary_MB": memory / 1e6,
        "Gflop": flops / 1e9,
        "Mexp": exps / 1e6,
    }


def measure_peers(workload: Workload) -> list[dict]:
    import peer_gpjax
    import peer_gpytorch

    function, arguments = peer_gpjax.gradient_step(workload)
    timing, compilation, memory = compile_and_measure(function, *arguments)
    rows = [row(workload.name, PEERS[0], timing, compilation, memory, 0, 0, 1, {})]
    timing = measure(peer_gpytorch.gradient_step(workload), seconds=15.0, most=10)
    return [*rows, row(workload.name, PEERS[1], timing, 0, 0, 0, 0, 1, {})]


def table(rows: list[dict], peaks: dict) -> str:
    """Markdown; the share of the peak is the least time that the arithmetic needs / the time."""
    lines = [
        "| workload | method | devices | median s | min s | compile s | temporary MB | Gflop "
        "| share of peak |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        least = r["Gflop"] * 1e9 / peaks["flops"] + r["Mexp"] * 1e6 / peaks["exps"]
        share = f"{least / r['minimum']:.0%}" if least else "–"
        label = r["method"] + "".join(f", {k}={v}" for k, v in r["settings"].items())
        lines.append(
            f"| {r['workload']} | {label} | {r['devices']} | {r['median']:.4f} "
            f"| {r['minimum']:.4f} | {r['compile']:.1f} | {r['temporary_MB']:.1f} "
            f"| {r['Gflop']:.2f} | {share} |"
        )
    return "\n".join(lines)


def ratios(rows: list[dict]) -> list[str]:
    """Each comparison of the table as a sentence."""
    best = {(r["workload"], r["method"], r["devices"]): r["minimum"] for r in rows}
    lines = []
    for name in dict.fromkeys(r["workload"] for r in rows):
        ours, theirs = best[name, "cbf-ssm-50", 1], best[name, "pr-ssm", 1]
        lines.append(f"- `{name}`: CBF-SSM takes {ours / theirs:.2f} times as long as PR-SSM.")
        for (workload, method, devices), seconds in best.items():
            if workload == name and method == "cbf-ssm-50" and devices > 1:
                lines.append(
                    f"- `{name}`: {devices} devices are {ours / seconds:.2f} times as fast."
                )
            if workload == name and method in PEERS:
                lines.append(f"- `{name}`: {method} takes {seconds / ours:.1f} times as long.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", default="small,sarcos,car")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--devices", type=int, default=2, help="host devices to cut batches over")
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", arguments.devices)
    rows: list[dict] = []
    with jax.enable_x64(True):
        peaks = machine_peaks()
        for name in arguments.workloads.split(","):
            for devices in sorted({1, arguments.devices}):
                for preset in ("cbf-ssm-50", "pr-ssm"):
                    rows.append(measure_gpssm(WORKLOADS[name], preset, devices))
                    print(rows[-1], flush=True)
    if not arguments.no_peers:  # all in float32, which is what favours them
        rows += measure_peers(WORKLOADS["small"])
    (HERE / "results.json").write_text(json.dumps({"peaks": peaks, "rows": rows}, indent=1))
    peak_line = f"{peaks['flops'] / 1e9:.0f} Gflop/s in products, {peaks['exps'] / 1e9:.2f} Gexp/s"
    text = [f"# One gradient step\n\n{machine()}: {peak_line}, float32, all cores.\n"]
    text += [table(rows, peaks), "", *ratios(rows), ""]
    (HERE / "results.md").write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
