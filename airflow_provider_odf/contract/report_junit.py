"""A contract report as JUnit XML, which build servers show as tests.

A clause is a test case, of the class of its model. A failing clause of severity warning is skipped with its reason, and
so is one that is not enforced: neither breaks a build, and both are visible.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from airflow_provider_odf.contract.report import NOT_ENFORCED, state
from airflow_provider_odf.protocol import CheckResult, ContractReport
from airflow_provider_odf.wording import counted

_ELEMENTS = {
    "fail": "failure",
    "error": "error",
    "warning": "skipped",
    "unsupported": "skipped",
    "informational": "skipped",
}
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent."""


def as_junit(report: ContractReport, file: str = "") -> str:
    """Return a report as an XML document; ``file`` is the path of the contract."""
    number = Counter(_ELEMENTS.get(state(result)) for result in report.results)
    totals = {
        "tests": str(len(report.results)),
        "failures": str(number["failure"]),
        "errors": str(number["error"]),
        "skipped": str(number["skipped"]),
    }
    root = ET.Element("testsuites", {"name": _clean(report.contract), **totals})
    suite = ET.SubElement(root, "testsuite", {"name": _clean(report.contract), **totals})
    for result in report.results:
        _case(suite, result, report, file)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, result: CheckResult, report: ContractReport, file: str) -> None:
    place = {"file": file, "line": str(result.line)} if file and result.line else {}
    model = result.model or report.model or "contract"
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": _clean(f"{report.contract}.{model}"), "name": _clean(f"{result.description} ({result.path})")}
        | place,
    )
    if (element := _ELEMENTS.get(state(result))) is not None:
        ending = ET.SubElement(case, element, {"message": _clean(_message(result)), "type": result.kind})
        ending.text = _clean(_details(result)) or None


def _message(result: CheckResult) -> str:
    text = result.reason or result.observed
    prefix = f"{NOT_ENFORCED}: " if not result.is_enforced else "warning: " if result.is_warning else ""
    return f"{prefix}{text}"


def _details(result: CheckResult) -> str:
    """Return what was expected and found, and some failing rows."""
    if not result.is_enforced:
        return ""
    lines = [f"{name}: {text}" for name, text in (("expected", result.expected), ("found", result.observed)) if text]
    if result.failed_rows is not None:
        of = f" of {result.rows}" if result.rows is not None else ""
        lines.append(f"failing: {counted(result.failed_rows, 'row')}{of}")
    lines += [", ".join(f"{name}={_shown(value)}" for name, value in sample.items()) for sample in result.samples]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def _clean(text: str) -> str:
    return _INVALID.sub("\ufffd", text)
