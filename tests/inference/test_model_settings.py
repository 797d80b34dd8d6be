"""The settings of a model: what they are when nobody sets them, and how far they go."""

import math

import pytest

from gpssm import ConfigError
from gpssm.inference import Model
from gpssm.inference.methods.registry import METHODS
from gpssm.inference.presets import cbf_ssm, default_dim_x, method, pr_ssm
from gpssm.model import Physics

DEFAULTS = {
    "name": "custom", "dim_x": 4, "physics": None, "linear_part": False, "input_delays": None,
    "target": "smoother", "function_draw": "independent", "k": 50.0, "recognition": "smoother",
    "warmup": 16, "lag": 16, "lookahead": 0, "smoother_sees_next_output": True,
    "smoother_sees_steps": False, "inflate_noise": False, "noise_draw": "independent",
    "particles": 50, "kernel": "rbf", "smoother_kernel": None, "kernel_per_output": False,
    "inducing_points": 20, "inducing_inputs": "uniform", "covariance": "diagonal",
    "whitened": False, "start": "noise", "kernel_variance": 0.25, "lengthscale": 2.0,
    "inducing_range": 2.0, "inducing_mean": 0.0025, "inducing_std": 0.01,
    "process_variance": 4e-6, "output_variance": 1.0, "hidden_variance": None,
    "informative_initial_state": False,
}  # fmt: skip

COUNTS = {  # the least and the most
    "dim_x": (1, 1000),
    "warmup": (1, 100_000),
    "lag": (1, 1_000_000),
    "lookahead": (0, 1_000_000),
    "particles": (1, 1_000_000),
    "inducing_points": (1, 100_000),
}

POSITIVE = {  # the most
    "kernel_variance": 1e12,
    "lengthscale": 1e12,
    "inducing_range": 1e6,
    "inducing_std": 1e6,
    "process_variance": 1e12,
    "output_variance": 1e12,
    "hidden_variance": 1e12,
}


def refused(**settings):
    """Whether the message begins with the name of the setting."""
    (name,) = settings
    with pytest.raises(ConfigError, match=rf"^{name}: got "):
        Model(**settings)
    return True


def test_a_plain_model_has_the_documented_defaults():
    assert dict(Model()) == DEFAULTS


