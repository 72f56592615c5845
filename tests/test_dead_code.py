"""No dead code: the product imports every module, and uses every public function, class and method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "airflow_provider_odf"
USERS = (PACKAGE, "spark_apps", "dags", "docker")
"""Folders with code in production, beside what the documentation imports. Tests and benchmarks are no users."""

PASSIVE = {
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "dataclass",
    "lru_cache",
    "property",
    "staticmethod",
}
"""Decorators that hand their function to nobody, unlike those of commands and routes."""
CALLED_BY_AIRFLOW = {"get_openlineage_facets_on_complete", "get_openlineage_facets_on_failure"}
"""Methods of operators that Airflow's provider of OpenLineage looks for."""
TABLES = {
    "manifest.fetch_kinds": ("source",),
    "merge_strategies": ("engine.strategies",),
    "read_steps": ("engine.read", "engine.columnar", "source"),
}
"""Tables that name modules, and the folders of these."""


@cache
def modules() -> dict[str, ast.Module]:
    paths = [path for folder in USERS for path in sorted((ROOT / folder).rglob("*.py"))]
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    return {name.removesuffix(".__init__"): ast.parse(path.read_text()) for name, path in named.items()}


def names_in_texts(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the texts that may be names of code, with points in them."""
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in values if isinstance(value, str) and re.fullmatch(r"[\w.]+", value)]


@cache
def texts() -> frozenset[str]:
    """Return the words of such texts, of templates and of entry points, and what modules imported by name are for."""
    nodes = [node for tree in modules().values() for node in ast.walk(tree)]
    calls = (node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call))
    of_modules = (call.attr for call in calls if "import_module" in ast.unparse(call.value.func))
    named = [*names_in_texts(nodes), *of_modules]
    files = [ROOT / "pyproject.toml", *(ROOT / PACKAGE).rglob("*.html")]
    words = [*named, *re.findall(r"[\w.]+", "\n".join(path.read_text() for path in files))]
    return frozenset([*words, *(part for word in words for part in word.split("."))])


@cache
def uses() -> frozenset[str]:
    """Return what code uses: imported modules, names as ``module.name``, and attributes as ``.name``."""
    used: set[str] = set()
    for module, tree in modules().items():
        nodes = list(ast.walk(tree))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        pairs = [(alias.asname or alias.name, f"{i.module}.{alias.name}") for i in imports for alias in i.names]
        used |= {i.module or "" for i in imports} | {name for _, name in pairs}
        used |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        used |= {f"{module}.{node.id}" for node in nodes if isinstance(node, ast.Name)}
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        used |= {f".{node.attr}" for node in attributes}
        of_names = [(node.value.id, node.attr) for node in attributes if isinstance(node.value, ast.Name)]
        used |= {f"{name}.{attribute}" for at, attribute in of_names for local, name in pairs if local == at}
        # Modules that are imported when they are needed are named by texts, within their package.
        package = module if (ROOT / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]
        packages = [package, *(f"{PACKAGE}.{folder}" for folder in TABLES.get(module.removeprefix(f"{PACKAGE}."), ()))]
        used |= {f"{package}.{text.partition('.')[0]}" for package in packages for text in names_in_texts(nodes)}
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    used |= {".".join(pair) for pair in re.findall(rf"from ({PACKAGE}[\w.]*) import (\w+)", pages)}
    return frozenset(used)


def stars() -> Iterator[tuple[str, str]]:
    """Yield modules with the modules of which they have all names."""
    for module, tree in modules().items():
        imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
        yield from ((module, node.module or "") for node in imports if node.names[0].name == "*")


def is_handed_on(node: ast.FunctionDef | ast.ClassDef) -> bool:
    calls = (decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list)
    return any(
        (call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")) not in PASSIVE for call in calls
    )


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in body:
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not is_handed_on(node)
        ):
            yield node


def test_every_module_is_imported() -> None:
    named = {name for name in modules() if name.startswith(PACKAGE) and not (ROOT / name.replace(".", "/")).is_dir()}
    assert sorted(named - uses() - texts()) == []


def test_every_public_function_and_class_is_used() -> None:
    names = {f"{module}.{node.name}" for module, tree in modules().items() for node in public(tree.body)}
    names = {name for name in names if name.startswith(PACKAGE) and name.rpartition(".")[2] not in texts()}
    doors = ((door, name) for door, module in stars() for name in names if name.rpartition(".")[0] == module)
    through_doors = {name for door, name in doors if f"{door}.{name.rpartition('.')[2]}" in uses()}
    assert sorted(names - uses() - through_doors) == []


def test_every_public_method_is_used() -> None:
    """Classes with a base class of a framework have methods that the framework calls."""
    classes = [node for tree in modules().values() for node in tree.body if isinstance(node, ast.ClassDef)]
    own = {node.name for node in classes}
    alone = (node for node in classes if all(isinstance(base, ast.Name) and base.id in own for base in node.bases))
    methods = {method.name for node in alone for method in public(node.body)}
    assert sorted(name for name in methods - texts() - CALLED_BY_AIRFLOW if f".{name}" not in uses()) == []
