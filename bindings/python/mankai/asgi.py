"""An ASGI middleware that refuses requests whose URL parameter is blocked: for FastAPI, Starlette, Quart and others.

    app.add_middleware(mankai.asgi.GuardMiddleware, guard=mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and of a body, whatever the method, those of a urlencoded form and the members of JSON with these
names, at any depth; such a body above 1 MiB gets 413. JSON is application/json, application/*+json, and a body without a type, as FastAPI
reads it. A query, form or JSON gets 415 if the Content-Type has a comma, or a charset other than utf-8, us-ascii and iso-8859-1, or these
two with characters that are not ASCII. A URL that comes in another way is checked by the application, with `guard.blocked(url)`:
multipart/form-data, and JSON of another type if the application reads it.
"""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Iterable

from ._core import InvalidArgument
from ._guard import Guard
from ._web import JSON, MAX_BODY_BYTES, TEXT, Check, classify


class GuardMiddleware(Check):
    """Answers a request with `status` if one of its parameters is a URL that the guard blocks.

    parameters: names of parameters that have URLs. status: of the refusal. blocks_invalid: whether text that is not a URL is refused.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], guard: Guard, *, parameters: Iterable[str] = ("url",),
                 status: int = 403, blocks_invalid: bool = False) -> None:
        if not isinstance(status, int) or not 200 <= status <= 599:
            wrong = InvalidArgument if isinstance(status, int) else TypeError
            raise wrong("status is a status code of HTTP, such as 403")
        super().__init__(guard, parameters, status, blocks_invalid)
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Awaitable[Any]], send: Callable[..., Awaitable[Any]]) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Applications differ in which one of repeated headers they use; FastAPI reads a body without a type as JSON.
        types = [value.decode("latin-1") or JSON for name, value in scope.get("headers", ()) if name == b"content-type"]
        readers, charsets = classify(types or [JSON])
        body = b""
        if readers:
            messages: list[dict[str, Any]] = []
            while True:
                message = await receive()
                messages.append(message)
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES or message["type"] != "http.request" or not message.get("more_body", False):
                    break
            original, remaining = receive, iter(messages)

            async def receive() -> dict[str, Any]:
                for message in remaining:
                    return message
                return await original()

        refusal = self.refusal(readers, charsets, scope.get("query_string", b""), body)
        if refusal is None:
            await self.app(scope, receive, send)
            return
        headers = [(b"content-type", TEXT.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": int(str(refusal[0])[:3]), "headers": headers})
        await send({"type": "http.response.body", "body": refusal[1]})
