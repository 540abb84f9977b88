"""Are the parameters of a request what the protocol says? Checks values against its types.

Pure. Messages name the parameter and what it should be, never the value that was given.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from sidelight.bridge import protocol
from sidelight.bridge.protocol import Length, Range
from sidelight.errors import UsageError
from sidelight.vault.reading import refused

_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def checked(message: type, params: Any) -> dict[str, Any]:
    """`params` as the TypedDict `message` describes them; null optional ones are left out.

    Raises:
        UsageError: the first thing that is wrong, by name.
    """
    if not isinstance(params, Mapping):
        raise _wrong("Parameters are given by name, as an object.")
    members = _members(message)
    for name in params:
        if name not in members:
            known = ", ".join(members) or "none"
            raise _wrong(f"There is a parameter that this method does not know. Known: {known}.")
    values = {}
    for name, (hint, optional) in members.items():
        value = params.get(name)
        if value is None and optional:
            continue
        if name not in params:
            raise _wrong(f"Parameter '{name}' is missing.")
        if name == "path" and isinstance(value, str) and value != whole_characters(value):
            raise refused()  # as for every other path that names no note
        values[name] = _value(name, _whole(value), hint)
    return values


@cache
def _members(message: type) -> dict[str, tuple[Any, bool]]:
    members = {}
    for name, hint in get_type_hints(message, vars(protocol), include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        members[name] = (get_args(hint)[0] if optional else hint, optional)
    return members


def _value(name: str, value: Any, hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(name, _value(name, value, arguments[0]), hint.__metadata__)
    if origin is Literal:
        if value in arguments and isinstance(value, str):
            return value
        raise _wrong(f"Parameter '{name}' must be one of {', '.join(map(str, arguments))}.")
    if origin in (Union, types.UnionType):
        return _one_of(name, value, arguments)
    if is_typeddict(hint):
        return checked(hint, value)
    if origin is list:
        if not isinstance(value, list):
            raise _wrong(f"Parameter '{name}' must be a list.")
        return [_value(name, item, arguments[0]) for item in value]
    if origin is dict:
        if isinstance(value, dict):
            return value
        raise _wrong(f"Parameter '{name}' must be an object.")
    return _plain(name, value, hint)


def _one_of(name: str, value: Any, hints: tuple[Any, ...]) -> Any:
    for hint in hints:
        try:
            return _value(name, value, hint)
        except UsageError as error:
            last = error
    if all(hint in _NAMES for hint in hints):
        raise _wrong(f"Parameter '{name}' must be {' or '.join(_NAMES[hint] for hint in hints)}.")
    raise last


def _plain(name: str, value: Any, hint: type) -> Any:
    if hint is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON does not tell 5 from 5.0
    if hint is float and type(value) is int and abs(value) < 2**53:
        value = float(value)
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise _wrong(f"Parameter '{name}' must be {_NAMES[hint]}.")


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(name): _whole(item) for name, item in value.items()}
    return value


def whole_characters(text: str) -> str:
    """`text` without half characters (lone surrogates): no tokenizer and no path takes them."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _bounded(name: str, value: Any, extras: tuple[Any, ...]) -> Any:
    for extra in extras:
        if isinstance(extra, Range) and not extra.low <= value <= extra.high:
            raise _wrong(f"Parameter '{name}' must lie between {extra.low:,} and {extra.high:,}.")
        if isinstance(extra, Length) and not extra.low <= len(value) <= extra.high:
            unit = "items" if isinstance(value, list) else "characters"
            raise _wrong(f"Parameter '{name}' must have {extra.low:,} to {extra.high:,} {unit}.")
    return value


def _wrong(message: str) -> UsageError:
    return UsageError(message, "See docs/protocol.md.", code="INVALID_PARAMS")
