"""Compares logs of inference servers and says which difference matters, and what to change."""

__version__ = "0.1.0"
