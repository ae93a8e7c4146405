"""A WSGI middleware that refuses requests whose URL parameter is blocked: for link shorteners, previews, webhooks.

    app = mankai.wsgi.GuardMiddleware(app, mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and in a POST, PUT or PATCH request those of a urlencoded form and the members of JSON with these
names, at any depth; such a body above 1 MiB gets 413. JSON is application/json and application/*+json. A URL that comes in another way is
checked by the application, with `guard.blocked(url)`: multipart/form-data, and JSON of another type if the application reads it.
"""
from __future__ import annotations

import io
from typing import Any, Callable, Iterable

from ._guard import Guard
from ._web import MAX_BODY_BYTES, METHODS, TEXT, blocked_url, body_readers, body_values, query_values


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
        values = query_values(query, self.parameters)
        readers = body_readers([environ.get("CONTENT_TYPE", "")])
        if environ.get("REQUEST_METHOD") in METHODS and readers:
            try:
                length = max(0, int(environ.get("CONTENT_LENGTH") or 0))
            except ValueError:
                length = 0
            if environ.get("wsgi.input_terminated"):  # a chunked body has no length
                length = MAX_BODY_BYTES + 1
            body = environ["wsgi.input"].read(min(length, MAX_BODY_BYTES + 1))
            found = body_values(readers, body, self.parameters)
            if found is None:
                start_response("413 Content Too Large", [("Content-Type", TEXT)])
                return [b"body too large\n"]
            environ["wsgi.input"] = io.BytesIO(body)
            values += found
        if blocked_url(self.guard, values, self.blocks_invalid) is not None:
            start_response(self.status, [("Content-Type", TEXT), ("Cache-Control", "no-store")])
            return [b"blocked\n"]
        return self.app(environ, start_response)
