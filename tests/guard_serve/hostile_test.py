"""What hostile clients may send to `mankai guard serve`: it answers or hangs up, and others do not notice."""
import random
import socket
import time

import serving
from serving import Client, check_target


class Hostile(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build()

    def assert_serves(self, process):
        self.assertEqual(self.ask(process, check_target("http://evil.example/")).json()["answer"], "blocked")

    def test_malformed_heads_are_refused(self):
        process = self.serve()
        for head, status in {
            b"\0\1\2\3\r\n\r\n": 400, b"GET\r\n\r\n": 400, b"GET /healthz\r\n\r\n": 400, b"GET  HTTP/1.1\r\n\r\n": 400, b"\r\nGET  /healthz HTTP/1.1\r\n\r\n": 400,
            b"BREW /healthz HTTP/1.1\r\n\r\n": 501, b"GET /healthz HTTP/2.0\r\n\r\n": 505,
            b"GET /healthz HTTP/1.1\r\nA b: c\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nA : c\r\n\r\n": 400,
            b"GET /healthz HTTP/1.1\r\nA: b\r\n folded\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nnothing\r\n\r\n": 400,
            b"GET /healthz HTTP/1.1\r\nA: b\nB: c\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nA: \0\r\n\r\n": 400,
            b"GET /check?url=a\0b HTTP/1.1\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\n: b\r\n\r\n": 400,
            b"POST /check HTTP/1.1\r\n\r\n": 411, b"POST /check HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 411,
            b"POST /check HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 411,
            b"POST /check HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd": 400,
            b"POST /check HTTP/1.1\r\nContent-Length: -1\r\n\r\n": 400, b"POST /check HTTP/1.1\r\nContent-Length: 0x1\r\n\r\na": 400,
            b"POST /check HTTP/1.1\r\nContent-Length: \r\n\r\n": 400, b"POST /check HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\na": 400,
            b"POST /check HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n": 413,
            b"GET /" + b"a" * 8192: 414, b"A" * 20000: 414,
            b"GET /healthz HTTP/1.1\r\nA: " + b"b" * 20000: 431,
            b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * 4000: 431,
        }.items():
            with self.subTest(head[:60]), Client(process.port) as client:
                client.send(head.replace(b" HTTP/1.1\r\n", b" HTTP/1.1\r\nHost: t\r\n", 1))  # so that no head is refused for want of it
                answer = client.answer()
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(answer.json()["error"])
                self.assertTrue(client.has_ended(), "nobody knows where the next request begins")
        with Client(process.port) as client:
            client.send(b"HEAD /healthz HTTP/1.1\r\n\r\n")
            self.assertEqual(client.answer(has_body=False).status, 400)
            self.assertTrue(client.has_ended(), "a response to HEAD has no body")
        self.assert_serves(process)

    def test_a_host_is_required_in_1_1_and_has_no_effect(self):
        process = self.serve()
        for head, status in {
            b"GET /healthz HTTP/1.1\r\n\r\n": 400, b"GET /healthz HTTP/1.0\r\n\r\n": 200, b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n": 200,
            b"GET /healthz HTTP/1.1\r\nHOST: \t[::1]:80 \r\n\r\n": 200, b"GET /healthz HTTP/1.1\r\nHost: a_b.example:9\r\n\r\n": 200,
            b"GET /healthz HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n": 400, b"GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n": 400,
            b"GET /healthz HTTP/1.0\r\nHost: a, b\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n": 400,
            b"GET /healthz HTTP/1.1\r\nHost: u@a\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nHost: a\"<>\r\n\r\n": 400,
            b"GET /healthz HTTP/1.1\r\nHost: \xc3\xa9.example\r\n\r\n": 400, b"GET /healthz HTTP/1.1\r\nHost: 192.0.2.1:\r\n\r\n": 200,
            **{b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % host: 400 for host in (b"[::1", b"[]", b"]:[", b"[::1]80", b"[a.example]", b"a:b", b"a:80:80", b":::")},
        }.items():
            with self.subTest(head), Client(process.port) as client:
                client.send(head)
                answer = client.answer()
                self.assertEqual(answer.status, status)
                if status == 400:
                    self.assertIn("Host", answer.json()["error"])
                    self.assertEqual("HTTP/1.1" in answer.json()["error"], head == b"GET /healthz HTTP/1.1\r\n\r\n")

    def test_a_target_may_be_a_whole_url(self):
        process = self.serve()
        check = check_target("http://new.example/")
        for target, status, method in (
                ("http://a.example/healthz", 200, "GET"), ("HTTP://[::1]:80/healthz", 200, "GET"),
                ("https://a.example:9/healthz", 200, "GET"), (f"http://a.example{check}", 200, "GET"),
                ("http:///healthz", 400, "GET"), ("http://a.example/none", 404, "GET"), ("http://a.example", 404, "GET"),
                ("http://", 400, "GET"), ("http://a.example?x", 404, "GET"), ("ftp://a.example/healthz", 404, "GET"),
                ("http://u@a.example/healthz", 400, "GET"), ("http://a,b/healthz", 400, "GET"),
                ("http:/healthz", 404, "GET"), ("*", 404, "OPTIONS")):
            with self.subTest(target), Client(process.port) as client:
                answer = client.ask(target, method)
                self.assertEqual(answer.status, status)
                if "check" in target:
                    self.assertEqual(answer.json()["url"], "http://new.example/")
        metrics = self.metrics(process)
        self.assertEqual(metrics['mankai_http_requests_total{endpoint="healthz",code="200"}'], 3)
        self.assertEqual(metrics['mankai_http_requests_total{endpoint="check",code="200"}'], 1)

    def test_headers_that_cost_parsers_much_are_not_parsed(self):
        process = self.serve()
        with self.client(process) as client:
            answer = client.ask("/healthz", headers=["Range: bytes=" + ",".join(["0-0"] * 2000),
                                                     "Accept-Encoding: gzip, br"] + ["X: y"] * 1000)
            self.assertEqual((answer.status, answer.body), (200, b"ok\n"))

    def test_random_bytes(self):
        process = self.serve()
        generator = random.Random(7)
        start = b"POST /check?url=http://a/ HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"
        for _ in range(200):
            data = bytearray(start)
            for _ in range(generator.randrange(1, 8)):
                data[generator.randrange(len(data))] = generator.randrange(256)
            with Client(process.port) as client:
                client.send(bytes(data[:generator.randrange(1, len(data) + 1)]))
                client.socket.shutdown(socket.SHUT_WR)
                while client.socket.recv(1 << 16):
                    pass
        self.assert_serves(process)

    def test_slow_clients_hold_nobody_up(self):
        process = self.serve("--threads", "1")
        slow = [self.client(process) for _ in range(100)]
        for i, client in enumerate(slow):
            client.send([b"G", b"GET /healthz HTTP/1.1\r\nHost: t\r\nA: ", b"POST /check HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nhttp"][i % 3])
        self.assert_serves(process)
        slow[1].send(b"b\r\n\r\n")
        self.assertEqual(slow[1].answer().body, b"ok\n")
        slow[2].send(b"://a/")
        self.assertEqual(slow[2].answer().body, b"ok\thttp://a/\n")

    def test_who_does_not_read_holds_nobody_up(self):
        process = self.serve("--threads", "1")
        body = b"http://evil.example/\n" * 9000
        request = b"POST /check HTTP/1.1\r\nHost: t\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        greedy = [self.client(process) for _ in range(4)]
        for client in greedy:
            client.socket.settimeout(0.2)
            try:
                for _ in range(50):
                    client.send(request)
            except TimeoutError:
                pass  # the server has no room for more of its requests
        self.assert_serves(process)

    def test_requests_sent_together_are_answered_in_order(self):
        process = self.serve()
        with self.client(process) as client:
            client.send(b"".join(b"GET /check?url=http://a/%d HTTP/1.1\r\nHost: t\r\n\r\n" % i for i in range(300)))
            self.assertEqual([client.answer().json()["url"] for _ in range(300)],
                             [f"http://a/{i}" for i in range(300)])
            client.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\nContent-Length: 28\r\n\r\nGET /nothing HTTP/1.1\r\n\r\nabcGET /check HTTP/1.1\r\nHost: t\r\n\r\n")
            self.assertEqual([client.answer().status for _ in range(2)], [200, 400], "a body is no request")

    def test_byte_by_byte(self):
        process = self.serve()
        with self.client(process) as client:
            for byte in b"\r\nPOST /check HTTP/1.1\r\nHost: t\r\nContent-Length: 8\r\n\r\nhttp://a":
                client.send(bytes([byte]))
            self.assertEqual(client.answer().body, b"ok\thttp://a\n")

    def test_expect_continue(self):
        process = self.serve()
        with self.client(process) as client:
            client.send(b"POST /check HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n")
            self.assertEqual(client.socket.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.send(b"http://a")
            self.assertEqual(client.answer().body, b"ok\thttp://a\n")
            client.send(b"POST /check HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 8000000\r\n\r\n")
            self.assertEqual(client.answer().status, 413, "known before it is sent")

    def test_who_wants_the_connection_closed(self):
        process = self.serve()
        for head in (b"GET /healthz HTTP/1.0\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: Close\r\n\r\n"):
            with Client(process.port) as client:
                client.send(head)
                answer = client.answer()
                self.assertEqual((answer.body, answer.headers["connection"]), (b"ok\n", "close"))
                self.assertTrue(client.has_ended())
        with Client(process.port) as client:  # as `printf … | nc` does
            client.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(client.answer().body, b"ok\n")
            self.assertTrue(client.has_ended())

    def test_more_clients_than_there_is_room_for(self):
        process = self.serve("--connections", "20")
        kept = [self.client(process) for _ in range(20)]
        for client in kept:
            client.ask("/healthz")
        for _ in range(30):
            self.assert_serves(process)
        self.assertGreater(self.metrics(process)['mankai_http_connections_ended_total{why="room"}'], 0)

    def test_half_requests_keep_nobody_out(self):
        for count in (18, 19, 20, 40):
            with self.subTest(count):
                process = self.serve("--connections", "20", "--threads", "2")
                half = [self.client(process) for _ in range(count)]
                for client in half:
                    client.send(b"GET /check?u")
                for i in range(30):
                    with Client(process.port) as client:
                        time.sleep(0.05 if i < 4 else 0)  # what has sent nothing yet is not what has been silent longest
                        client.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
                        self.assertEqual(client.answer().status, 200)
                process.kill()

    def test_who_is_only_about_to_end_takes_no_room(self):
        process = self.serve("--connections", "20", "--threads", "2")
        kept = [self.client(process) for _ in range(10)]
        for client in kept:
            client.ask("/healthz")
        for _ in range(100):  # these do not end their side
            self.assertEqual(self.client(process).ask("/healthz", headers=["Connection: close"]).status, 200)
        for client in kept:
            self.assertEqual(client.ask("/healthz").status, 200)
        self.assertEqual(self.metrics(process)['mankai_http_connections_ended_total{why="room"}'], 0)

    def test_thousands_of_connections(self):
        process = self.serve("--threads", "2")
        clients = [self.client(process) for _ in range(400)]
        for _ in range(3):
            for client in clients:
                client.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n")
            for client in clients:
                self.assertEqual(client.answer().body, b"ok\n")

    def test_who_takes_too_long_is_cut_off(self):
        process = self.serve("--timeout", "1")
        with self.client(process) as client:
            client.send(b"GET /healthz HTTP/1.1\r\nHost: t\r\n")
            client.socket.settimeout(0.1)
            for _ in range(600):  # a byte now and then does not help
                try:
                    answer = client.answer()
                    break
                except TimeoutError:
                    client.send(b"A")
            else:
                self.fail("it may take as long as it likes")
            self.assertEqual((answer.status, answer.headers["connection"]), (408, "close"))
            self.assertTrue(client.has_ended())
        with self.client(process) as client:
            client.ask("/healthz")
            client.send(b"POST /check HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhalf")
            self.assertEqual(client.answer().status, 408)
            self.assertTrue(client.has_ended())
        metrics = self.metrics(process)
        self.assertEqual(metrics['mankai_http_connections_ended_total{why="slow"}'], 2)
        self.assertEqual(metrics['mankai_http_requests_total{endpoint="other",code="408"}'], 2)


if __name__ == "__main__":
    serving.harness.main()
