"""Fit CBF-SSM to a simulated tank system with one hidden level, then forecast 500 s ahead."""

import numpy as np

import gpssm

data = gpssm.load_dataset("two_tanks")  # a pump, two tanks, only the lower level is measured
print(data)

model = gpssm.cbf_ssm(dim_x=2, k=50)
run = gpssm.fit(model, data.train, steps=600, learning_rate=0.02, seed=0)

test = data.test[0]
u, y = test.u[:500], test.y[:500]
y_warmup = y[:16]  # what has been measured so far; everything after it is forecast
forecast = run.predict(u, y_warmup)  # forecast.mean, .std, .quantile(0.9), .samples

mean_rmse = np.sqrt(np.mean((y - data.train[0].y.mean()) ** 2))
scores = forecast.score(y)  # every metric, one value per output
print(f"RMSE            {scores['rmse'][0]:.3f} cm (constant mean: {mean_rmse:.3f} cm)")
print(f"log-likelihood  {scores['log_likelihood'][0]:.3f} per step")
print(f"95 % interval   covers {scores['coverage'][0]:.1%}")
low, high = forecast.quantile(0.05)[-1, 0], forecast.quantile(0.95)[-1, 0]
print(f"after 500 s     {low:.1f} to {high:.1f} cm with a probability of 90 %")

run.save("two_tanks.gpssm")
run = gpssm.load("two_tanks.gpssm")
print(
    "after loading   the same numbers:",
    np.array_equal(run.predict(u, y_warmup).mean, forecast.mean),
)
