"""How long a compiled function takes, and what this machine can do at best."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache


@dataclass(frozen=True)
class Timing:
    """Seconds per call."""

    median: float
    minimum: float


class Program(NamedTuple):
    """A compiled function that does its work `calls` times in a call, and what it cost to get."""

    run: Callable[[], object]
    calls: int = 1
    compilation: float = 0.0
    memory: int = 0


def compile_program(function: Callable, *arguments, calls: int = 1) -> Program:
    """With the seconds of its compilation, and the bytes of its temporary memory."""
    begin = time.perf_counter()
    compiled = _lower(function, *arguments).compile()
    seconds = time.perf_counter() - begin
    memory = getattr(compiled, "compiled", compiled).memory_analysis().temp_size_in_bytes
    return Program(lambda: jax.block_until_ready(compiled(*arguments)), calls, seconds, memory)


def measure_in_turn(
    programs: Sequence[Program], seconds: float = 5.0, most: int = 60
) -> list[Timing]:
    """Each for about so many seconds. What else the machine does meanwhile hits all alike."""
    times: list[list[float]] = [[] for _ in programs]
    for program in programs:
        program.run()  # not counted
    while any(_wants_more(each, seconds, most) for each in times):
        for program, each in zip(programs, times, strict=True):
            if _wants_more(each, seconds, most):
                begin = time.perf_counter()
                program.run()
                each.append(time.perf_counter() - begin)
    return [
        Timing(statistics.median(each) / program.calls, min(each) / program.calls)
        for program, each in zip(programs, times, strict=True)
    ]


def _wants_more(times: Sequence[float], seconds: float, most: int) -> bool:
    return len(times) < 3 or (sum(times) < seconds and len(times) < most)


def measure(call: Callable[[], object], seconds: float = 5.0, most: int = 60) -> Timing:
    """Repeats a call that ends when its result is there."""
    return measure_in_turn([Program(call)], seconds, most)[0]


def compile_twice(function: Callable, *arguments) -> tuple[float, float]:
    """Seconds to trace and compile, cold and then from a cache on disk."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        for _ in range(2):
            jax.clear_caches()
            begin = time.perf_counter()
            _lower(function, *arguments).compile()
            seconds.append(time.perf_counter() - begin)
        jax.config.update("jax_compilation_cache_dir", None)
        compilation_cache.reset_cache()  # which else goes on writing to the folder that is gone
    return seconds[0], seconds[1]


def _lower(function: Callable, *arguments):
    return (function if hasattr(function, "lower") else jax.jit(function)).lower(*arguments)


def machine_peaks() -> dict[str, float]:
    """Products (flop/s) and exponentials (1/s) per second, in float32."""
    size, repeats = 1024, 50
    a = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda a: jax.lax.fori_loop(0, 4, lambda _, x: (a @ x) * 1e-3, a))
    flops = 4 * 2 * size**3 / measure(lambda: product(a).block_until_ready(), 2.0).minimum
    x = jnp.ones((1 << 20,), jnp.float32)
    exps = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, x: jnp.exp(-x), x))
    rate = repeats * x.size / measure(lambda: exps(x).block_until_ready(), 2.0).minimum
    return {"flops": flops, "exps": rate}


def machine() -> str:
    """What the numbers were measured on."""
    try:
        with open("/proc/cpuinfo") as file:
            names = {line.split(":")[1].strip() for line in file if line.startswith("model name")}
    except OSError:
        names = {"unknown CPU"}
    software = f"JAX {jax.__version__} on {jax.default_backend()}"
    return f"{', '.join(sorted(names))}, {os.cpu_count()} cores, {software}"
