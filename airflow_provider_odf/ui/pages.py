"""HTML of the pages: templates with escaped values, one stylesheet, and headers that forbid everything else."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from airflow_provider_odf.contract.report import counts, state, worst_first
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import public_source
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.operators.links import airflow_path, site_path
from airflow_provider_odf.wording import counted, printable

SCRIPT = (
    # The theme that Airflow's switch keeps, which the library next-themes defines, else that of the system.
    'const dark=matchMedia("(prefers-color-scheme: dark)");'
    'function theme(){let kept=null;try{kept=localStorage.getItem("theme")}catch{}'
    'document.documentElement.dataset.theme=kept==="dark"||(kept!=="light"&&dark.matches)?"dark":"light"}'
    'theme();addEventListener("storage",theme);dark.addEventListener("change",theme);'
    # The frame that Airflow shows pages in may not lead its whole window elsewhere; a link of the window may.
    'addEventListener("click",event=>{const link=event.target.closest("a[target=_top]");'
    "if(!link||self===top||event.ctrlKey||event.metaKey||event.shiftKey)return;"
    'try{const outside=top.document.createElement("a");outside.href=link.getAttribute("href");outside.click();'
    "event.preventDefault()}"
    "catch{}});"
)
"""The only script of pages: the theme of Airflow, and links that leave its frame."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    # The pages show values of data: they have no script but one, and load nothing from other places.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; "
    f"script-src 'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
}
_LONGEST = 300
OPERATION_STYLES = dict(zip(OPERATION_NAMES, ("added", "retracted", "from", "to"), strict=True))
"""Operation -> its class in the stylesheet."""

_MINUTE = 60
_AGES = (("year", 365 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
_FOLDERS = re.compile(r"(?:file:/+|(?<![\w.…:/])/+)(?:[^\s/:;,'\"`()]+/)+")
_STORE_OPTION = re.compile(r"--store ('[^']*'|[^\s`]+)")


def render(template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(_environment().get_template(template).render(values), status, HEADERS)


def stylesheet() -> Response:
    """Return the stylesheet of all pages."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=300"}
    return Response(_environment().get_template("pages.css").render(), media_type="text/css", headers=headers)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("airflow_provider_odf.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clause_counts": counts,
        "duration": duration,
        "moment": moment,
        "number": "{:,}".format,
        "operation": OPERATION_STYLES.get,
        "shortened": shortened,
        "size": public_source.size,
        "state": state,
        "value": value,
        "visible": visible,
        "worst_first": worst_first,
    }
    environment.globals |= {"site_path": site_path, "airflow_path": airflow_path}
    environment.globals |= {"script": Markup(SCRIPT)}  # noqa: S704 - a constant
    environment.globals |= {"counted": counted, "operations": OPERATION_NAMES}
    return environment


def moment(time: Instant | str | None) -> Markup:
    """Return a time for readers: how long ago, and the time in UTC."""
    if time is None:
        return Markup('<span class="none">none</span>')
    instant = time if isinstance(time, Instant) else Instant.parse(time)
    exact = instant.to_datetime()
    absolute, text = exact.strftime("%Y-%m-%d %H:%M:%S UTC"), _relative(exact, datetime.now(UTC))
    return Markup('<time datetime="{}">{} <span class="ago">{}</span></time>').format(str(instant), absolute, text)


def _relative(exact: datetime, now: datetime) -> str:
    seconds = int((now - exact).total_seconds())
    for unit, length in _AGES:
        if number := abs(seconds) // length:
            return f"{counted(number, unit)} ago" if seconds > 0 else f"in {counted(number, unit)}"
    return "now"


def visible(text: object, longest: int = _LONGEST) -> str:
    """Return a text with its control and direction characters escaped, and without its end if it is long."""
    full = str(text)
    shown = printable(full[:longest])
    return shown if len(full) <= longest else f"{shown}… ({counted(len(full), 'character')})"


def shortened(text: str, longest: int) -> str:
    """Return a text in so many characters, its end replaced by ``…`` if it is longer."""
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def public(message: object) -> str:
    """Return a message without the folders in it, and without the store of a command: they are of no use to readers."""
    return _FOLDERS.sub("…/", _STORE_OPTION.sub("--store STORE", str(message)))


def duration(seconds: float | None) -> str:
    """Return a length of time in its two largest units: ``1 h 5 min``, ``12.3 s``."""
    if seconds is None:
        return ""
    if abs(seconds) < _MINUTE:
        return f"{seconds:,.1f} s"
    rest, parts = round(abs(seconds)), list[str]()
    for name, length in (("d", 86400), ("h", 3600), ("min", _MINUTE), ("s", 1)):
        number, rest = divmod(rest, length)
        parts += [f"{number:,} {name}"] if number or parts else []
    return ("−" if seconds < 0 else "") + " ".join(part for part in parts[:2] if not part.startswith("0 "))


def value(data: Any, is_changed: bool = False) -> Markup:
    """Return a value of data as a table cell: numbers aligned, null told apart from a text, a changed one marked."""
    mark = " changed" if is_changed else ""
    if data is None:
        return Markup('<td class="none{}">null</td>').format(mark)
    if isinstance(data, bool | int | float):
        return Markup('<td class="number{}">{}</td>').format(mark, json.dumps(data))
    text = json.dumps(data, ensure_ascii=False) if isinstance(data, list | Mapping) else str(data)
    return Markup("<td{}><bdi>{}</bdi></td>").format(Markup(' class="changed"') if is_changed else "", visible(text))
