"""Recognition models: how x[1] is found from the first outputs. One file each, and a registry."""

from .abstract import AbstractRecognition, Gaussian, Particles
from .registry import RECOGNITIONS, find_recognition

__all__ = ["RECOGNITIONS", "AbstractRecognition", "Gaussian", "Particles", "find_recognition"]
