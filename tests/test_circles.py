"""Modules of the package import each other in one direction, also for annotations and inside of functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "airflow_provider_odf"


@pytest.fixture(scope="module")
def edges() -> dict[str, set[str]]:
    """The modules of the package that each of them imports."""
    files = {_name(file): file for file in (ROOT / PACKAGE).rglob("*.py")}
    return {name: set(_imports(file, files)) - {name} for name, file in files.items()}


def test_no_module_imports_itself_through_others(edges: dict[str, set[str]]) -> None:
    assert circles(edges) == set()


def circles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the groups of modules that reach each other."""
    reach = {name: _reachable(name, edges) for name in edges}
    groups = (frozenset(other for other in reach[name] if name in reach[other]) for name in edges)
    return {frozenset(name.removeprefix(f"{PACKAGE}.") for name in group) for group in groups if group}


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        if (name := ahead.pop()) not in seen:
            seen.add(name)
            ahead += edges[name]
    return seen


def _imports(file: Path, modules: Collection[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in modules or node.module in modules:
                    yield inner if inner in modules else str(node.module)


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
