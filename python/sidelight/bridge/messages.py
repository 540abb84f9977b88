"""What does an incoming message say? Text to a request by JSON-RPC 2.0, and answers to text.

Pure: knows no method, no socket. Every input gives a request or one refusal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sidelight import errors
from sidelight.bridge.protocol import JSONRPC, MAX_DEPTH, MAX_ID_CHARS, ErrorNumber
from sidelight.bridge.wire import encode

Id = str | int | float | None


@dataclass(frozen=True, slots=True)
class Request:
    """A valid request; a notification has no id and is never answered."""

    method: str
    params: Any  # a dict, a list, or {} if there are none
    id: Id
    notification: bool


class Refused(Exception):  # noqa: N818 - an answer, not a failure of ours
    """The message is no valid request."""

    def __init__(self, number: ErrorNumber, message: str, request_id: Id = None) -> None:
        super().__init__(message)
        self.number = number
        self.message = message
        self.id = request_id


class _NotJsonError(ValueError):
    """Python would read it, JSON does not know it."""


class _UnusableError(ValueError):
    """JSON, but nothing that can be a request."""


def read_request(message: str | bytes) -> Request:
    """The request in a message.

    Raises:
        Refused: with the error that JSON-RPC asks for, and the id where it could be read.
    """
    value = _decoded(message)
    if isinstance(value, list):
        raise Refused(ErrorNumber.INVALID_REQUEST, "Batches are not supported.")
    if not isinstance(value, dict):
        raise Refused(ErrorNumber.INVALID_REQUEST, "A request is a JSON object.")
    request_id = _id_of(value)
    if value.get("jsonrpc") != JSONRPC:
        raise Refused(ErrorNumber.INVALID_REQUEST, "'jsonrpc' must be \"2.0\".", request_id)
    method = value.get("method")
    if not isinstance(method, str):
        raise Refused(ErrorNumber.INVALID_REQUEST, "'method' must be a string.", request_id)
    params = value.get("params", {})
    if not isinstance(params, dict | list):
        raise Refused(
            ErrorNumber.INVALID_REQUEST, "'params' must be an object or an array.", request_id
        )
    return Request(method, params, request_id, "id" not in value)


def _decoded(message: str | bytes) -> Any:
    try:
        text = message.decode("utf-8") if isinstance(message, bytes) else message
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except _UnusableError as error:
        raise Refused(ErrorNumber.INVALID_REQUEST, str(error)) from error
    except RecursionError as error:
        raise Refused(ErrorNumber.INVALID_REQUEST, "The JSON is nested too deep.") from error
    except ValueError as error:
        raise Refused(ErrorNumber.PARSE_ERROR, "The message is not valid JSON.") from error
    if _depth(value) > MAX_DEPTH:
        raise Refused(ErrorNumber.INVALID_REQUEST, "The JSON is nested too deep.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):  # two readers could see two different requests
        raise _UnusableError("A name stands twice in one object.")
    return members


def _whole(digits: str) -> int:
    if len(digits) > MAX_ID_CHARS:  # quadratic to read, and no parameter is that large
        raise _UnusableError("A number is too long.")
    return int(digits)


class _Spelled(float):
    """A number with a fraction, and how it was written."""

    digits: str


def _finite(digits: str) -> float:
    if len(digits) > MAX_ID_CHARS or not math.isfinite(number := float(digits)):
        raise _UnusableError("A number is too long or too large.")
    spelled = _Spelled(number)
    spelled.digits = digits
    return spelled


def _no_constant(name: str) -> Any:
    raise _NotJsonError(name)


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        depth += 1
    return depth


def _id_of(value: Mapping[str, Any]) -> Id:
    request_id = value.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | float | None):
        raise Refused(ErrorNumber.INVALID_REQUEST, "'id' must be a string, a number or null.")
    if isinstance(request_id, str) and len(request_id) > MAX_ID_CHARS:
        raise Refused(ErrorNumber.INVALID_REQUEST, "'id' is too long.")
    if isinstance(request_id, _Spelled) and Decimal(request_id.digits) != Decimal(
        repr(float(request_id))
    ):  # it could not be sent back as it came
        raise Refused(ErrorNumber.INVALID_REQUEST, "'id' has more digits than a number keeps.")
    return request_id


# --------------------------------------------------------------------------- answers

# Failures that a caller can act on: the number beside the stable code, in both directions.
NUMBERS: Mapping[str, ErrorNumber] = {
    **{number.name: number for number in ErrorNumber},
    "USAGE": ErrorNumber.INVALID_PARAMS,
}
_CLASSES: Mapping[str, type[errors.SidelightError]] = {
    leaf.code: leaf
    for leaf in (
        errors.UsageError,
        errors.VaultError,
        errors.AccessError,
        errors.NotFoundError,
        errors.IndexUnavailableError,
        errors.ModelError,
        errors.BridgeError,
        errors.CancelledError,
    )
} | {"INVALID_PARAMS": errors.UsageError}


def error_object(error: errors.SidelightError) -> dict[str, Any]:
    """The `error` member for an expected failure."""
    number = NUMBERS.get(error.code, ErrorNumber.FAILED)
    data: dict[str, Any] = {"code": error.code, "remedy": error.remedy}
    return {"code": int(number), "message": error.message, "data": data}


def error_from(answer: Mapping[str, Any]) -> errors.SidelightError:
    """The failure that an `error` member tells of: the client's side of `error_object`."""
    data = answer.get("data")
    data = data if isinstance(data, Mapping) else {}
    code = str(data.get("code", "INTERNAL"))
    leaf = _CLASSES.get(code, errors.SidelightError)
    message = str(answer.get("message", "The daemon gave no reason."))
    return leaf(message, str(data.get("remedy", "")), code=code)


def error_text(request_id: Id, error: Mapping[str, Any]) -> str:
    """A response that tells of a failure."""
    return encode({"jsonrpc": JSONRPC, "id": request_id, "error": error})


def result_text(request_id: Id, result: Any) -> str:
    """A response with a result."""
    return encode({"jsonrpc": JSONRPC, "id": request_id, "result": result})


def notification_text(method: str, params: Any) -> str:
    """A message that nobody answers."""
    return encode({"jsonrpc": JSONRPC, "method": method, "params": params})
