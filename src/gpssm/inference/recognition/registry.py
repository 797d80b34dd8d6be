"""Recognition models by the names of `Model.recognition`. A new one is a file and a line here."""

from gpssm.base.extras import load_object

from .abstract import AbstractRecognition

_HERE = "gpssm.inference.recognition"

RECOGNITIONS = {  # the name, and "module:class"
    "output": f"{_HERE}.output:Output",
    "mlp": f"{_HERE}.mlp:Mlp",
    "conv": f"{_HERE}.conv:Conv",
    "gru": f"{_HERE}.gru:Gru",
    "smoother": f"{_HERE}.smoother:Smoother",
}


def find_recognition(name: str) -> type[AbstractRecognition]:
    """The class of a recognition model."""
    found: type[AbstractRecognition] = load_object(RECOGNITIONS[name])
    return found
