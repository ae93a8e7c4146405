"""The helpers for Scrapy, WSGI and ASGI in the frameworks of Debian; a framework that is missing is skipped.

Usage: PYTHONPATH=build/python python3 helpers_test.py EXAMPLES
"""
import asyncio
import importlib.util
import io
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import wsgiref.util

import mankai
import mankai.asgi
import mankai.wsgi

EXAMPLES = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 and not sys.argv[-1].startswith("-") else ".")


def needs(module, package):
    return unittest.skipIf(importlib.util.find_spec(module) is None, f"{module} is missing: apt-get install {package}")


def guard_of(*rules):
    return mankai.Guard.build([list(rules)], exact=True)[0]


def wsgi_get(app, query="", body=None, content_type="application/x-www-form-urlencoded", method="POST"):
    environ = {"QUERY_STRING": query, "PATH_INFO": "/", "CONTENT_TYPE": content_type}
    wsgiref.util.setup_testing_defaults(environ)
    if body is not None:
        environ.update({"REQUEST_METHOD": method, "CONTENT_LENGTH": str(len(body)),
                        "wsgi.input": io.BytesIO(body)})
    seen = {}
    text = b"".join(app(environ, lambda status, headers: seen.update(status=status)))
    return int(seen["status"][:3]), text


def asgi_get(app, query="", chunks=None, more_headers=(), content_type=b"application/x-www-form-urlencoded", method="POST"):
    """Sends one request and returns status and body."""
    messages = [{"type": "http.request", "body": chunk, "more_body": index + 1 < len(chunks or [b""])}
                for index, chunk in enumerate(chunks or [b""])]
    sent = []

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
    headers = [(b"host", b"test")]
    if chunks is not None and content_type is not None:
        headers.append((b"content-type", content_type))
    headers.extend(more_headers)
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET" if chunks is None else method,
             "scheme": "http", "path": "/", "raw_path": b"/", "query_string": query.encode(), "root_path": "", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("test", 80)}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


#: JSON that applications read, with a blocked URL, and without.
BLOCKED_JSON = (b'{"url": "http://evil.example/"}', b'{"url": ["x", {"a": "http://www.EVIL.example./"}]}', b'[{"a": {"b": [{"url": "http://evil.example"}]}}]',
                b'{"url": "http://evil.example/", "url": "http://good.example/"}', b'{"url": "http://good.example/", "url": "http://evil.example/"}',
                b'{"url": {"url": {"url": "http://evil.example"}}}', b'{"url": "http:\\/\\/\\u0065vil.example/\\ud800"}',
                b'\xef\xbb\xbf{"url": "http://evil.example/"}', '{"url": "http://evil.example/"}'.encode("utf-16"),
                b'{"n": ' + b"9" * 6000 + b', "a": "\n", "url": "http://evil.example/"}', b'{"a": "\xff", "url": "http://evil.example/"}')
PASSED_JSON = (b'{"url": "http://good.example/"}', b'{"other": "http://evil.example/"}', b'"http://evil.example/"', b'{"url": 1, "b": null}',
               b'{"url": "http://evil.example/"', b"", b"\xff", b'{"other": ' + b"[" * 100 + b"]" * 100 + b"}")


#: Content types that frameworks read in different ways, with a query or body that one of them reads as a blocked URL.
UTF7_FORM = b"url=http://e%2BAHY-il.example/x"
UNCLEAR = (("application/json, text/plain", BLOCKED_JSON[0]), ("text/plain, application/json", BLOCKED_JSON[0]), ("application/json text/plain", BLOCKED_JSON[0]),
           ("application/x-www-form-urlencoded, x", b"url=http://evil.example/"), ("application/json; a=b, text/plain", BLOCKED_JSON[0]),
           ("application/x-www-form-urlencoded; charset=utf-7", UTF7_FORM), ("application/x-www-form-urlencoded; a=b;Charset = \"utf-7\"", UTF7_FORM),
           ("application/x-www-form-urlencoded; charset=utf-8; charset=utf-7", UTF7_FORM), ("application/x-www-form-urlencoded; charset*=x''utf-7", UTF7_FORM),
           ("application/json; charset=utf-7", b'{"url": "http://e+AHY-il.example/x"}'), ("application/json; charset=latin-1", b'{"url": "http://evil.example/", "a": "\xff"}'),
           ("application/x-www-form-urlencoded; charset=iso-8859-1", b"url=http://%E9vil.example/"))
