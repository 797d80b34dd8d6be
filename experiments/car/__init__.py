"""The Dubins car: figure 1 (forecasts as paths) and figure 3a (error against length)."""
