"""An ASGI middleware that refuses requests whose URL parameter is blocked: for FastAPI, Starlette, Quart and others.

    app.add_middleware(mankai.asgi.GuardMiddleware, guard=mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and in a POST, PUT or PATCH request those of a urlencoded form and the members of JSON with these
names, at any depth; such a body above 1 MiB gets 413. JSON is application/json, application/*+json, and a body without a type, as FastAPI
reads it. A URL that comes in another way is checked by the application, with `guard.blocked(url)`: multipart/form-data, and JSON of
another type if the application reads it.
"""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Iterable

from ._guard import Guard
from ._web import JSON, MAX_BODY_BYTES, METHODS, TEXT, blocked_url, body_readers, body_values, query_values


class GuardMiddleware:
    """Answers a request with `status` if one of its parameters is a URL that the guard blocks.

    parameters: names of parameters that have URLs. status: of the refusal. blocks_invalid: whether text that is not a URL is refused.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], guard: Guard, *, parameters: Iterable[str] = ("url",),
                 status: int = 403, blocks_invalid: bool = False) -> None:
        self.app = app
        self.guard = guard
        self.parameters = frozenset(parameters)
        self.status = status
        self.blocks_invalid = blocks_invalid

    async def _refuse(self, send: Callable[..., Awaitable[Any]], status: int, text: bytes) -> None:
        headers = [(b"content-type", TEXT.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Awaitable[Any]], send: Callable[..., Awaitable[Any]]) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        values = query_values(scope.get("query_string", b"").decode("utf-8", "replace"), self.parameters)
        # Applications differ in which one of repeated headers they use; FastAPI reads a body without a type as JSON.
        types = [value.decode("latin-1") or JSON for name, value in scope.get("headers", ()) if name == b"content-type"]
        readers = body_readers(types or [JSON])
        if scope.get("method") in METHODS and readers:
            messages: list[dict[str, Any]] = []
            body = b""
            while True:
                message = await receive()
                messages.append(message)
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES or message["type"] != "http.request" or not message.get("more_body", False):
                    break
            found = body_values(readers, body, self.parameters)
            if found is None:
                await self._refuse(send, 413, b"body too large\n")
                return
            values += found
            original, remaining = receive, iter(messages)

            async def receive() -> dict[str, Any]:
                for message in remaining:
                    return message
                return await original()

        if blocked_url(self.guard, values, self.blocks_invalid) is not None:
            await self._refuse(send, self.status, b"blocked\n")
            return
        await self.app(scope, receive, send)
