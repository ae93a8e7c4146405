"""A WSGI middleware that refuses requests whose URL parameter is blocked: for link shorteners, previews, webhooks.

    app = mankai.wsgi.GuardMiddleware(app, mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and of a body, whatever the method, those of a urlencoded form and the members of JSON with these
names, at any depth; such a body above 1 MiB gets 413. JSON is application/json and application/*+json. A query, form or JSON gets 415 if
the Content-Type has a comma, or a charset other than utf-8, us-ascii and iso-8859-1, or these two with characters that are not ASCII.
A URL that comes in another way is checked by the application, with `guard.blocked(url)`: multipart/form-data, and JSON of another type if
the application reads it.
"""
from __future__ import annotations

import io
import re
from typing import Any, Callable, Iterable

from ._core import InvalidArgument
from ._guard import Guard
from ._web import MAX_BODY_BYTES, TEXT, Check, classify


class GuardMiddleware(Check):
    """Answers a request with `status` if one of its parameters is a URL that the guard blocks.

    parameters: names of parameters that have URLs. status: of the refusal. blocks_invalid: whether text that is not a URL is refused.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]], guard: Guard, *, parameters: Iterable[str] = ("url",),
                 status: str = "403 Forbidden", blocks_invalid: bool = False) -> None:
        if not isinstance(status, str) or not re.fullmatch(r"[2-5]\d\d [ -~]+", status):
            wrong = InvalidArgument if isinstance(status, str) else TypeError
            raise wrong('status is a status line of HTTP, such as "403 Forbidden"')
        super().__init__(guard, parameters, status, blocks_invalid)
        self.app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        readers, charsets = classify([environ.get("CONTENT_TYPE") or ""])
        body = b""
        if readers:
            try:
                length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
            except ValueError:
                length = 0
            if environ.get("wsgi.input_terminated"):  # a chunked body has no length
                length = MAX_BODY_BYTES + 1
            body = environ["wsgi.input"].read(min(length, MAX_BODY_BYTES + 1))
            environ["wsgi.input"] = io.BytesIO(body)
        query = environ.get("QUERY_STRING", "").encode("latin-1", "replace")  # as PEP 3333 has its bytes
        refusal = self.refusal(readers, charsets, query, body)
        if refusal is None:
            return self.app(environ, start_response)
        start_response(refusal[0], [("Content-Type", TEXT), ("Cache-Control", "no-store")])
        return [refusal[1]]
