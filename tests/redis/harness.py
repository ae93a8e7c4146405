"""What the suites beside this file share: the command line, servers that are ended, logs of those that failed a test.

Usage: SUITE_test.py MODULE [unittest arguments...]

MODULE is the module's shared library, or `-`: then the suites that can do so run against the engine's own sets (SADD
for BF.ADD, and so on), which checks the suites themselves. In the environment:
    MANKAI_REDIS_ROUNDS=N   makes the random parts N times longer, MANKAI_REDIS_SEED=N chooses others
    MANKAI_REDIS_SERVER=P   another server than redis-server, such as one of Valkey
    MANKAI_REDIS_PRELOAD=P  a library that the server loads first: libasan.so, for a module built with AddressSanitizer
"""
import functools
import os
import pathlib
import re
import shlex
import signal
import sys
import unittest

from client import render, wait_for
from server import SERVER, Server

SKIPPED = 77  # what ctest takes for "skipped"
MODULE = None if sys.argv[1:2] in ([], ["-"]) else pathlib.Path(sys.argv[1]).resolve()
GOLDEN_GUARD = pathlib.Path(__file__).parents[1] / "golden" / "guard_siphash.mkg"  # as tests/guard/guard_bytes_test.cpp says
ROUNDS = int(os.environ.get("MANKAI_REDIS_ROUNDS", "1"))
SEED = int(os.environ.get("MANKAI_REDIS_SEED", "1"))

# The few commands that a set has too.
if MODULE:
    ADD, MADD, EXISTS, MEXISTS, CARD = "BF.ADD", "BF.MADD", "BF.EXISTS", "BF.MEXISTS", "BF.CARD"
else:
    ADD, MADD, EXISTS, MEXISTS, CARD = "SADD", "SADD", "SISMEMBER", "SMISMEMBER", "SCARD"

needs_module = unittest.skipUnless(MODULE, "only the module has these commands")


class RedisTest(unittest.TestCase):
    """Starts servers, ends them, and prints the end of their logs when the test fails."""

    def run(self, result=None):
        self.servers = []
        result = result or self.defaultTestResult()
        bad = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > bad:
            for server in [*self.servers, *getattr(self, "shared", [])]:
                print(f"---- log of {server.folder.name}, test {self.id()}\n{server.log()}", file=sys.stderr)
        return result

    def start(self, **options):
        server = Server(MODULE, **options)
        self.servers.append(server)
        self.addCleanup(server.close)
        return server


class OneServerTest(RedisTest):
    """One server for all tests of a class, emptied before each; it must never end or start anew by itself."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server(MODULE, **cls.options)
        cls.addClassCleanup(cls.server.close)
        cls.shared = [cls.server]

    def setUp(self):
        self.addCleanup(self.assert_alive)
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.client.must("FLUSHALL")

    def assert_alive(self):
        if not self.server.is_running():
            log = self.server.log()
            self.server.start()  # the other tests go on
            self.fail(f"redis-server ended by itself:\n{log}")

    def as_user(self, *rules):
        self.client.must("ACL", "SETUSER", "someone", "reset", "on", "nopass", *rules)
        user = self.server.client()
        self.addCleanup(user.close)
        user.must("AUTH", "someone", "x")
        return user

    def check(self, client, script):
        wrong = []
        for words, *replies in lines_of(script):
            expected, reply = replies[client.protocol - 2], render(client.call(*words))
            if not matches(expected, reply):
                wrong.append(f"\n{shlex.join(words)}\n    expected {expected}\n         got {reply}")
        self.assertFalse(wrong, "".join(wrong))


def lines_of(script):
    """Yields (words, expected in RESP2, expected in RESP3) of a table."""
    for line in re.sub(r"\n\s*(?=\||=>)", " ", script.strip()).split("\n"):
        words, _, replies = line.strip().partition(" => ")
        old, _, new = replies.partition(" | ")
        yield shlex.split(words), old, new or old


def matches(expected, reply):
    """Whether a reply is the expected one. `<n>`: any number; `<0.9>`: this double, with 17 digits or, since Valkey 9 and Redis 8.6, one."""
    pattern = re.escape(expected).replace("<n>", r"\d+").replace(r"<0\.9>", r"0\.9(?:0{15}2)?")
    return re.fullmatch(pattern, reply) is not None


def module_of(client):
    """Returns what MODULE LIST says of the module; newer engines list modules of their own, too."""
    modules = [dict(zip(map(bytes, module[::2]), module[1::2])) for module in client.must("MODULE", "LIST")]
    (module,) = [module for module in modules if module[b"name"] in (b"bf", b"mankai")]
    return module


def in_both_protocols(test):
    """Makes a test of OneServerTest run twice, on an empty server, with a client of each version of the protocol."""
    @functools.wraps(test)
    def run(self):
        for protocol in (2, 3):
            with self.subTest(protocol=protocol):
                self.client.must("FLUSHALL")
                with self.server.client(protocol) as client:
                    test(self, client)

    return run


def saved(client, *words):
    """Starts a child that saves (BGSAVE, BGREWRITEAOF) and waits until it has ended well."""
    client.must(*words)

    def done():
        info = client.info("persistence")
        return all(info[name] == "0" for name in ("rdb_bgsave_in_progress", "aof_rewrite_in_progress",
                                                  "aof_rewrite_scheduled")) and info

    info = wait_for(f"{words[0]} ends", done)
    if "ok" not in (info["rdb_last_bgsave_status"], info["aof_last_bgrewrite_status"]):
        raise AssertionError(f"{words[0]} failed: {info}")


def main():
    if SERVER is None:
        print("SKIPPED: there is no redis-server. tools/install_dependencies.sh test installs it.", file=sys.stderr)
        sys.exit(SKIPPED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # servers and folders are cleaned up
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
