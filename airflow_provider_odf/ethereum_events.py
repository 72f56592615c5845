"""Events of Ethereum contracts by their signature in Solidity, as ``Transfer(address indexed to, uint256 value)``.

Values have the types of the reference implementation: integers up to 64 bits are numbers, larger ones decimal text,
addresses and bytes are binary. An indexed value of variable length is its hash, since a log has nothing else of it.
Decoding needs the extra ``ethereum``, which is imported at the first use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.error_conversion import extra_not_installed
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

_EVENT = re.compile(r"\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\(([^()]*)\)\s*;?\s*")
_PARAMETER = re.compile(r"\s*([a-z]\w*(?:\[\d*\])*)(\s+indexed)?(?:\s+([A-Za-z_$][\w$]*))?\s*")
_SMALL, _WORD = 64, 32
_INDEXED = 3


@dataclass(frozen=True)
class Parameter:
    """A parameter with the canonical name of its type."""

    name: str
    type: str
    is_indexed: bool


@dataclass(frozen=True)
class Event:
    """An event with its parameters in the order of its signature."""

    name: str
    parameters: tuple[Parameter, ...]
    selector: bytes
    """First topic of its logs."""

    @classmethod
    def parse(cls, signature: str) -> Event:
        """Return the event of a signature.

        :raises InvalidInput: the signature is not valid or has a type that is not supported, or the extra ``ethereum``
            is not installed.
        """
        return _parsed(signature)

    @property
    def type(self) -> pa.StructType:
        """Type of its values: indexed parameters first, as in a log."""
        import pyarrow as pa

        return pa.struct([pa.field(p.name, _arrow(p), nullable=False) for p in self._as_in_logs])

    def decode(self, topics: Sequence[bytes], data: bytes) -> dict[str, Any]:
        """Return the values of a log by parameter, in the order of `type`.

        :raises ValueError: the log is of another event.
        """
        from eth_abi.abi import decode
        from eth_abi.exceptions import DecodingError

        own = self._as_in_logs
        count = sum(p.is_indexed for p in own)
        if not topics or topics[0] != self.selector or len(topics) != count + 1:
            raise ValueError(f"the log is not of {self.name}")
        try:
            indexed = [decode([_type_in_topic(p)], topic)[0] for p, topic in zip(own, topics[1:], strict=False)]
            values = [*indexed, *decode([p.type for p in own[count:]], data)]
        except (DecodingError, OverflowError) as e:
            raise ValueError(f"the log does not fit {self.name}: {e}") from None
        return {p.name: _value(value, _arrow(p)) for p, value in zip(own, values, strict=True)}

    @property
    def _as_in_logs(self) -> list[Parameter]:
        return sorted(self.parameters, key=lambda p: not p.is_indexed)


@lru_cache
def _parsed(signature: str) -> Event:
    try:
        from eth_abi.exceptions import ABITypeError, ParseError
        from eth_abi.grammar import normalize, parse
        from eth_utils.crypto import keccak
    except ImportError as e:
        raise extra_not_installed("eth-abi", "ethereum") from e
    name, parameters = split(signature)
    for parameter in parameters:
        try:
            parse(normalize(parameter.type)).validate()
            _arrow(parameter)
        except (ABITypeError, ParseError, InvalidInput):
            raise InvalidInput(f"signature of {name}: the type {parameter.type} is not supported") from None
    canonical = tuple(Parameter(p.name, normalize(p.type), p.is_indexed) for p in parameters)
    return Event(name, canonical, keccak(text=f"{name}({','.join(p.type for p in canonical)})"))


def split(signature: str) -> tuple[str, tuple[Parameter, ...]]:
    """Return the name and the parameters of a signature, without a check of their types.

    :raises InvalidInput: the signature is not valid.
    """
    match = _EVENT.fullmatch(signature)
    texts = match[2].split(",") if match and match[2].strip() else []
    parts = [_PARAMETER.fullmatch(text) for text in texts]
    if match is None or None in parts:
        raise InvalidInput(
            f"not the signature of an event: {' '.join(signature.split())} (write it as in "
            "`Transfer(address indexed to, uint256 value)`; tuples and anonymous events are not supported)"
        )
    parameters = tuple(Parameter(p[3] or f"arg{i}", p[1], bool(p[2])) for i, p in enumerate(parts) if p is not None)
    if sum(p.is_indexed for p in parameters) > _INDEXED:
        raise InvalidInput(f"signature of {match[1]}: an event has at most {_INDEXED} indexed parameters")
    return match[1], parameters


def as_json(value: Any) -> Any:
    """Return a decoded value for JSON: bytes as hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else value


def _is_hashed(type_: str) -> bool:
    return type_ in ("string", "bytes") or type_.endswith("]")


def _type_in_topic(parameter: Parameter) -> str:
    return f"bytes{_WORD}" if _is_hashed(parameter.type) else parameter.type


def _arrow(parameter: Parameter) -> pa.DataType:
    type_ = _type_in_topic(parameter) if parameter.is_indexed else parameter.type
    return _arrow_type(type_)


def _arrow_type(type_: str) -> pa.DataType:
    import pyarrow as pa

    if type_.endswith("]"):
        return pa.list_(_arrow_type(type_[: type_.rindex("[")]))
    if kind := re.fullmatch(r"(u?)int(\d*)", type_):
        bits = int(kind[2] or 256)
        if bits > _SMALL:
            return pa.string()
        return pa.uint64() if kind[1] and bits == _SMALL else pa.int64()
    if type_ == "address" or re.fullmatch(r"bytes\d*", type_):
        return pa.binary()
    if type_ not in ("bool", "string"):
        raise InvalidInput(f"type {type_}")
    return pa.bool_() if type_ == "bool" else pa.string()


def _value(value: Any, type_: pa.DataType) -> Any:
    """Return a value of the library in its Arrow type."""
    import pyarrow as pa

    if pa.types.is_list(type_):
        return [_value(item, type_.value_type) for item in value]
    if pa.types.is_binary(type_) and isinstance(value, str):
        return bytes.fromhex(value.removeprefix("0x"))
    return str(value) if pa.types.is_string(type_) else value
