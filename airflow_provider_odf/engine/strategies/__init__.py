"""The merge strategies, a module each with its kernel. ``MERGE_STRATEGIES`` has a row for each of them."""

from __future__ import annotations

from importlib import import_module

from airflow_provider_odf.engine.strategies.strategy import Kernel
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES


def kernel_of(kind: str) -> Kernel:
    """Return the kernel of a strategy."""
    kernel: Kernel = import_module(f".{MERGE_STRATEGIES[kind].module}", __package__).kernel
    return kernel
