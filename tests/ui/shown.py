"""What a reader sees of a page."""

import base64
import hashlib
import re
from html.parser import HTMLParser

from airflow_provider_odf.health.health import WORDS

HASH = "3eEysg0VAsTCY8BmfXqHQuf6TrLwlYyICPKWLk/CWAk="
"""Of the script of all pages."""

PAGES = ("", "/blocks", "/data", "/columns", "/trends", "/completeness", "/publications", "/contract", "/verification",
         "/lineage")  # fmt: skip
"""Of a dataset that has data, after its own path."""

_INLINE = {"a", "bdi", "code", "span", "time", "strong"}


class Shown(HTMLParser):
    """The lines of a page, one for each block of text, and its elements and links."""

    def __init__(self, response):
        super().__init__()
        self.lines, self.elements, self.links, self._open = [""], set(), {}, []
        self._href, self.labels, self.targets, self.chosen = None, [], set(), []
        self.feed(response.text)
        assert self._open == []
        self.lines = [line for text in self.lines if (line := re.sub(r"\s+", " ", text).strip())]

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.labels += [text for name, text in attrs if name == "aria-label" and tag == "span"]
        self.targets |= {text for name, text in attrs if name == "href"}
        if tag == "input" and ("checked", None) in attrs:
            self.chosen.append((dict(attrs)["name"], dict(attrs)["aria-label"].rpartition(" ")[2]))
        if tag in ("meta", "link", "br", "input"):
            self.lines.append("")
            return
        self._open.append(tag)
        if tag not in _INLINE:
            self.lines.append("")
        if tag == "a":
            self._href = dict(attrs)["href"]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag not in _INLINE:
            self.lines.append("")

    def handle_data(self, data):
        self.lines[-1] += data
        if self._open[-1:] in (["a"], ["code"]) and self._href:
            self.links[data] = self._href

    def after(self, label, nth=1):
        """The line after a label, by default after its first occurrence."""
        positions = [n for n, line in enumerate(self.lines) if line == label]
        return self.lines[positions[nth - 1] + 1]


def health_of(catalog, name):
    """The health of a dataset in the catalog."""
    return next(line for line in catalog.lines[catalog.lines.index(name) :] if line in WORDS)


def shown(response, status=200):
    """The page of an answer that has the headers of every page, no script but that of all pages, and no traceback."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'self'; script-src 'sha256-{HASH}'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    )
    page = Shown(response)
    assert not page.elements & {"img", "style", "b"}
    (script,) = re.findall(r"<script[^>]*>(.*?)</script>", response.text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == HASH
    page.lines.remove(script)
    assert "Traceback" not in response.text
    return page
