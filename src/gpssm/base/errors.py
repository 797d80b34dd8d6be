"""Every error that gpssm raises on purpose.

A message says what was given, what was expected and what to do. All of them are
`ValueError`s too, so that code which knows nothing of gpssm can still catch them.
"""

from typing import NamedTuple


class Expectation(NamedTuple):
    """The parts of a message; `{field}` in the remedy stands for the name of the field."""

    field: str
    given: object
    wanted: str
    remedy: str = ""

    def __str__(self) -> str:
        message = f"{self.field}: got {self.given}, expected {self.wanted}."
        return f"{message} {self.remedy.replace('{field}', self.field)}".rstrip()


expected = Expectation  # by this name it reads well where an error is raised


class GpssmError(ValueError):
    """Base class of all errors."""

    def __init__(self, message: object = "") -> None:
        super().__init__(str(message))


class DataError(GpssmError):
    """Something is wrong with a file, an array or a data set."""


class ConfigError(GpssmError):
    """A setting, or a combination of settings, is invalid."""


class ModelFileError(GpssmError):
    """A saved model cannot be read: truncated, foreign or of another version."""


class TrainingError(GpssmError):
    """Training diverged, and smaller steps did not help."""


class ProcessLostError(TrainingError):
    """Another process of the same training has died, or cannot be reached."""


class GpssmWarning(UserWarning):
    """Something that the user should know; the program continues."""


class DataWarning(GpssmWarning):
    """Something about the data that the user should know; the program continues."""
