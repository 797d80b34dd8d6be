"""From a CSV with a time column, two inputs, an output and gaps to a forecast with error bars."""

from pathlib import Path

import gpssm

# Every 2 s: the level (cm) of the lower of two tanks, a pump (V) and an outlet valve (0 to 1).
path = Path(__file__).with_name("own.csv")
data = gpssm.read(path, inputs=["pump", "valve"], outputs="level", time="time").split(train=0.7)
print(data)

run = gpssm.fit(gpssm.cbf_ssm(dim_x=3), data.train, steps=1000, seed=0)

test = data.test[0]
forecast = run.predict(test.u, test.y[:16])  # conditioned on 16 steps, then inputs alone
low, high = forecast.interval(0.95)
print(f"last level {test.y[-1, 0]:.1f} cm, 95 % forecast {low[-1, 0]:.1f} to {high[-1, 0]:.1f} cm")
scores = forecast.score(test.y)
print(f"RMSE {scores['rmse'][0]:.2f} cm, coverage {scores['coverage'][0]:.0%}")
