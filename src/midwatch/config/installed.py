"""Kinds of providers that other installed packages add to ours. Only names are read here; no code is loaded."""

from importlib.metadata import entry_points

from midwatch.config.llm import PROVIDER_SHAPES, InstalledProvider, Provider

ADAPTERS = "midwatch.providers"
"""The group of entry points in which a package names its adapters."""


def list_shapes() -> dict[str, type[Provider]]:
    """No package can take the place of one of ours."""
    names = entry_points(group=ADAPTERS).names - PROVIDER_SHAPES.keys()
    return {**PROVIDER_SHAPES, **dict.fromkeys(sorted(names), InstalledProvider)}