CLEAR = ("application/json; charset=utf-8", 'application/json;a="b";charset="UTF-8" ; x=y', "application/json; charset=us-ascii", "application/json; charset=ISO-8859-1")


class WsgiTest(unittest.TestCase):
    def setUp(self):
        def app(environ, start_response):
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("200 OK", [])
            return [b"app:" + body]
        self.app = mankai.wsgi.GuardMiddleware(app, guard_of("evil.example"), parameters=("url", "to"))

    def test_it_refuses_blocked_urls_only(self):
        self.assertEqual(wsgi_get(self.app), (200, b"app:"))
        self.assertEqual(wsgi_get(self.app, "url=http%3A%2F%2Fgood.example"), (200, b"app:"))
        self.assertEqual(wsgi_get(self.app, "url=http%3A%2F%2Fwww.evil.example%2Fx")[0], 403)
        self.assertEqual(wsgi_get(self.app, "url=http://good.example&to=//EVIL.example.")[0], 403)
        self.assertEqual(wsgi_get(self.app, "other=http://evil.example")[0], 200)
        self.assertEqual(wsgi_get(self.app, "url=no+url")[0], 200)

    def test_forms_are_checked_and_passed_on(self):
        self.assertEqual(wsgi_get(self.app, body=b"url=http://evil.example/")[0], 403)
        self.assertEqual(wsgi_get(self.app, body=b"url=http://good.example/"), (200, b"app:url=http://good.example/"))
        self.assertEqual(wsgi_get(self.app, body=b"url=http://evil.example/", content_type="text/plain")[0], 200)
        self.assertEqual(wsgi_get(self.app, body=bytes(2 << 20))[0], 413)

    def test_unclear_types_are_refused(self):
        for kind, body in UNCLEAR:
            self.assertEqual(wsgi_get(self.app, body=body, content_type=kind)[0], 415, (kind, body))
        for kind in CLEAR:
            self.assertEqual(wsgi_get(self.app, body=PASSED_JSON[0], content_type=kind)[0], 200, kind)
            self.assertEqual(wsgi_get(self.app, body=BLOCKED_JSON[0], content_type=kind)[0], 403, kind)
        self.assertEqual(wsgi_get(self.app, UTF7_FORM.decode(), body=b"", content_type="text/plain; charset=utf-7")[0], 415)
        self.assertEqual(wsgi_get(self.app, body=UTF7_FORM, content_type="text/plain; charset=koi8-r")[0], 200)

    def test_bodies_of_all_methods_are_checked(self):
        for method in ("post", "POST", "PUT", "PATCH", "DELETE", "GET", "QUERY"):
            self.assertEqual(wsgi_get(self.app, body=BLOCKED_JSON[0], content_type="application/json", method=method)[0], 403, method)
            self.assertEqual(wsgi_get(self.app, body=PASSED_JSON[0], content_type="application/json", method=method), (200, b"app:" + PASSED_JSON[0]))

    def test_semicolons_separate_parameters(self):
        self.assertEqual(wsgi_get(self.app, body=b"a=b;url=http://evil.example/")[0], 403)

    def test_settings_are_checked(self):
        make, guard = mankai.wsgi.GuardMiddleware, self.app.guard
        for call in (lambda: make(None, "blocked.mkg"), lambda: make(None, guard, parameters="url"), lambda: make(None, guard, parameters=[b"url"]),
                     lambda: make(None, guard, status=403), lambda: mankai.asgi.GuardMiddleware(None, "blocked.mkg"),
                     lambda: mankai.asgi.GuardMiddleware(None, guard, parameters="url"), lambda: mankai.asgi.GuardMiddleware(None, guard, status="403 Forbidden")):
            with self.assertRaisesRegex(TypeError, "such as|mankai.Guard.open"):
                call()
        for call in (lambda: make(None, guard, status="403"), lambda: mankai.asgi.GuardMiddleware(None, guard, status=99)):
            with self.assertRaisesRegex(mankai.InvalidArgument, "such as"):
                call()

    def test_json_is_checked_and_passed_on(self):
        for kind in ("application/json", "application/ld+json; charset=utf-8"):
            for body in BLOCKED_JSON:
                self.assertEqual(wsgi_get(self.app, body=body, content_type=kind)[0], 403, body)
            for body in PASSED_JSON:
                self.assertEqual(wsgi_get(self.app, body=body, content_type=kind), (200, b"app:" + body))
        self.assertEqual(wsgi_get(self.app, body=BLOCKED_JSON[0], content_type="text/json")[0], 200)
        for body in (bytes(2 << 20), b'{"url": "http://evil.example/", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}"):
            self.assertEqual(wsgi_get(self.app, body=body, content_type="application/json")[0], 413)

    def test_bytes_of_utf_8_in_the_query(self):
        app = mankai.wsgi.GuardMiddleware(self.app.app, guard_of("évil.example"))
        self.assertEqual(wsgi_get(app, "url=http://évil.example/".encode().decode("latin-1"))[0], 403)

    def test_a_chunked_form_has_no_length(self):
        def app(environ, start_response):
            start_response("200 OK", [])
            return [environ["wsgi.input"].read()]

        def post(body):
            environ = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/x-www-form-urlencoded", "QUERY_STRING": "",
                       "wsgi.input": io.BytesIO(body), "wsgi.input_terminated": True}
            seen = []
            text = b"".join(mankai.wsgi.GuardMiddleware(app, self.app.guard)(environ, lambda status, headers: seen.append(status)))
            return int(seen[0][:3]), text
        self.assertEqual(post(b"url=http://evil.example/")[0], 403)
        self.assertEqual(post(b"url=http://good.example/"), (200, b"url=http://good.example/"))
        self.assertEqual(post(bytes(2 << 20))[0], 413)

    def test_what_is_no_url_is_refused_on_request(self):
        strict = mankai.wsgi.GuardMiddleware(self.app.app, self.app.guard, blocks_invalid=True)
        self.assertEqual(wsgi_get(strict, "url=http://")[0], 403)

    @needs("flask", "python3-flask")
    def test_in_flask(self):
        example = runpy.run_path(str(EXAMPLES / "flask_shortener.py"))
        client = example["app"].test_client()
        self.assertEqual(client.get("/shorten?url=http://evil.example/a").status_code, 403)
        self.assertEqual(client.get("/shorten?url=http://good.example/a").status_code, 200)
        for kind in ("application/json", "application/json, text/plain", "application/json x"):
            self.assertIn(client.delete("/shorten", data=BLOCKED_JSON[0], content_type=kind).status_code, (403, 415))


