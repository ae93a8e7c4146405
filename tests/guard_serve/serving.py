"""A running `mankai guard serve` and clients that speak HTTP byte by byte, for the suites beside this file.

Usage: SUITE_test.py MANKAI SHARE_FOLDER SHARED_DATA_FOLDER [unittest arguments...]
"""
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "command"))
import harness  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "guard"))
import spellings  # noqa: E402

PATIENCE = harness.PATIENCE
LIST = b"http://evil.example/\nhttp://bad.test/foo\nhttp://query.test/a?b=c\n"
ALLOWED = b"good.evil.example\n"


class Answer:
    """An answer: status, headers with lower-case names, body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


class Client:
    """A connection."""

    def __init__(self, port, timeout=PATIENCE):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._bytes = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        """Adds bytes; returns False at the end."""
        data = self.socket.recv(1 << 16)
        self._bytes += data
        return bool(data)

    def answer(self, has_body=True):
        """Reads one answer, or returns None where the connection ends before it begins."""
        while b"\r\n\r\n" not in self._bytes:
            if not self._more():
                if self._bytes:
                    raise AssertionError(f"half an answer: {self._bytes!r}")
                return None
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in lines]
        headers = {name.lower(): value for name, value in pairs}
        if len(headers) != len(pairs):
            raise AssertionError(f"a header twice: {lines}")
        length = int(headers["content-length"]) if has_body else 0
        while len(self._bytes) < length:
            if not self._more():
                raise AssertionError("the body is cut short")
        body, self._bytes = self._bytes[:length], self._bytes[length:]
        return Answer(int(re.fullmatch(r"HTTP/1\.1 (\d{3}) [A-Za-z -]+", first)[1]), headers, body)

    def ask(self, target, method="GET", headers=(), body=None):
        lines = [f"{method} {target} HTTP/1.1", "Host: test", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
        return self.answer(has_body=method != "HEAD")

    def has_ended(self):
        """Whether the server ends the connection, without another word."""
        try:
            return not self._bytes and not self._more()
        except ConnectionResetError:
            return True


def check_target(url):
    return "/check?url=" + urllib.parse.quote(url, safe="")


def redirect_target(url):
    return "/redirect?url=" + urllib.parse.quote(url, safe="")


class Load:
    """Clients that ask again and again, each on a connection of its own, until they are told to end.

    All are connected when this returns: one that connects later may find a service that is ending.
    """

    def __init__(self, port, target, count=8):
        self.answers = []
        self.failures = []
        self._is_ending = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(Client(port), target)) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self, client, target):
        try:
            with client:
                while not self._is_ending.is_set():
                    answer = client.ask(target)
                    if answer is None:
                        self.failures.append("no answer")
                        return
                    self.answers.append((answer.status, answer.body))
                    if answer.headers.get("connection") == "close":
                        return
        except (OSError, AssertionError, ValueError) as error:
            self.failures.append(repr(error))

    def wait_for(self, count):
        """Returns when so many more answers are there."""
        target = len(self.answers) + count
        deadline = time.monotonic() + PATIENCE
        while len(self.answers) < target and not self.failures and time.monotonic() < deadline:
            time.sleep(0.002)

    def end(self):
        self._is_ending.set()
        self.join()

    def join(self):
        for thread in self._threads:
            thread.join(PATIENCE)


class ServeTest(harness.CommandTest):
    """Starts services that are ended with the test."""

    def build(self, name="list.mkg", rules=LIST, *options, exceptions=()):
        """Makes a guard without false positives; an old one is replaced."""
        self.write("rules.txt", rules)
        self.write("allowed.txt", ALLOWED + "".join(f"{each}\n" for each in exceptions).encode())
        self.run_mankai("guard", "build", "--force", "--exact", "--allow", "allowed.txt", *options,
                        name, "rules.txt")
        return self.dir / name

    def serve(self, *arguments, name="list.mkg", **options):
        """Starts a service on a free port and returns when it listens."""
        process = self.start("guard", "serve", name, "--listen", "127.0.0.1:0", *arguments,
                             preexec_fn=harness.default_signals, **options)
        line = harness.read_line(process.stdout, PATIENCE).decode()
        process.port = int(re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)[1])
        return process

    def client(self, process):
        client = Client(process.port)
        self.addCleanup(client.close)
        return client

    def ask(self, process, target, **options):
        with Client(process.port) as client:
            return client.ask(target, **options)

    def metrics(self, process):
        """Returns {'name{labels}': value}; the format is checked line by line."""
        answer = self.ask(process, "/metrics")
        self.assertEqual(answer.status, 200)
        values, families = {}, {}
        for line in answer.text.splitlines():
            if declared := re.fullmatch(r"# TYPE ([a-z_]+) (counter|gauge|histogram)", line):
                self.assertNotIn(declared[1], families, "a family comes once")
                families[declared[1]] = declared[2]
            elif not re.fullmatch(r"# HELP [a-z_]+ [^\n]+", line):
                sample = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\S+)', line)
                self.assertIsNotNone(sample, line)
                family = re.sub(r"_(bucket|sum|count)$", "", sample[1])
                self.assertTrue(family in families or sample[1] in families, line)
                self.assertNotIn(sample[1] + (sample[2] or ""), values, "a sample comes once")
                values[sample[1] + (sample[2] or "")] = float(sample[3])
        return values

    def wait_for(self, is_so, what):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def stop(self, process, number=signal.SIGTERM, code=0):
        """Asks a service to end and returns what it had to say."""
        os.kill(process.pid, number)
        self.assertEqual(process.wait(PATIENCE), code)
        return process.stderr.read().decode()