def test_every_setting_is_described():
    assert [name for name, field in Model.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("name", COUNTS)
def test_counts_reach_from_the_least_to_the_most(name):
    least, most = COUNTS[name]
    assert getattr(Model(**{name: least}), name) == least
    assert getattr(Model(**{name: most}), name) == most
    assert refused(**{name: least - 1})
    assert refused(**{name: most + 1})


@pytest.mark.parametrize("name", POSITIVE)
def test_scales_are_positive_and_no_larger_than_a_number_can_be(name):
    most = POSITIVE[name]
    assert getattr(Model(**{name: 1e-9}), name) == 1e-9
    assert getattr(Model(**{name: most}), name) == most
    assert refused(**{name: 0.0})
    assert refused(**{name: 1.001 * most})


def test_the_mean_of_the_inducing_values_may_start_at_zero():
    assert Model(inducing_mean=0.0).inducing_mean == 0.0
    assert Model(inducing_mean=1e6).inducing_mean == 1e6
    assert refused(inducing_mean=-1e-9)
    assert refused(inducing_mean=1.001e6)


def test_the_factor_k_reaches_from_kalman_to_none():
    assert Model(k=1).k == 1.0
    assert Model(k=math.inf).k == math.inf
    assert refused(k=0.999)


@pytest.mark.parametrize(("delays", "fits"), [((0, 1000), True), ((3, 1001), False)])
def test_inputs_act_within_a_thousand_steps(delays, fits):
    if fits:
        assert Model(input_delays=delays).input_delays == delays
    else:
        with pytest.raises(ConfigError, match=r"input_delays: got \(3, 1001\), expected steps"):
            Model(input_delays=delays)


BAD_KERNELS = [{"kernel": "rbx", "smoother_kernel": "rbf"}, {"smoother_kernel": "rbx"}]


@pytest.mark.parametrize("kernels", BAD_KERNELS)
def test_the_kernels_of_both_gps_are_checked(kernels):
    with pytest.raises(ConfigError, match="rbx"):
        Model(**kernels)


def test_a_first_state_of_particles_has_no_kl():
    words = "recognition='smoother', whose .* Use one of 'output', 'mlp', 'conv', 'gru'"
    with pytest.raises(ConfigError, match=words):
        Model(informative_initial_state=True)
    assert Model(informative_initial_state=True, recognition="gru").informative_initial_state


def test_a_linear_part_stands_beside_what_does_not_contradict_it():
    assert Model(linear_part=True).linear_part
    with pytest.raises(ConfigError, match="linear_part: got True with start='linear' or smoother"):
        Model(linear_part=True, smoother_sees_steps=True)
    for alone in ({"smoother_sees_next_output": False}, {"start": "linear"}):
        assert Model(**alone)


OSCILLATOR = Physics(
    rates=lambda x, u, parameters, f: (x[1] + f[0], -x[0]), step=0.1, states=("place", "speed"),
    observed=("place",), scales={"speed": 1.0}, inputs=(), yields={"push": 1.0}, sees=("place",),
    name="oscillator",
)  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim_x": 3}, "dim_x: got 3, expected the 2 states of 'oscillator'"),
        ({"smoother_sees_steps": True}, "smoother_sees_steps: got True with physics"),
        ({"smoother_sees_next_output": False}, "smoother_sees_next_output: got False with physics"),
        ({"start": "linear"}, "start: got 'linear' with physics"),
        ({"linear_part": True}, "linear_part: got True with physics"),
    ],
)
def test_physics_has_its_own_states_and_start(settings, message):
    assert Model(physics=OSCILLATOR).dim_x == Model(physics=OSCILLATOR, dim_x=2).dim_x == 2
    with pytest.raises(ConfigError, match=f"^{message}"):
        Model(physics=OSCILLATOR, **settings)


def test_settings_are_written_with_the_description_of_the_physics():
    written = Model(physics=OSCILLATOR).model_dump()["physics"]
    assert written == OSCILLATOR.describe()
    assert Model().model_dump()["physics"] is None


@pytest.mark.parametrize(("target", "hidden"), [("smoother", 3), ("observation", 0), ("none", 0)])
def test_only_a_backward_pass_estimates_hidden_states(target, hidden):
    assert Model(target=target, recognition="mlp", dim_x=5).hidden(2) == hidden


def test_the_methods_are_those_of_the_paper():
    """Target, draw of f, factor k and recognition, by the name in the paper's table."""
    table = {
        "pr-ssm": ("none", "independent", math.inf, "mlp"),
        "vcdt": ("observation", "trajectory", 1.0, "mlp"),
        "cbf-ssm-1": ("smoother", "independent", 1.0, "smoother"),
        "cbf-ssm-50": ("smoother", "independent", 50.0, "smoother"),
        "cbf-ssm-1s": ("smoother", "trajectory", 1.0, "smoother"),
    }
    for name in METHODS:
        model = method(name)
        assert (model.target, model.function_draw, model.k, model.recognition) == table[name]
    assert METHODS["pr-ssm"].presets["pr-ssm"]["k"] == math.inf


def test_the_name_of_a_cbf_ssm_tells_its_settings():
    assert cbf_ssm() == method("cbf-ssm-50")
    assert cbf_ssm(7.0).name == "cbf-ssm-7"
    assert cbf_ssm(k=7, function_draw="trajectory").name == "cbf-ssm-7s"
    assert pr_ssm(function_draw="trajectory").name == "pr-ssm"


@pytest.mark.parametrize(("dim_y", "dim_x"), [(1, 4), (3, 4), (4, 5), (7, 8)])
def test_a_model_has_four_states_and_at_least_one_that_is_hidden(dim_y, dim_x):
    assert default_dim_x(dim_y) == dim_x
