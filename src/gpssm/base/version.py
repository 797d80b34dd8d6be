"""The version of gpssm, which model files and run folders record."""

__version__ = "0.1.0"
