"""A WSGI middleware that refuses requests whose URL parameter is blocked: for link shorteners, previews, webhooks.

    app = mankai.wsgi.GuardMiddleware(app, mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and of a urlencoded form in a POST, PUT or PATCH request. A URL that comes in another way,
such as JSON or multipart/form-data, is checked by the application: `guard.blocked(url)`.
"""
from __future__ import annotations

import io
from typing import Any, Callable, Iterable

from ._guard import Guard
from ._web import MAX_FORM_BYTES, METHODS, TEXT, blocked_url, form_values, is_form


class GuardMiddleware:
    """Answers a request with `status` if one of its parameters is a URL that the guard blocks.

    parameters: names of parameters that have URLs. status: of the refusal. blocks_invalid: whether text that is not a URL is refused.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]], guard: Guard, *, parameters: Iterable[str] = ("url",),
                 status: str = "403 Forbidden", blocks_invalid: bool = False) -> None:
        self.app = app
        self.guard = guard
        self.parameters = frozenset(parameters)
        self.status = status
        self.blocks_invalid = blocks_invalid

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # WSGI has the bytes of the query as Latin-1 (PEP 3333); applications read them as UTF-8.
        query = environ.get("QUERY_STRING", "").encode("latin-1", "replace").decode("utf-8", "replace")
        values = form_values(query, self.parameters)
        if environ.get("REQUEST_METHOD") in METHODS and is_form(environ.get("CONTENT_TYPE", "")):
            try:
                length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
            except ValueError:
                length = 0
            if environ.get("wsgi.input_terminated"):  # a chunked body has no length
                length = MAX_FORM_BYTES + 1
            body = environ["wsgi.input"].read(min(length, MAX_FORM_BYTES + 1))
            if len(body) > MAX_FORM_BYTES:
                start_response("413 Content Too Large", [("Content-Type", TEXT)])
                return [b"form too large\n"]
            environ["wsgi.input"] = io.BytesIO(body)
            values += form_values(body.decode("utf-8", "replace"), self.parameters)
        if blocked_url(self.guard, values, self.blocks_invalid) is not None:
            start_response(self.status, [("Content-Type", TEXT), ("Cache-Control", "no-store")])
            return [b"blocked\n"]
        return self.app(environ, start_response)
