"""Midwatch stands the night watch for people who run systems."""

__version__ = "0.1.0"
