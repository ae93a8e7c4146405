"""What the endpoints of `mankai guard serve` answer."""
import datetime
import time

import serving
from serving import check_target, redirect_target, spellings


class Check(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build()
        self.process = self.serve()

    def test_one_url(self):
        for url, answer in {
            "http://evil.example/": {"answer": "blocked", "rule": "evil.example"},
            "HTTPS://A.B.Evil.Example:8080/x/y?z=1&w#f": {"answer": "blocked", "rule": "evil.example"},
            "http://bad.test/foo/x": {"answer": "blocked", "rule": "bad.test/foo"},
            "http://bad.test/foobar": {"answer": "ok"},
            "http://query.test/a?b=c": {"answer": "blocked", "rule": "query.test/a?b=c"},
            "http://good.evil.example/": {"answer": "allowed", "rule": "good.evil.example"},
            "http://other.example/": {"answer": "ok"},
        }.items():
            with self.subTest(url):
                found = self.ask(self.process, check_target(url))
                self.assertEqual(found.status, 200)
                self.assertEqual(found.headers["content-type"], "application/json")
                self.assertEqual(found.headers["cache-control"], "no-store")
                self.assertEqual(found.headers["x-content-type-options"], "nosniff")
                self.assertEqual(found.json(), {"url": url} | answer)

    def test_what_is_no_url_is_invalid(self):
        found = self.ask(self.process, check_target("mailto:somebody")).json()
        self.assertEqual((found["url"], found["answer"]), ("mailto:somebody", "invalid"))
        self.assertTrue(found["reason"])

    def test_other_encodings_of_the_query(self):
        for query, url in {
            "url=http://evil.example/": "http://evil.example/",
            "url=http://evil.example/x=y": "http://evil.example/x=y",
            "url=http%3a%2F%2Fevil.example%2Fa+b": "http://evil.example/a b",
            "url=http://evil.example/%2B%zz%4": "http://evil.example/+%zz%4",
            "url=http://evil.example/#url=http://other.example/": "http://evil.example/",
        }.items():
            with self.subTest(query):
                found = self.ask(self.process, "/check?" + query)
                self.assertEqual(found.json(), {"url": url, "answer": "blocked", "rule": "evil.example"})

    def test_bytes_that_are_no_text(self):
        found = self.ask(self.process, "/check?url=http://evil.example/%ff%00%22%5c%0a")
        self.assertEqual(found.json(), {"url": 'http://evil.example/\\xff\x00"\\\\\n', "url_is_escaped": True,
                                        "answer": "blocked", "rule": "evil.example"})

    def test_wrong_requests_are_told_what_is_wrong(self):
        for target, status, says in [
            ("/check", 400, "url= is missing"), ("/check?", 400, "url= is missing"),
            ("/check?url=", 400, "url= is missing"), ("/check?urls=http://a/", 400, "unexpected parameter"),
            ("/check?url=http://evil.example/a&x=1", 400, "unexpected parameter"), ("/check?url=http://a/&", 400, "unexpected parameter"),
            ("/check?url=http://a/&url=http://b/", 400, "url= is given twice"),
            ("/check?url=http://a/?x", 400, "percent-encode"),
            ("/", 404, "/check?url="), ("/check/", 404, "/check?url="), ("/%63heck?url=http://a/", 404, "/check?url="), ("/etc/passwd", 404, "/check?url="),
            ("/check?url=http://a/" + "x" * 9000, 414, "8192"),
        ]:
            with self.subTest(target[:40]):
                found = self.ask(self.process, target)
                self.assertEqual(found.status, status)
                self.assertEqual(found.headers["content-type"], "application/json")
                self.assertIn(says, found.json()["error"])

    def test_methods(self):
        for target, method, allowed in [("/check", "PUT", "GET, HEAD, POST"), ("/redirect?url=http://a/", "POST", "GET, HEAD"),
                                        ("/metrics", "DELETE", "GET, HEAD"), ("/healthz", "OPTIONS", "GET, HEAD")]:
            with self.subTest(target):
                found = self.ask(self.process, target, method=method, body=b"")
                self.assertEqual((found.status, found.headers["allow"]), (405, allowed))

    def test_head_is_get_without_a_body(self):
        with serving.Client(self.process.port) as client:
            head = client.ask(check_target("http://evil.example/"), method="HEAD")
            get = client.ask(check_target("http://evil.example/"))
            self.assertEqual(head.status, 200)
            self.assertEqual(head.headers["content-length"], get.headers["content-length"])

    def test_every_answer_has_a_date(self):
        for target, status in (("/healthz", 200), ("/none", 404), ("/check", 400), ("/x?y?z", 400)):
            begun = int(time.time())
            answer = self.ask(self.process, target)
            self.assertEqual(answer.status, status)
            date = datetime.datetime.strptime(answer.headers["date"], "%a, %d %b %Y %H:%M:%S GMT")
            self.assertTrue(begun <= date.replace(tzinfo=datetime.timezone.utc).timestamp() <= time.time(), answer.headers["date"])

    def test_healthz(self):
        found = self.ask(self.process, "/healthz")
        self.assertEqual((found.status, found.body), (200, b"ok\n"))


class Batch(serving.ServeTest):
    URLS = b"http://evil.example/x\r\n\nhttp://ok.test/\xff\nmailto:a\nhttp://good.evil.example/"

    def setUp(self):
        super().setUp()
        self.build()
        self.process = self.serve()

    def post(self, body, *headers):
        return self.ask(self.process, "/check", method="POST", headers=headers, body=body)

    def test_lines_are_those_of_the_command(self):
        found = self.post(self.URLS)
        self.assertEqual((found.status, found.headers["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertEqual(found.body, self.out("guard", "check", "list.mkg",
                                              stdin=self.URLS.replace(b"\r", b"").replace(b"\n\n", b"\n")))
        self.assertEqual(self.post(b"").body, b"")

    def test_json(self):
        lines = self.post(self.URLS, "Accept: application/x-ndjson")
        self.assertEqual(lines.headers["content-type"], "application/x-ndjson")
        array = self.post(self.URLS, "Accept: text/html, application/json;q=0.9")
        self.assertEqual(array.headers["content-type"], "application/json")
        self.assertEqual([found["answer"] for found in array.json()], ["blocked", "ok", "invalid", "allowed"])
        self.assertEqual(array.json(), [serving.json.loads(line) for line in lines.body.splitlines()])
        self.assertEqual(self.post(b"\n", "Accept: application/json").json(), [])
        for accept in ("application/json;q=0", "application/x-ndjson; q=0.0", "application/json;q=0.1, text/plain", "*/*"):
            self.assertEqual(self.post(b"http://a/\n", f"Accept: {accept}").body, b"ok\thttp://a/\n")

    def test_what_curl_sends(self):
        for kind in ("text/plain; charset=utf-8", "application/x-www-form-urlencoded", "application/octet-stream"):
            self.assertEqual(self.post(b"http://evil.example/\n", f"Content-Type: {kind}").status, 200)
        form = "Content-Type: application/x-www-form-urlencoded"
        found = self.post(b"url=http%3A%2F%2Fevil.example%2F", form)  # --data-urlencode without -G
        self.assertEqual(found.status, 400)
        self.assertIn("curl -G", found.json()["error"])
        self.assertEqual(self.post(b"evil.example/a?url=b", form).body, b"blocked\tevil.example/a?url=b\tevil.example\n")

    def test_what_is_refused(self):
        for headers, body, status, says in [
            (["Content-Type: multipart/form-data; boundary=x"], b"--x--", 415, "text/plain"),
            (["Content-Type: application/json"], b"[]", 415, "text/plain"),
            (["Content-Encoding: gzip"], b"x", 415, "not compressed"),
            ([], b"http://a/\n" * 10001, 413, "10000"),
            ([], b"x" * (1 << 20) + b"x", 413, "1 MiB"),
        ]:
            with self.subTest(says):
                found = self.post(body, *headers)
                self.assertEqual(found.status, status)
                self.assertIn(says, found.json()["error"])

    def test_the_largest_batch(self):
        body = b"http://evil.example/" + b"x" * ((1 << 20) - 21) + b"\n"
        self.assertEqual(self.post(body).body, b"blocked\t" + body[:-1] + b"\tevil.example\n")
        body = b"http://evil.example/\n" * 10000
        self.assertEqual(self.post(body).body.count(b"blocked\t"), 10000)


class Redirect(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build()
        self.process = self.serve()

    def test_what_is_not_blocked_is_followed(self):
        for url, location in {
            "http://ok.test/a?b=c&d#e": "http://ok.test/a?b=c&d#e",
            "HTTPS://OK.test": "https://ok.test/",
            "http://ok.test?q": "http://ok.test/?q",
            "http://good.evil.example/": "http://good.evil.example/",
            "http://ok.test:8080/%41?\"<>\u00e9": "http://ok.test:8080/%41?%22%3C%3E%C3%A9",
            "http://b\u00fccher.test/": "http://xn--bcher-kva.test/",
        }.items():
            with self.subTest(url):
                found = self.ask(self.process, redirect_target(url))
                self.assertEqual((found.status, found.headers.get("location")), (302, location))
                found = self.ask(self.process, redirect_target(url) + "&fbclid=added-by-others")
                self.assertEqual((found.status, found.headers.get("location")), (302, location))
                self.assertEqual(found.headers["referrer-policy"], "no-referrer")
                self.assertEqual(found.headers["cache-control"], "no-store")

    def test_what_is_blocked_gets_a_page(self):
        url = "http://evil.example/<script>alert('x')</script>&amp;\u202e"
        found = self.ask(self.process, redirect_target(url))
        self.assertEqual(found.status, 403)
        self.assertNotIn("location", found.headers)
        self.assertEqual(found.headers["content-type"], "text/html; charset=utf-8")
        self.assertIn("default-src 'none'", found.headers["content-security-policy"])
        self.assertIn("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;", found.text)
        self.assertNotIn("<script", found.text)
        self.assertNotIn("\u202e", found.text, "what turns the direction of writing around could show another address")
        self.assertNotIn("href=\"http", found.text, "nothing on the page leads there")
        self.assertIn("<dd>evil.example</dd>", found.text)

    def test_no_spelling_leads_to_a_listed_host(self):
        self.build("spelled.mkg", "\n".join(spellings.RULES).encode() + b"\n", exceptions=spellings.EXCEPTIONS)
        process = self.serve(name="spelled.mkg")
        for urls, answers in ((spellings.BLOCKED, ("blocked",)), (spellings.INVALID, ("invalid",)),
                              (spellings.OK, ("ok", "allowed"))):
            for url in urls:
                with self.subTest(url):
                    self.assertIn(self.ask(process, check_target(url)).json()["answer"], answers)
                    found = self.ask(process, redirect_target(url))
                    self.assertEqual(found.status, {"blocked": 403, "invalid": 400}.get(answers[0], 302))

    def test_the_location_is_what_a_browser_opens(self):
        for url, location in {
            "http://ok.test/a\\b": "http://ok.test/a/b",
            "http:///ok.test/": "http://ok.test/",
            "http://\u2603.ok.test/": "http://xn--n3h.ok.test/",
            "http://1.0x.2.4/": "http://1.0.2.4/",
            "http://ok.test:80/?q\\#f\\": "http://ok.test/?q%5C#f%5C",
        }.items():
            with self.subTest(url):
                found = self.ask(self.process, redirect_target(url))
                self.assertEqual((found.status, found.headers.get("location")), (302, location))

    def test_what_may_not_be_followed_is_not(self):
        for url in ("javascript:alert(1)", "JavaScript://ok.test/%0aalert(1)", "data:text/html,x", "//ok.test/", "ok.test",
                    "ftp://ok.test/", "file:///etc/passwd", "http:/ok.test/", "http:ok.test", " http://ok.test/",
                    "http://ok.test/\r\nSet-Cookie: a=b", "http://ok.test/a b", "http://ok.test/\0", "\nhttp://ok.test/",
                    "http://user@ok.test/", "http://ok.test\\@evil.example/", "http://ok.test\\.evil.example/",
                    "http://ok.test%2f.evil.example/", "http://ok.test%23@evil.example/", "http:///", "http://",
                    "http://ok.test\uff0fevil.example/"):
            with self.subTest(url):
                found = self.ask(self.process, redirect_target(url))
                self.assertIn(found.status, (400, 403))
                self.assertNotIn("location", found.headers)
                self.assertNotIn("set-cookie", found.headers)
        found = self.ask(self.process, "/redirect")
        self.assertEqual((found.status, found.headers["content-type"]), (400, "text/html; charset=utf-8"))

    def test_it_can_be_left_out(self):
        process = self.serve("--no-redirect")
        self.assertEqual(self.ask(process, redirect_target("http://ok.test/")).status, 404)


class Metrics(serving.ServeTest):
    def test_they_count(self):
        self.build()
        process = self.serve()
        for url in ("http://evil.example/", "http://ok.test/", "mailto:a"):
            self.ask(process, check_target(url))
        self.ask(process, "/check", method="POST", body=b"http://ok.test/\nhttp://good.evil.example/\n")
        self.ask(process, redirect_target("http://ok.test/"))
        self.ask(process, redirect_target("http://evil.example/"))
        self.ask(process, "/nothing")
        self.ask(process, "/check?url=http://a/?x")
        found = self.metrics(process)
        for sample, value in {
            'mankai_http_requests_total{endpoint="check",code="200"}': 3,
            'mankai_http_requests_total{endpoint="check_batch",code="200"}': 1,
            'mankai_http_requests_total{endpoint="redirect",code="302"}': 1,
            'mankai_http_requests_total{endpoint="redirect",code="403"}': 1,
            'mankai_http_requests_total{endpoint="other",code="404"}': 1,
            'mankai_http_requests_total{endpoint="other",code="400"}': 1,
            'mankai_guard_checks_total{answer="ok"}': 3,
            'mankai_guard_checks_total{answer="blocked"}': 2,
            'mankai_guard_checks_total{answer="allowed"}': 1,
            'mankai_guard_checks_total{answer="invalid"}': 1,
            'mankai_guard_rules{part="filter"}': 3,
            "mankai_guard_exceptions": 1,
            'mankai_guard_reloads_total{result="good"}': 0,
            'mankai_guard_reloads_total{result="failed"}': 0,
            "mankai_http_request_duration_seconds_count": 8,
            'mankai_http_request_duration_seconds_bucket{le="+Inf"}': 8,
            "mankai_http_connections_total": 9,
            "mankai_log_lines_lost_total": 0,
        }.items():
            self.assertEqual(found.get(sample), value, sample)
        self.assertGreaterEqual(found["mankai_http_connections"], 1)
        self.assertGreaterEqual(found["mankai_guard_probes_total"], 5)
        self.assertAlmostEqual(found["mankai_guard_file_modified_timestamp_seconds"],
                               (self.dir / "list.mkg").stat().st_mtime, places=3)
        self.assertEqual(found["mankai_guard_file_bytes"], (self.dir / "list.mkg").stat().st_size)
        buckets = [value for name, value in found.items() if "_bucket{" in name]
        self.assertEqual(buckets, sorted(buckets))


if __name__ == "__main__":
    serving.harness.main()
