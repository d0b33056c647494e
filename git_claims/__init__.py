"""Claims on issues that the git server decides."""

__version__ = "0.1.0"