class AsgiTest(unittest.TestCase):
    def setUp(self):
        async def app(scope, receive, send):
            body = b""
            while True:
                message = await receive()
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"app:" + body})
        self.app = mankai.asgi.GuardMiddleware(app, guard_of("evil.example"))

    def test_it_refuses_blocked_urls_only(self):
        self.assertEqual(asgi_get(self.app), (200, b"app:"))
        self.assertEqual(asgi_get(self.app, "url=http://evil.example/")[0], 403)
        self.assertEqual(asgi_get(self.app, "url=http://good.example/")[0], 200)
        self.assertEqual(asgi_get(self.app, chunks=[b"url=http://ev", b"il.example/"])[0], 403)
        self.assertEqual(asgi_get(self.app, chunks=[b"url=http://go", b"od.example/"]), (200, b"app:url=http://good.example/"))
        self.assertEqual(asgi_get(self.app, chunks=[bytes(1 << 20)] * 3)[0], 413)

    def test_unclear_types_are_refused(self):
        for kind, body in UNCLEAR:
            self.assertEqual(asgi_get(self.app, chunks=[body], content_type=kind.encode())[0], 415, (kind, body))
        for kind in CLEAR:
            self.assertEqual(asgi_get(self.app, chunks=[PASSED_JSON[0]], content_type=kind.encode())[0], 200, kind)
            self.assertEqual(asgi_get(self.app, chunks=[BLOCKED_JSON[0]], content_type=kind.encode())[0], 403, kind)
        self.assertEqual(asgi_get(self.app, UTF7_FORM.decode(), chunks=[b""], content_type=b"text/plain; charset=utf-7")[0], 415)
        self.assertEqual(asgi_get(self.app, chunks=[UTF7_FORM], content_type=b"text/plain; charset=koi8-r")[0], 200)

    def test_bodies_of_all_methods_are_checked(self):
        for method in ("post", "POST", "PUT", "PATCH", "DELETE", "GET", "QUERY"):
            self.assertEqual(asgi_get(self.app, chunks=[BLOCKED_JSON[0]], content_type=b"application/json", method=method)[0], 403, method)
            self.assertEqual(asgi_get(self.app, chunks=[PASSED_JSON[0]], content_type=b"application/json", method=method), (200, b"app:" + PASSED_JSON[0]))

    def test_semicolons_separate_parameters(self):
        self.assertEqual(asgi_get(self.app, chunks=[b"a=b;url=http://evil.example/"])[0], 403)

    def test_json_is_checked_and_passed_on(self):
        for kind in (b"application/json", b"", None):  # FastAPI reads what has no type as JSON
            for body in BLOCKED_JSON:
                self.assertEqual(asgi_get(self.app, chunks=[body[:9], body[9:]], content_type=kind)[0], 403, body)
            for body in PASSED_JSON:
                self.assertEqual(asgi_get(self.app, chunks=[body], content_type=kind), (200, b"app:" + body))
        self.assertEqual(asgi_get(self.app, chunks=[b"[" * 5000 + b"]" * 5000], content_type=None)[0], 413)
        self.assertEqual(asgi_get(self.app, chunks=[BLOCKED_JSON[0]], content_type=b"text/plain")[0], 200)

    def test_an_empty_type_beside_another_one_is_json(self):
        text = [(b"content-type", b"text/plain")]
        self.assertEqual(asgi_get(self.app, chunks=[BLOCKED_JSON[0]], content_type=b"", more_headers=text)[0], 403)

    def test_repeated_headers_read_a_body_once(self):
        types = [(b"content-type", b"application/json")] * 100
        with unittest.mock.patch("json.loads", side_effect=json.loads) as counted:
            self.assertEqual(asgi_get(self.app, chunks=[PASSED_JSON[0]], content_type=None, more_headers=types)[0], 200)
        self.assertEqual(counted.call_count, 1)

    def test_any_of_repeated_headers_makes_a_form(self):
        text = [(b"content-type", b"text/plain")]
        self.assertEqual(asgi_get(self.app, chunks=[b"url=http://evil.example/"], more_headers=text)[0], 403)

    def test_other_protocols_pass(self):
        seen = []

        async def app(scope, receive, send):
            seen.append(scope["type"])
        asyncio.run(mankai.asgi.GuardMiddleware(app, self.app.guard)({"type": "lifespan"}, None, None))
        self.assertEqual(seen, ["lifespan"])

    @needs("fastapi", "python3-fastapi")
    def test_in_fastapi(self):
        example = runpy.run_path(str(EXAMPLES / "fastapi_preview.py"))
        self.assertEqual(asgi_get(example["app"], "url=http://evil.example/")[0], 403)
        status, body = asgi_get(example["app"], "url=http://good.example/")
        self.assertEqual(status, 200, body)


