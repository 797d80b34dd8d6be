"""`make fuzz`: files that nobody would write, read in processes with a limit of memory.

Each must end in data, in a model, or in a `GpssmError`: no other exception, no abort, no hang.
`edits` damages any file; `tables`, `models` and `folders` know what a damaged one may look like;
`cases` draws a case from a seed and its number; `worker` runs cases, and `__main__` watches it.
"""
