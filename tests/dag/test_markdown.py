import pytest
from markdown_it import MarkdownIt

from airflow_provider_odf.dag.markdown import cell, code, document, link

ATTACKS = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "<img\nsrc=x onerror=alert(1)>",
    "<!-- a comment -->\n<?php ?>\n<![CDATA[x]]>",
    "</td></table><svg/onload=alert(1)>",
    "`code` <b>bold</b> `more`",
    r"\`<script>alert(1)</script>`",
    "`` ` <i> ``",
    "- a\n  ```\n<script>alert(1)</script>",
    "> ```\n<script>alert(1)</script>",
    "```\ncode\n```\n<script>alert(1)</script>",
    "````\n```\n````\n<script>alert(1)</script>",
    "``` a`b\n<script>alert(1)</script>",
    "a\u2028```\n<script>alert(1)</script>",
    "a\x0b```\n<script>alert(1)</script>",
    "a\r```\rb\r```\r<script>alert(1)</script>",
    "[a]: /url '\n```\n<script>alert(1)</script>\n'",
]


def html_of(markdown):
    """What Markdown takes for HTML."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    inline = [child for token in tokens for child in token.children or ()]
    return [t.content for t in [*tokens, *inline] if t.type in ("html_block", "html_inline")]


@pytest.mark.parametrize("text", ATTACKS)
def test_a_document_has_no_html(text):
    assert html_of(document(text, under=0, limit=1000)) == []


@pytest.mark.parametrize("text", ATTACKS)
def test_cells_and_code_have_no_html(text):
    table = f"| a | b | c |\n|---|---|---|\n| {cell(text)} | {code(text)} | {link(text, text)} |\n"
    rendered = MarkdownIt("commonmark").enable("table").render(table)
    assert html_of(table) == []
    assert rendered.count("<td>") == 3


def test_the_attacks_are_html_as_they_are():
    assert [text for text in ATTACKS if not html_of(text)] == ["`` ` <i> ``", ATTACKS[-1]]


def test_code_and_links_stay():
    text = "See <https://example.org> and 1 < 2, `a<b>`.\n\n```html\n<b>bold</b>\n```"
    assert document(text, under=0, limit=1000) == (
        "See <https://example.org> and 1 < 2, `a<\u2060b>`.\n\n```html\n<b>bold</b>\n```\n"
    )


IMAGES = [
    ("![a map](https://t.example/p.png) and ![](p.png)", "[a map](https://t.example/p.png) and [image](p.png)"),
    ("[![build](b.svg)](https://ci.example)", "[[build](b.svg)](https://ci.example)"),
    (r"\\![a](b.png)", r"\\[a](b.png)"),
    ("![a][1]\n\n[1]: b.png", "[a][1]\n\n[1]: b.png"),
    ("`![a](b.png)`", "`!\u2060[a](b.png)`"),
    ("`\n` ![a](b.png) `", "`\n` !\u2060[a](b.png) `"),
    ("wow![](x)", "wow[image](x)"),
]


@pytest.mark.parametrize(("text", "shown"), IMAGES)
def test_no_image_is_fetched(text, shown):
    assert document(text, under=0, limit=1000) == shown + "\n"
    assert "<img" not in MarkdownIt("commonmark").render(shown)


def test_images_in_a_code_block_stay():
    assert document("```\n![a](b)\n```", under=0, limit=100) == "```\n![a](b)\n```\n"


def test_tags_after_an_address_and_in_indented_code_look_as_they_were_written():
    assert document("https://a.org<b>\n\n    <i>", under=0, limit=100) == "https://a.org<\u2060b>\n\n    <\u2060i>\n"


def test_headings_are_deeper():
    assert document("# A\n##### B\n#c\n```\n# D\n```", under=2, limit=100) == ("### A\n###### B\n#c\n```\n# D\n```\n")


def test_a_long_document_is_cut_between_lines_and_closed():
    assert document("one\n```\ntwo\nthree", under=0, limit=12) == "one\n```\ntwo\n```\n…\n"
    assert document("a" * 20, under=0, limit=5) == "aaaaa\n\n…\n"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://a b", "https://a.org/)[x](y", "http://a.org/<b>", ""])
def test_what_is_no_url_of_the_web_is_no_link(url):
    assert "<a" not in MarkdownIt("commonmark").render(link("CC0", url))


def test_a_link():
    assert link("C|C", "https://example.org/a?b=c&d") == r"[C\|C](https://example.org/a?b=c&d)"


def test_code_with_backticks_and_bars():
    assert code("a|b") == r"`a\|b`"
    assert code("`a``b`") == "``` `a``b` ```"