@needs("scrapy", "python3-scrapy")
class ScrapyTest(unittest.TestCase):
    def test_requests_are_seen_once_over_restarts(self):
        from mankai.scrapy import DupeFilter
        from scrapy import Request
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "requests.seen")
            first = DupeFilter(path, keys=1000)
            self.assertFalse(first.request_seen(Request("http://a.example/?b=1&a=2")))
            self.assertTrue(first.request_seen(Request("http://a.example/?a=2&b=1")))
            first.close("finished")
            second = DupeFilter(path)
            self.assertTrue(second.request_seen(Request("http://a.example/?a=2&b=1")))
            self.assertFalse(second.request_seen(Request("http://a.example/", method="POST")))
            second.close("finished")

    def test_without_a_folder_and_not_exact(self):
        from mankai.scrapy import DupeFilter
        from scrapy import Request
        for exact in (True, False):
            made = DupeFilter(exact=exact, keys=1000)
            self.assertEqual([made.request_seen(Request("http://a.example/")) for _ in range(2)], [False, True])
            made.close("finished")

    def test_a_crawl_of_a_server(self):
        """The example crawls a site whose pages link to each other: each page is requested once."""
        import http.server
        requests = []

        class Pages(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                links = "".join(f'<a href="/{number}?b=1&a={number % 3}">x</a>' for number in range(20))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f"<html>{links}</html>".encode())

            def log_message(self, *unused):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, str(EXAMPLES / "scrapy_crawl.py"), f"http://127.0.0.1:{server.server_port}/", folder],
                    capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                pages = [path for path in requests if path not in ("/", "/robots.txt")]
                self.assertEqual(len(pages), 20, done.stderr)
                self.assertEqual(len(set(pages)), 20)
                self.assertTrue(os.path.exists(os.path.join(folder, "requests.seen")))
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


if __name__ == "__main__":
    unittest.main()
