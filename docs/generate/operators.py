"""The page about operators, the sensor, the hook and the loaders, from their docstrings and signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import airflow_provider_odf
from docs.generate.markdown import NOTICE, code, from_rst, table

_INTRODUCTION = """\
# Operators, sensor, trigger, hook and loaders

Everything here is imported from `airflow_provider_odf`. Templated arguments are Jinja templates. The
[how-to](../how-to/compose-operators.md) puts operators together by hand.
"""
_ORDER = (
    "build_dags",
    "raise_manifest_errors",
    "PollingSourceOperator",
    "PushSourceOperator",
    "MergeOperator",
    "TransformOperator",
    "ContractTestOperator",
    "PublishOperator",
    "ExportTableOperator",
    "VerifyOperator",
    "PollingSourceSensor",
    "PollingSourceTrigger",
    "DatasetHealthSensor",
    "DatasetHealthTrigger",
    "OdfHook",
)
_PARAM = re.compile(r"^:param (\w+): (.*?)(?=^:|\Z)", re.MULTILINE | re.DOTALL)
_LINKS = "Extra links"


def page() -> str:
    """docs/reference/operators.md"""
    return "\n".join([NOTICE, _INTRODUCTION, *(part for name in _order() for part in _section(name))])


def _order() -> tuple[str, ...]:
    """All public callables; new ones come last until they have a place."""
    public = [n for n in airflow_provider_odf.__all__ if n not in ("OdfError", "__version__")]
    return (*_ORDER, *(name for name in public if name not in _ORDER))


def _section(name: str) -> Iterator[str]:
    subject = getattr(airflow_provider_odf, name)
    text = inspect.getdoc(subject) or ""
    about = re.split(r"^:(?:param|raises)", text, maxsplit=1, flags=re.MULTILINE)[0]
    yield f"## {name}\n"
    yield _markdown(about) + "\n"
    documented = _documented(subject)
    rows = [(code(p.name), code(_default(p)), from_rst(documented.get(p.name, ""))) for p in _parameters(subject)]
    if rows:
        yield table(("argument", "default", "meaning"), rows)
    links = ", ".join(link.name for link in getattr(subject, "operator_extra_links", ()) or ())
    if links:
        yield f"{_LINKS}: {links}.\n"


def _documented(subject: Any) -> dict[str, str]:
    """What the docstrings of a class and its bases, or of a function, say of its arguments."""
    found: dict[str, str] = {}
    for owner in subject.__mro__ if isinstance(subject, type) else (subject,):
        if owner.__module__.startswith("airflow_provider_odf"):
            for name, text in _PARAM.findall(inspect.cleandoc(owner.__doc__ or "")):
                found.setdefault(name, text)
    return found


def _parameters(subject: Any) -> Iterator[inspect.Parameter]:
    """The arguments that are ours: of the class and of its bases in this package."""
    owners = subject.__mro__ if isinstance(subject, type) else (subject,)
    seen: set[str] = set()
    for owner in owners:
        if not owner.__module__.startswith("airflow_provider_odf"):
            continue
        function = owner.__dict__.get("__init__") if isinstance(owner, type) else owner
        function = inspect.unwrap(function) if function else None
        for parameter in inspect.signature(function).parameters.values() if function else ():
            is_named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if is_named and parameter.name != "self" and parameter.name not in seen:
                seen.add(parameter.name)
                yield parameter


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else repr(parameter.default)


def _markdown(text: str) -> str:
    """A docstring's prose; its literal blocks become Python."""

    def block(match: re.Match[str]) -> str:
        return f":\n\n```python\n{inspect.cleandoc(match[1])}\n```\n\n"

    text = re.sub(r"::\n\n((?: {4}.*\n|\n)+)", block, text.rstrip() + "\n")
    return from_rst(text).rstrip()
