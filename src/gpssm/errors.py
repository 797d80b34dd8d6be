"""Every error that gpssm raises on purpose.

A message says what was given, what was expected and what to do. All of them are
`ValueError`s too, so that code which knows nothing of gpssm can still catch them.
"""


class GpssmError(ValueError):
    """Base class of all errors that gpssm raises on purpose."""


class DataError(GpssmError):
    """Something is wrong with a file, an array or a data set."""


class ConfigError(GpssmError):
    """A setting, or a combination of settings, makes no sense."""


class ModelFileError(GpssmError):
    """A saved model cannot be read: truncated, foreign or of another version."""


class TrainingError(GpssmError):
    """Training diverged, and smaller steps did not help."""


class ProcessLostError(TrainingError):
    """Another process of the same training has died, or cannot be reached."""


class GpssmWarning(UserWarning):
    """Something that the user should know, though work can go on."""


def expected(field: str, given: object, wanted: str, remedy: str = "") -> str:
    """One sentence that names the field, what was given, what was expected and what to do."""
    message = f"{field}: got {given}, expected {wanted}."
    return f"{message} {remedy}" if remedy else message
