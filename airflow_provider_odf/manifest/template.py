"""Templates in manifests: ``${{ env.NAME || env.OTHER || 'literal' }}``.

Values that come in through templates are secrets until shown otherwise: whoever fills templates also redacts them from
messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput

_TEMPLATE = re.compile(r"\$\{\{((?:'[^']*'|(?!\}\}).)*)\}\}", re.DOTALL)
_OPERAND = re.compile(r"\s*(?:env\.(?P<name>[A-Za-z_]\w*)|'(?P<text>[^']*)'|(?P<number>-?\d+(?:\.\d+)?))\s*")
_ALTERNATIVE = re.compile(r"((?:'[^']*'|(?!\|\|).)*)(?:\|\||$)", re.DOTALL)


class Environment:
    """The variables that templates are filled from. It remembers the values that it gave out, to `redact` them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._given: set[str] = set()

    def fill(self, text: str, where: str, form: Callable[[str], str] = str) -> str:
        """The text with its templates filled with values in a ``form``; ``where`` names the text in messages.

        :raises InvalidInput: a variable without a fallback is not set, or a template is malformed.
        """
        if "${{" in _TEMPLATE.sub("", text):
            raise InvalidInput(f"{where}: a template begins with ${{{{ and does not end: close it with }}}}")
        return _TEMPLATE.sub(lambda match: form(self._value(match[1], where)), text)

    def get(self, name: str, where: str) -> str:
        """The value of one variable.

        :raises InvalidInput: it is not set.
        """
        return self._value(f"env.{name}", where)

    def hide(self, *secrets: str | None) -> None:
        """Redact these values too."""
        self._given.update(filter(None, secrets))

    def redact(self, text: str) -> str:
        """The text without any value that came out of a template, and without other secrets."""
        return redaction.redact(text, self._given)

    def _value(self, expression: str, where: str) -> str:
        operands = [part.strip() for part in _ALTERNATIVE.findall(expression.strip())[:-1] or [expression]]
        for operand in operands:
            match = _OPERAND.fullmatch(operand)
            if match is None:
                raise InvalidInput(f"{where}: invalid pattern: {operand} (known: env.NAME, numbers and 'text')")
            if (name := match["name"]) is None:
                return match["text"] if match["text"] is not None else match["number"]
            if name in self._variables:
                self.hide(self._variables[name])
                return self._variables[name]
        raise InvalidInput(
            f"{where}: value not found: {' || '.join(operands)} "
            "(set the variable, or give a fallback: ${{ env.NAME || 'text' }})"
        )


def variables_of(text: str) -> list[str]:
    """The names of the variables that the templates of a text may be filled from.

    >>> variables_of("a/${{ env.B || env.C || 'env.D' }}")
    ['B', 'C']
    """
    operands = (part.strip() for match in _TEMPLATE.finditer(text) for part in _ALTERNATIVE.findall(match[1].strip()))
    return [name[1] for operand in operands if (name := _OPERAND.fullmatch(operand)) and name["name"]]


def masked(text: str) -> str:
    """The text with everything inside its templates blotted out, of the same length.

    >>> masked("a/${{ env.B || '/' }}/c")
    'a/${{______________}}/c'
    """
    return _TEMPLATE.sub(lambda match: "${{" + "_" * len(match[1]) + "}}", text)
