"""Table 1: eight benchmarks, five methods and four baselines, five seeds."""
