"""Templates in manifests: ``${{ env.NAME || env.OTHER || 'literal' }}``.

Values of templates count as secrets: code that fills templates also redacts these values from messages.
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
    """Variables for templates. The environment remembers the values that it returned, to `redact` them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._given: set[str] = set()

    def fill(self, text: str, where: str, form: Callable[[str], str] = str) -> str:
        """Return the text with its templates filled with values in a ``form``; ``where`` names the text in messages.

        :raises InvalidInput: a variable without a fallback is not set, or a template is malformed.
        """
        if "${{" in _TEMPLATE.sub("", text):
            raise InvalidInput(f"{where}: a template begins with ${{{{ and does not end: close it with }}}}")
        return _TEMPLATE.sub(lambda match: form(self._value(match[1], where)), text)

    def get(self, name: str, where: str) -> str:
        """Return the value of one variable.

        :raises InvalidInput: the variable is not set.
        """
        return self._value(f"env.{name}", where)

    def hide(self, *secrets: str | None) -> None:
        """Redact these values too."""
        self._given.update(filter(None, secrets))

    def redact(self, text: str) -> str:
        """Return the text with all values of templates and other secrets masked."""
        return redaction.redact(text, self._given)

    def _value(self, expression: str, where: str) -> str:
        operands = [part.strip() for part in _ALTERNATIVE.findall(expression.strip())[:-1] or [expression]]
        for operand in operands:
            match = _OPERAND.fullmatch(operand)
            if match is None:
                raise InvalidInput(
                    f"{where}: invalid expression {operand} in the template (use env.NAME, a number or 'text')"
                )
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
    """Return the names of the variables in the templates of a text.

    >>> variables_of("a/${{ env.B || env.C || 'env.D' }}")
    ['B', 'C']
    """
    operands = (part.strip() for match in _TEMPLATE.finditer(text) for part in _ALTERNATIVE.findall(match[1].strip()))
    return [name[1] for operand in operands if (name := _OPERAND.fullmatch(operand)) and name["name"]]


def masked(text: str) -> str:
    """Return the text with everything inside its templates replaced by ``_``, with the same length.

    >>> masked("a/${{ env.B || '/' }}/c")
    'a/${{______________}}/c'
    """
    return _TEMPLATE.sub(lambda match: "${{" + "_" * len(match[1]) + "}}", text)
