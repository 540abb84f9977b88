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
        values[name] = _value(name, value, hint)
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
    raise last


def _plain(name: str, value: Any, hint: type) -> Any:
    if hint is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON does not tell 5 from 5.0
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise _wrong(f"Parameter '{name}' must be {_NAMES[hint]}.")


def _bounded(name: str, value: Any, extras: tuple[Any, ...]) -> Any:
    for extra in extras:
        if isinstance(extra, Range) and not extra.low <= value <= extra.high:
            raise _wrong(f"Parameter '{name}' must lie between {extra.low:g} and {extra.high:g}.")
        if isinstance(extra, Length) and not extra.low <= len(value) <= extra.high:
            unit = "items" if isinstance(value, list) else "characters"
            raise _wrong(f"Parameter '{name}' must have {extra.low:,} to {extra.high:,} {unit}.")
    return value


def _wrong(message: str) -> UsageError:
    return UsageError(message, "See docs/protocol.md.", code="INVALID_PARAMS")
