"""Decisions: pure functions on frozen dataclasses. Nothing here reads a file, a clock or the network."""
