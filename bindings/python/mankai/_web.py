"""What the middlewares share."""
from __future__ import annotations

import json
import urllib.parse
from typing import Any, Callable, Iterable

from ._guard import Guard

#: Forms and JSON that are larger are refused.
MAX_BODY_BYTES = 1 << 20
#: Methods whose bodies applications read.
METHODS = ("POST", "PUT", "PATCH")
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def query_values(text: str, parameters: frozenset[str]) -> list[str]:
    """The values of the named parameters, in order."""
    return [value for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True) if name in parameters]


def form_values(body: bytes, parameters: frozenset[str]) -> list[str]:
    return query_values(body.decode("utf-8", "replace"), parameters)


def json_values(body: bytes, parameters: frozenset[str]) -> list[str]:
    """The texts in all members with the names, at any depth; none of what is not JSON. May raise RecursionError."""
    try:  # whatever another parser accepts: control characters, and integers of any length
        others = [json.loads(body, object_pairs_hook=tuple, strict=False, parse_int=float)]
    except ValueError:
        return []
    named: list[Any] = []
    texts = []
    for value in others:  # also what is added meanwhile
        if isinstance(value, tuple):  # an object, with repeated members
            for name, member in value:
                (named if name in parameters else others).append(member)
        elif isinstance(value, list):
            others.extend(value)
    for value in named:
        if isinstance(value, tuple):
            named.extend(member for _, member in value)
        elif isinstance(value, list):
            named.extend(value)
        elif isinstance(value, str):
            texts.append(value.encode("utf-8", "replace").decode())
    return texts


Reader = Callable[[bytes, frozenset[str]], list[str]]


def body_readers(content_types: Iterable[str]) -> set[Reader]:
    """The functions above that read a body as frameworks read it; Werkzeug before 2.3 knows two names of forms."""
    readers: set[Reader] = set()
    for content_type in content_types:
        name = content_type.split(";")[0].strip().lower()
        if name in ("application/x-www-form-urlencoded", "application/x-url-encoded"):
            readers.add(form_values)
        elif name == JSON or (name.startswith("application/") and name.endswith("+json")):
            readers.add(json_values)
    return readers


def body_values(readers: set[Reader], body: bytes, parameters: frozenset[str]) -> list[str] | None:
    """The values in a body; None for one that is too large, or nested too deeply."""
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        return [value for reader in readers for value in reader(body, parameters)]
    except RecursionError:
        return None


def blocked_url(guard: Guard, values: list[str], blocks_invalid: bool) -> str | None:
    """The first value that the guard blocks."""
    for value in values:
        if guard.blocked(value, invalid=blocks_invalid):
            return value
    return None
