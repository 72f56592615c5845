"""The site of the documentation, for Sphinx: `make site`.

It reads the Markdown pages as a code host shows them, and adds what a code host has already: navigation, in the order
of the links of the front page, and the way to files outside of docs/. Of the API the docstrings are its text.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import airflow_provider_odf
from docs.pages import DOCS, ROOT

project = "airflow-provider-odf"
author = "the authors of airflow-provider-odf"
version = release = airflow_provider_odf.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "README"
html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = html_copy_source = html_show_sourcelink = False
myst_heading_anchors = 4
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True, "exclude-members": "__init__, __new__"}
autodoc_class_signature = "separated"
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
maximum_signature_line_length = 90
add_module_names = python_use_unqualified_type_names = True

SOURCE = f"https://github.com/{os.environ.get('GITHUB_REPOSITORY', 'example/airflow-provider-odf')}/blob/main"
SECTIONS = {"Tutorial": "tutorial", "How-to guides": "how-to/", "Reference": "reference/", "Explanation": ""}
"""Captions of the navigation, and how the names of their pages begin; a page is in the first that fits."""


def navigation(front_page: str) -> str:
    """Return a hidden list of pages for each section, in the order in which the front page links them."""
    pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md[)#]", front_page))
    lists = []
    for caption, start in SECTIONS.items():
        names = [page for page in pages if page.startswith(start)]
        pages = {page: None for page in pages if page not in names}
        lists.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```"]))
    return "\n\n".join(lists)


def api(table: str) -> str:
    """Return the directives that describe the names in the first column of a table by their docstrings."""
    lines = ["```{eval-rst}"]
    for name in re.findall(r"^\| \[`([\w.]+)`\]", table, re.MULTILINE):
        is_function = name.rpartition(".")[2].islower()
        lines.append(f".. auto{'function' if is_function else 'class'}:: {name}")
    return "\n".join([*lines, "```"])


def outside(page: Path, text: str) -> str:
    """Return a page whose links to files outside of docs/ lead to the code host."""

    def link(match: re.Match[str]) -> str:
        file = Path(os.path.normpath(page.parent / match["path"]))
        return match[0] if file.is_relative_to(DOCS) else f"]({SOURCE}/{file.relative_to(ROOT)}"

    return re.sub(r"\]\((?P<path>\.\./[^)#\s]*)", link, text)


def complete(_: Sphinx, name: str, source: list[str]) -> None:
    """Make the text of a page that of the site."""
    added = {root_doc: navigation, "reference/python": api}.get(name)
    source[0] = "\n\n".join([outside(DOCS / f"{name}.md", source[0]), *([added(source[0])] if added else [])])


def index(app: Sphinx, error: Exception | None) -> None:
    """Give the front page the name that web servers look for."""
    if error is None:
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Connect with the steps of Sphinx."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", complete)
    app.connect("build-finished", index)
