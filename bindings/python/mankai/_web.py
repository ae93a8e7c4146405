"""What the middlewares share."""
from __future__ import annotations

import urllib.parse

from ._guard import Guard

#: Forms that are larger are refused.
MAX_FORM_BYTES = 1 << 20
#: Methods whose bodies applications read.
METHODS = ("POST", "PUT", "PATCH")
TEXT = "text/plain; charset=utf-8"


def is_form(content_type: str) -> bool:
    """Whether frameworks read the body as a form of this type; Werkzeug before 2.3 knows two names of it."""
    return content_type.split(";")[0].strip().lower() in ("application/x-www-form-urlencoded", "application/x-url-encoded")


def form_values(text: str, parameters: frozenset[str]) -> list[str]:
    """The values of the named parameters, in order."""
    return [value for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True) if name in parameters]


def blocked_url(guard: Guard, values: list[str], blocks_invalid: bool) -> str | None:
    """The first value that the guard blocks."""
    for value in values:
        if guard.blocked(value, invalid=blocks_invalid):
            return value
    return None
