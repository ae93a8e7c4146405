"""`mankai guard serve` as a service: its start, its log, and what it tells the service manager."""
import os
import re
import select
import signal
import socket

import serving
from serving import Client, check_target


class Start(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build()

    def test_a_taken_port(self):
        process = self.serve()
        self.error("guard", "serve", "list.mkg", "--listen", f"127.0.0.1:{process.port}", code=4,
                   says=[f"127.0.0.1:{process.port}", "taken", "--listen"])
        self.assertEqual(self.ask(process, "/healthz").status, 200)

    def test_a_port_is_free_at_once_after_the_end(self):
        for _ in range(3):  # another program may take the port in between
            process = self.serve()
            with self.client(process) as client:
                client.ask("/healthz")
                self.stop(process)
            again = self.start("guard", "serve", "list.mkg", "--listen", f"127.0.0.1:{process.port}")
            self.wait_for(lambda service=again: service.poll() is not None or select.select([service.stdout], [], [], 0)[0],
                          "the service")
            if b"listening" in again.stdout.readline():
                return
        self.fail(again.stderr.read().decode())

    def test_wrong_arguments(self):
        for arguments, code, says in [
            (["--listen", "8080"], 2, "--listen"), (["--listen", "127.0.0.1:http"], 2, "port"), (["--listen", "::1:80"], 2, "brackets"),
            (["--listen", "127.0.0.1:65536"], 2, "65535"), (["--threads", "0"], 2, "--threads"), (["--connections", "x"], 2, "--connections"),
            (["--listen", "192.0.2.1:0"], 4, "192.0.2.1"), (["--listen", "nowhere.invalid:0"], 4, "nowhere.invalid"),
            (["--log", "no/such/folder"], 4, "no/such/folder"),
        ]:
            with self.subTest(arguments):
                self.error("guard", "serve", "list.mkg", *arguments, code=code, says=says)
        self.error("guard", "serve", "missing.mkg", code=4, says="missing.mkg")
        self.write("bad.mkg", b"nothing of ours" * 100)
        self.error("guard", "serve", "bad.mkg", code=3, says="bad.mkg")

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        process = self.start("guard", "serve", "list.mkg", "--listen", "[::1]:0")
        self.assertRegex(serving.harness.read_line(process.stdout, serving.PATIENCE), rb"^listening on http://\[::1\]:\d+\n$")

    def test_nobody_reads_the_output(self):
        for _ in range(3):  # another program may take the port in between
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            process = self.start("guard", "serve", "list.mkg", "--listen", f"127.0.0.1:{port}")
            process.stdout.close()
            self.wait_for(lambda: process.poll() is not None or self.is_listening(port), "the service")
            if process.poll() is None:
                break
        self.stop(process)

    @staticmethod
    def is_listening(port):
        try:
            Client(port).close()
            return True
        except ConnectionRefusedError:
            return False


class Manager(serving.ServeTest):
    def test_it_is_told(self):
        self.build()
        for name in (str(self.dir / "notify"), f"\0mankai-test-{os.getpid()}"):
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(manager.close)
            manager.bind(name)
            manager.settimeout(serving.PATIENCE)
            process = self.serve("--no-watch", env=os.environ | {"NOTIFY_SOCKET": name.replace("\0", "@")})
            self.assertRegex(manager.recv(1000).decode(), rf"^READY=1\nSTATUS=[^\n]*127\.0\.0\.1:{process.port}$")
            os.kill(process.pid, signal.SIGHUP)
            self.assertRegex(manager.recv(1000).decode(), r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertIn("READY=1", manager.recv(1000).decode())
            self.stop(process)
            self.assertEqual(manager.recv(1000), b"STOPPING=1")


class Log(serving.ServeTest):
    LINE = r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([^"]*)" (\d{3}) (\d+)'

    def setUp(self):
        super().setUp()
        self.build()

    def requests(self, name):
        return [re.fullmatch(self.LINE, line).groups()[:2] for line in self.read(name).decode().splitlines()]

    def test_a_line_a_request(self):
        process = self.serve("--log", "access.log", "--no-watch")
        with self.client(process) as client:
            client.ask(check_target("http://a/"))
            client.ask('/no"thing\\')
        with self.client(process) as client:
            client.send(b"\0\r\n\r\n")
            client.answer()
        # A refused request says in the log what was asked, as far as it was received: who sends it must be found.
        with self.client(process) as client:
            client.send(b"GET /check?url=a?b HTTP/1.1\r\nHost: t\r\n\r\n")
            client.answer()
        with self.client(process) as client:
            client.send(b"POST /check HTTP/1.1\r\nHost: t\r\nContent-Length: 9999999\r\n\r\n")
            client.answer()
        self.assertEqual(self.requests("access.log"), [("GET /check?url=http%3A%2F%2Fa%2F HTTP/1.1", "200"),
                                                       ("GET /no\\x22thing\\x5c HTTP/1.1", "404"), ("\\x00", "400"),
                                                       ("GET /check?url=a?b HTTP/1.1", "400"),
                                                       ("POST /check HTTP/1.1", "413")])
        os.rename(self.dir / "access.log", self.dir / "access.log.1")
        self.ask(process, "/healthz")
        os.kill(process.pid, signal.SIGHUP)
        self.wait_for((self.dir / "access.log").exists, "a new log")
        self.wait_for(lambda: self.ask(process, "/healthz") and self.read("access.log"), "a line in the new log")
        self.stop(process)
        self.assertEqual(len(self.requests("access.log.1")) >= 4, True)
        self.assertEqual(self.requests("access.log")[-1], ("GET /healthz HTTP/1.1", "200"))

    def test_hot_reads_it(self):
        process = self.serve("--log", "access.log")
        for _ in range(3):
            self.ask(process, check_target("http://a/"))
        self.stop(process)
        self.assertIn(b"/check", self.out("hot", "access.log"))

    def test_who_does_not_read_the_log_holds_nobody_up(self):
        process = self.serve("--log", "-", "--no-watch")  # standard error is a pipe
        with self.client(process) as client:
            for i in range(60):
                self.assertEqual(client.ask(check_target(f"http://a/{i}?" + "x" * 4000)).status, 200)
        os.kill(process.pid, signal.SIGHUP)
        self.wait_for(lambda: self.metrics(process)['mankai_guard_reloads_total{result="good"}'] == 1, "a reload")
        lost = self.metrics(process)["mankai_log_lines_lost_total"]
        self.assertGreater(lost, 0)
        os.kill(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(serving.PATIENCE), 0)
        kept = [line for line in process.stderr.read().decode().splitlines() if re.fullmatch(self.LINE, line)]
        self.assertGreater(len(kept), 3)

    def test_a_full_disk_costs_lines_only(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        process = self.serve("--log", "/dev/full")
        self.assertEqual(self.ask(process, "/healthz").status, 200)
        self.assertEqual(self.metrics(process)["mankai_log_lines_lost_total"], 1)


if __name__ == "__main__":
    serving.harness.main()
