"""The same gradient step as one would write it in PyTorch with GPyTorch, eagerly."""

import math

import gpytorch
import torch
from workloads import Workload

from gpssm.inference.backward import plan_windows


class SparseGP(gpytorch.models.ApproximateGP):
    """Independent outputs with shared inducing inputs, q(u) diagonal in u-space."""

    def __init__(self, inputs: int, outputs: int, inducing: int) -> None:
        points = 4.0 * torch.rand(inducing, inputs) - 2.0
        q = gpytorch.variational.MeanFieldVariationalDistribution(
            inducing, batch_shape=torch.Size([outputs])
        )
        strategy = gpytorch.variational.UnwhitenedVariationalStrategy(self, points, q)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ZeroMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=inputs))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.kernel(x))


class CbfSsm(torch.nn.Module):
    """CBF-SSM with k = 50 and windows of a lag, in the obvious layout [particle, dimension]."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.w, hidden = workload, workload.dim_x - workload.dim_y
        self.f = SparseGP(workload.dim_x + workload.dim_u, workload.dim_x, workload.inducing)
        inputs = hidden + 2 * workload.dim_y + workload.dim_u
        self.f_b = SparseGP(inputs, hidden, workload.inducing)
        self.log_process = torch.nn.Parameter(torch.full((workload.dim_x,), -4.0))
        self.log_target = torch.nn.Parameter(torch.zeros(workload.dim_x))

    def loss(self, u: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The negative ELBO of a batch [batch, time, channel]."""
        w, hidden = self.w, self._smooth(u, y)
        u, y = (a.repeat_interleave(w.particles, 0) for a in (u, y))
        x = torch.cat([y[:, 0], hidden[0]], -1)
        noise, r = self.log_process.exp(), self.log_target.exp()
        states, kl = [x], 0.0
        for t in range(w.steps - 1):
            f = self.f(torch.cat([x, u[:, t]], -1))
            mean, variance = x + f.mean.T, f.variance.T + noise
            target = torch.cat([y[:, t + 1], hidden[t + 1]], -1)
            gain = variance / (r + 50.0 * variance)
            new_mean = mean + gain * (target - mean)
            new_variance = (1 - gain) ** 2 * variance + gain**2 * r
            ratio = new_variance / variance
            kl = kl + 0.5 * (ratio + (new_mean - mean) ** 2 / variance - 1 - ratio.log()).sum(-1)
            x = new_mean + new_variance.sqrt() * torch.randn_like(mean)
            states.append(x)
        seen = torch.stack(states, 1)[..., : w.dim_y]
        spread = r[: w.dim_y]
        fit = -0.5 * (math.log(2 * math.pi) + spread.log() + (y - seen) ** 2 / spread).sum((-1, -2))
        inducing = self.f.variational_strategy.kl_divergence().sum()
        inducing = inducing + self.f_b.variational_strategy.kl_divergence().sum()
        return -(fit - kl).mean() + 0.2 * inducing

    def _smooth(self, u: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """h[t] for all t, all windows side by side."""
        w, plan = self.w, plan_windows(self.w.steps, self.w.lag)
        columns = plan.windows * w.batch * w.particles
        h = torch.randn(columns, w.dim_x - w.dim_y)
        steps = [h]
        for i in range(plan.depth - 1):
            t = torch.as_tensor(plan.begins - 1 - i)
            signal = torch.cat([y[:, t + 1], y[:, t], u[:, t]], -1).transpose(0, 1)
            signal = signal.repeat_interleave(w.particles, 1).reshape(columns, -1)
            f = self.f_b(torch.cat([h, signal], -1))
            h = h + f.mean.T + f.variance.T.sqrt() * torch.randn_like(h)
            steps.append(h)
        stacked = torch.stack(steps).reshape(plan.depth, plan.windows, -1, h.shape[-1])
        inner = [stacked[plan.depth - plan.chunk :, i].flip(0) for i in range(plan.windows - 1)]
        last = stacked[: w.steps - (plan.windows - 1) * plan.chunk, -1].flip(0)
        return torch.cat([*inner, last])


def gradient_step(workload: Workload):
    """A call that makes one gradient step."""
    torch.manual_seed(0)
    model = CbfSsm(workload)
    u = torch.randn(workload.batch, workload.steps, workload.dim_u)
    y = torch.sin(0.1 * torch.cumsum(u, 1))[..., : workload.dim_y]
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimiser.zero_grad()
        model.loss(u, y).backward()
        optimiser.step()

    return step
