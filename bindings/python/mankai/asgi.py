"""An ASGI middleware that refuses requests whose URL parameter is blocked: for FastAPI, Starlette, Quart and others.

    app.add_middleware(mankai.asgi.GuardMiddleware, guard=mankai.Guard.open("blocked.mkg"), parameters=("url",))

It checks the parameters of the query, and of a urlencoded form in a POST, PUT or PATCH request. A URL that comes in another way,
such as JSON or multipart/form-data, is checked by the application: `guard.blocked(url)`.
"""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Iterable

from ._guard import Guard
from ._web import MAX_FORM_BYTES, METHODS, TEXT, blocked_url, form_values, is_form


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
        values = form_values(scope.get("query_string", b"").decode("utf-8", "replace"), self.parameters)
        # Applications differ in which one of repeated headers they use.
        has_form = any(name == b"content-type" and is_form(value.decode("latin-1")) for name, value in scope.get("headers", ()))
        if scope.get("method") in METHODS and has_form:
            messages: list[dict[str, Any]] = []
            body = b""
            while True:
                message = await receive()
                messages.append(message)
                body += message.get("body", b"")
                if len(body) > MAX_FORM_BYTES:
                    await self._refuse(send, 413, b"form too large\n")
                    return
                if message["type"] != "http.request" or not message.get("more_body", False):
                    break
            values += form_values(body.decode("utf-8", "replace"), self.parameters)
            original, remaining = receive, iter(messages)

            async def receive() -> dict[str, Any]:
                for message in remaining:
                    return message
                return await original()

        if blocked_url(self.guard, values, self.blocks_invalid) is not None:
            await self._refuse(send, self.status, b"blocked\n")
            return
        await self.app(scope, receive, send)
