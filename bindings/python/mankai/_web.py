"""What the middlewares share."""
from __future__ import annotations

import json
import re
import urllib.parse
from typing import Any, Callable, Iterable

from ._guard import Guard

#: Forms and JSON that are larger are refused.
MAX_BODY_BYTES = 1 << 20
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def query_values(query: bytes, parameters: frozenset[str]) -> list[str]:
    """The values of the named parameters of a query or form. A semicolon separates them, too, as in Starlette's forms."""
    text = query.decode("utf-8", "replace")
    readings = {text, text.replace(";", "&")}
    return [value for reading in readings for name, value in urllib.parse.parse_qsl(reading, keep_blank_values=True) if name in parameters]


def json_values(body: bytes, parameters: frozenset[str]) -> list[str]:
    """The texts in all members with the names, at any depth; none of what is not JSON. May raise RecursionError."""
    try:  # whatever another parser accepts: bytes that are no text, control characters, and integers of any length
        text = body.decode(json.detect_encoding(body), "replace")
        others = [json.loads(text, object_pairs_hook=tuple, strict=False, parse_int=float)]
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
_CHARSET = re.compile(r';\s*charset="?(utf-8|us-ascii|iso-8859-1|latin-1)"?\s*(?=;|$)')


def classify(content_types: Iterable[str]) -> tuple[set[Reader], set[str]]:
    """How frameworks may read a request: the functions above that read its body, and the charsets of body and query.

    A type that frameworks understand differently has the charset "unclear". Werkzeug before 2.3 knows two names of forms.
    """
    readers: set[Reader] = set()
    charsets: set[str] = set()
    for content_type in content_types:
        content_type = content_type.strip().lower()
        name = content_type.partition(";")[0].strip()
        charsets.update(_CHARSET.findall(content_type))
        if "charset" in _CHARSET.sub("", content_type):
            charsets.add("unclear")
        if "," in content_type or len(name.split()) > 1:
            charsets.add("unclear")
            readers.add(json_values)
        if name in ("application/x-www-form-urlencoded", "application/x-url-encoded"):
            readers.add(query_values)
        elif name == JSON or (name.startswith("application/") and name.endswith("+json")):
            readers.add(json_values)
    return readers, charsets


class Check:
    """The settings of both middlewares, and what they refuse."""

    def __init__(self, guard: Guard, parameters: Iterable[str], status: Any, blocks_invalid: bool) -> None:
        if not isinstance(guard, Guard):
            raise TypeError(f"guard is a mankai.Guard, not {type(guard).__name__}; open its file with mankai.Guard.open")
        self.guard = guard
        names = [parameters] if isinstance(parameters, (str, bytes)) else list(parameters)
        if isinstance(parameters, (str, bytes)) or not all(isinstance(name, str) for name in names):
            raise TypeError('parameters are a list of names, such as ["url"]')
        self.parameters = frozenset(names)
        self.status = status
        self.blocks_invalid = blocks_invalid

    def refusal(self, readers: set[Reader], charsets: set[str], query: bytes, body: bytes) -> tuple[Any, bytes] | None:
        """Status and text of the answer to a request that is refused. The body counts if there are readers."""
        if query or readers:
            is_ascii = all(urllib.parse.unquote_to_bytes(data).isascii() for data in (query, body))
            if "unclear" in charsets or (charsets - {"utf-8"} and not is_ascii):
                return "415 Unsupported Media Type", b"unclear content type\n"
        if len(body) > MAX_BODY_BYTES:
            return "413 Content Too Large", b"body too large\n"
        values = query_values(query, self.parameters)
        try:
            values += [value for reader in readers for value in reader(body, self.parameters)]
        except RecursionError:
            return "413 Content Too Large", b"JSON nested too deeply\n"
        is_blocked = any(self.guard.blocked(value, invalid=self.blocks_invalid) for value in values)
        return (self.status, b"blocked\n") if is_blocked else None
