"""`mankai gate sync --mirror`: one gate in Redis, while server and sync are killed and the key is taken away.

Usage: gate_mirror_test.py MODULE MANKAI [unittest arguments...]
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from client import PATIENCE, Client, Error, wait_for  # noqa: E402: the arguments are those of `harness` from here on
from harness import ROUNDS, SEED, RedisTest, main, needs_module  # noqa: E402
from server import Listener  # noqa: E402

KEY = "shop:baskets"
SOURCE = ("--from", "sqlite:shop.db", "--table", "baskets", "--key", "cookie", "--where", "items > 0")

PIECE = 1 << 20  # bytes that a load sends at once


class LateCommands(Listener):
    """Stands before a server, and keeps one command back: the client is cut off, and the server gets it later.

    `caught` is set when it is kept; then nobody gets through until `open` is. It goes on before the command that `before`
    tells, of another connection, and what was answered is `answer`.
    """

    def __init__(self, server, folder):
        self.server = server
        self.kept, self.which, self.before = None, None, None
        self.caught, self.open, self.came = threading.Event(), threading.Event(), threading.Event()
        self.open.set()
        self.listen_at(folder / "late.sock")

    def keep(self, which, before):
        """Of the commands that follow; both are functions of a command's words."""
        self.caught.clear()
        self.came.clear()
        self.which, self.before = which, before

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server.socket)
        with client, client.makefile("rb") as requests:
            while self.open.is_set() and (request := self.read(requests)):
                words, data = request
                if self.which and self.which(words):
                    self.which, self.kept = None, (server, data)
                    self.open.clear()
                    self.caught.set()
                    return
                if self.kept and self.before(words):
                    self.let_go()
                server.sendall(data)
                client.sendall(server.recv(1 << 16))
        server.close()

    def let_go(self):
        late, data = self.kept
        self.kept = None
        with late:
            late.sendall(data)
            self.answer = late.recv(1 << 16)
        self.came.set()

    @staticmethod
    def read(requests):
        """Returns the words of a command and its bytes, nothing at the end."""
        line = requests.readline()
        if not line:
            return None
        data, words = line, []
        for _ in range(int(line[1:])):
            line = requests.readline()
            word = requests.read(int(line[1:]) + 2)
            data += line + word
            words.append(word[:-2])
        return words, data


@needs_module
class MirrorTest(RedisTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.empty = 0
        self.open_shop()
        self.shop.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                                "CREATE TABLE baskets(cookie TEXT PRIMARY KEY, items INTEGER NOT NULL)")

    def open_shop(self):
        self.shop = sqlite3.connect(self.dir / "shop.db", isolation_level=None, timeout=30)
        self.addCleanup(self.shop.close)

    def fill(self, *rows):
        self.shop.executemany("INSERT OR REPLACE INTO baskets VALUES (?, ?)", rows)

    def mankai(self, *words, code=0, says="", **options):
        done = subprocess.run([MANKAI, "gate", *words], capture_output=True, cwd=self.dir, check=False, text=True,
                              timeout=PATIENCE, **options)
        self.assertEqual(done.returncode, code, f"{words}: {done.stderr}")
        self.assertIn(says, done.stderr)
        return done.stdout

    def build(self, *more, name="b.mk"):
        self.mankai("build", name, *SOURCE, "--install-triggers", *more)

    @staticmethod
    def mirror(server, key=KEY):
        return ("--mirror", f"unix:{server.socket}", "--mirror-key", key)

    def start_sync(self, server, *more):
        log = open(self.dir / "log", "ab")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        process = subprocess.Popen([MANKAI, "gate", "sync", "b.mk", *self.mirror(server), *more], cwd=self.dir,
                                   stdout=log, stderr=log)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process, number=signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
        return process.wait(PATIENCE)

    def said(self):
        return (self.dir / "log").read_text()

    def newest(self):
        """Returns the position of the last commit, as a web server would read it."""
        return self.shop.execute(f"SELECT max(seq) FROM {self.name()}_changes").fetchone()[0]

    def name(self):
        return (self.dir / "b.mk-source").read_text().split("installed ")[1].strip()

    def held(self):
        return sorted(row[0] for row in self.shop.execute("SELECT cookie FROM baskets WHERE items > 0"))

    @staticmethod
    def position(client, key=KEY):
        reply = client.call("GATE.INFO", key)
        return None if isinstance(reply, Error) else reply[3]

    def wait_until_in_step(self, client):
        target = self.newest()
        wait_for("the mirror is in step", lambda: (self.position(client) or 0) >= target)

    def assert_same(self, server):
        """The key has the very bits of the file, and the answers of the table."""
        client = server.client()
        self.mankai("sync", "--once", "b.mk", *self.mirror(server))
        self.mankai("sync", "--once", "b.mk", *self.mirror(server, "beside"))
        self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", KEY, "beside"))
        client.must("DEL", "beside")
        asked = [*self.held(), *(f"stranger{number}" for number in range(2000))]
        answers = client.must("GATE.MAYBE", KEY, self.newest(), *asked)
        file = subprocess.run([MANKAI, "gate", "check", "b.mk"], input="\n".join(asked), capture_output=True, text=True,
                              cwd=self.dir, check=True, timeout=PATIENCE).stdout
        self.assertEqual([f"{('empty', 'maybe')[answer]}\t{key}" for answer, key in zip(answers, asked)],
                         file.splitlines())
        self.assertEqual(set(answers[:-2000]), {1})
        self.assertEqual([bytes(key).decode() for key in client.must("KEYS", "*") if b":mankai_" in key], [])

    def test_a_key_follows_its_table(self):
        server = self.start()
        client = server.client()
        self.fill(("a", 1), ("b", 0), ("c", 2))
        self.build("--keys", "100000")
        self.assertEqual(client.must("GATE.MAYBE", KEY, 0, "a", "b"), [1, 1])  # nothing is known yet
        client.must("SET", f"{{{KEY}}}:{self.name()}", "what a sync that was killed left behind")
        self.mankai("sync", "--once", "b.mk", *self.mirror(server), says="loaded")
        self.assertEqual(client.must("KEYS", "*"), [KEY.encode()])
        self.assertEqual(client.must("GATE.MAYBE", KEY, 0, "a", "b", "c"), [1, 0, 1])
        self.fill(("b", 1))
        self.assertEqual(client.must("GATE.MAYBE", KEY, self.newest(), "x"), [1])
        sync = self.start_sync(server)
        self.wait_until_in_step(client)
        self.assertEqual(client.must("GATE.MAYBE", KEY, self.newest(), "a", "b", "c", "x"), [1, 1, 1, 0])
        self.assertNotIn("loaded", self.said().splitlines()[1:])
        with self.shop:
            self.shop.execute("BEGIN")
            self.shop.executemany("INSERT INTO baskets VALUES (?, 1)", [(f"n{number}",) for number in range(5000)])
            self.shop.execute("DELETE FROM baskets WHERE cookie = 'a'")
        self.wait_until_in_step(client)
        self.assertEqual(client.must("GATE.MAYBE", KEY, self.newest(), "a", "n0", "n4999"), [0, 1, 1])
        status = self.mankai("status", "b.mk", *self.mirror(server))
        self.assertRegex(status, r"mirror at +the gate's position\n")
        self.assertEqual(self.end(sync, signal.SIGTERM), 0)
        self.assert_same(server)
        metrics = self.mankai("status", "--prometheus", "b.mk", *self.mirror(server))
        self.assertIn(f"mankai_gate_mirror_up 1\nmankai_gate_mirror_position {self.newest()}\n", metrics.replace(
            next(line for line in metrics.splitlines() if line.startswith("# HELP mankai_gate_mirror_position")) + "\n",
            "").replace("# TYPE mankai_gate_mirror_position gauge\n", ""))

    def test_a_table_that_is_emptied_and_changes_that_are_many(self):
        server = self.start()
        client = server.client()
        self.fill(*((f"k{number}", 1) for number in range(2000)))
        self.build("--keys", "120000")
        self.start_sync(server)
        self.wait_until_in_step(client)
        self.shop.execute("DELETE FROM baskets")
        self.wait_until_in_step(client)
        self.assertLess(sum(client.must("GATE.MAYBE", KEY, self.newest(), *(f"k{number}" for number in range(2000)))), 9)
        self.shop.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 102000) "
                          "INSERT INTO baskets SELECT 'm' || i, 1 FROM n")
        self.wait_until_in_step(client)
        self.assertEqual(client.must("GATE.MAYBE", KEY, self.newest(), "m1", "m51000", "m102000"), [1, 1, 1])

    def test_whatever_happens_nothing_that_is_there_is_empty(self):
        """And in the end the key is the file."""
        dice = random.Random(SEED)
        server = self.start(appendonly="yes", appendfsync="always")
        constant = [f"always{number}" for number in range(50)]
        self.fill(*((key, 1) for key in constant), *((f"k{number}", number % 2) for number in range(0, 300, 3)))
        self.build("--keys", "5000")
        sync = self.start_sync(server)
        self.wait_until_in_step(server.client())
        old = bytes(server.client().must("DUMP", KEY))
        events = ["flush", "del", "restore", "cut", "kill redis", "kill sync", "stop redis", "lose redis"] * ROUNDS
        dice.shuffle(events)
        for event in events:
            self.shop_for_a_while(dice, server, constant)
            if event == "kill sync":
                self.end(sync)
                self.shop_for_a_while(dice, server, constant)
                sync = self.start_sync(server)
            elif event in ("kill redis", "stop redis"):
                (server.kill if event == "kill redis" else server.stop)()
                self.shop_for_a_while(dice, server, constant)
                server.start()
            elif event == "lose redis":
                server.kill()
                shutil.rmtree(server.folder / "appendonlydir")
                server.start()
            else:
                words = {"flush": ("FLUSHALL",), "del": ("DEL", KEY), "restore": ("RESTORE", KEY, 0, old, "REPLACE"),
                         "cut": ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")}[event]
                server.client().must(*words)
        self.shop_for_a_while(dice, server, constant)
        self.wait_until_in_step(server.client())
        self.assertGreater(self.empty, 0)
        self.assertEqual(self.end(sync, signal.SIGINT), 128 + signal.SIGINT, self.said())
        self.assert_same(server)

    def shop_for_a_while(self, dice, server, constant):
        """Commits, and asks for what is there, each time as of the last commit."""
        until = time.monotonic() + dice.uniform(0.05, 0.2)
        while time.monotonic() < until:
            key = f"k{dice.randrange(300)}"
            self.shop.execute(dice.choice(("INSERT OR REPLACE INTO baskets VALUES (?, abs(random()) % 3)",
                                           "DELETE FROM baskets WHERE cookie = ?",
                                           "UPDATE baskets SET items = 1 - min(items, 1) WHERE cookie = ?")), (key,))
            position, held = self.newest(), dice.sample(self.held(), 20)
            try:
                with Client(server.socket) as client:
                    self.assertEqual(client.call("GATE.MAYBE", KEY, position, *held), [1] * len(held))
                    self.assertEqual(client.call("GATE.MAYBE", KEY, 0, *constant), [1] * len(constant))
                    self.empty += client.call("GATE.MAYBE", KEY, 0, "stranger").count(0)
            except (OSError, EOFError):
                continue  # it is away

    def test_what_comes_late_makes_nothing_empty(self):
        """A command that was given up reaches the server in the midst of what was sent after it, and of a newer gate."""
        server = self.start()
        client = server.client()
        self.fill(("a", 1))
        self.build("--keys", "600000")
        late = LateCommands(server, self.dir)
        self.addCleanup(late.close)

        def piece(number):
            return lambda words: words[0] == b"GATE.LOADCHUNK" and int(words[2]) == 1 + number * PIECE

        def named(name):
            return lambda words: words[0] == name

        self.start_sync(late)
        self.wait_until_in_step(client)
        count = 0
        for kept, before in ((piece(2), piece(2)), (piece(1), piece(3)), (piece(0), piece(1)), (piece(0), named(b"GATE.INFO")),
                             (named(b"RENAME"), piece(2)), (named(b"DEL"), piece(2)), (named(b"GATE.APPLY"), named(b"RENAME"))):
            late.keep(kept, before)
            if not kept([b"GATE.APPLY"]):
                client.must("DEL", KEY)
            self.fill((f"late{count}", 1))  # which finds no key
            self.assertTrue(late.caught.wait(PATIENCE))
            new = [f"new{count} {number}" for number in range(400)]
            self.shop.execute("BEGIN")
            self.fill(*((key, 1) for key in new))
            self.shop.execute("COMMIT")
            count += 1
            wait_for("the file has it", lambda: self.mankai("check", "b.mk", new[-1]).startswith("maybe"))
            late.open.set()
            self.assertTrue(late.came.wait(PATIENCE))
            self.wait_until_in_step(client)
            held = self.held()
            self.assertEqual(client.must("GATE.MAYBE", KEY, self.newest(), *held).count(0), 0, count)
            self.assertEqual(client.must("GATE.MAYBE", KEY, 0, *held).count(0), 0, count)
            self.assertEqual(client.must("TTL", KEY), -1)
        self.assertLess(sum(client.must("GATE.MAYBE", KEY, self.newest(), *(f"x{number}" for number in range(500)))), 9)
        wait_for("nothing is left", lambda: client.must("KEYS", "*") == [KEY.encode()])

    def test_a_key_that_is_loaded_half_is_loaded(self):
        server = self.start()
        client = server.client()
        self.fill(("a", 1))
        self.build("--keys", "200000")
        late = LateCommands(server, self.dir)
        self.addCleanup(late.close)
        beside = f"{{{KEY}}}:{self.name()}"
        late.keep(lambda words: words[0] == b"GATE.LOADCHUNK" and words[2] != b"1", lambda words: False)
        self.mankai("sync", "--once", "b.mk", *self.mirror(late), code=4, says="no connection")
        self.assertTrue(0 < client.must("PTTL", beside) <= 600_000)  # it does not stay forever
        client.must("RENAME", beside, KEY)
        self.assertEqual(client.must("GATE.MAYBE", KEY, 0, "a", "b"), [1, 1])
        self.assertRegex(self.mankai("status", "b.mk", *self.mirror(server)), "unknown: the key does not exist")
        self.mankai("sync", "--once", "b.mk", *self.mirror(server), says="loaded")
        self.assertEqual(client.must("GATE.MAYBE", KEY, 0, "a", "b"), [1, 0])
        self.assertEqual(client.must("TTL", KEY), -1)

    def test_a_server_that_is_away_holds_up_nothing(self):
        server = self.start()
        server.stop()
        self.fill(("a", 1))
        self.build()
        self.mankai("sync", "--once", "b.mk", *self.mirror(server), code=4, says=f"unix:{server.socket}")
        self.fill(("b", 1))
        sync = self.start_sync(server)
        wait_for("the file has it", lambda: self.mankai("check", "b.mk", "b") == "maybe\tb\n")
        wait_for("it is said", lambda: "trying again" in self.said())
        status = self.mankai("status", "b.mk", *self.mirror(server))
        self.assertRegex(status, "mirror at +unknown: ")
        self.assertIn("mankai_gate_mirror_up 0\n", self.mankai("status", "--prometheus", "b.mk", *self.mirror(server)))
        server.start()
        self.wait_until_in_step(server.client())
        self.assertEqual(self.said().count("trying again"), 1, self.said())
        self.assertEqual(self.end(sync, signal.SIGTERM), 0)
        self.assert_same(server)

    def test_a_key_that_is_something_else_is_left_alone(self):
        server = self.start()
        client = server.client()
        self.fill(("a", 1))
        self.build(name="other.mk")
        self.mankai("sync", "--once", "other.mk", *self.mirror(server))
        theirs = bytes(client.must("DUMP", KEY))
        self.build()
        self.mankai("sync", "--once", "b.mk", *self.mirror(server), code=2, says="use another key")
        self.mankai("sync", "b.mk", *self.mirror(server), code=2, says="use another key")
        self.assertRegex(self.mankai("status", "b.mk", *self.mirror(server)), "unknown: the key holds another gate")
        client.must("SET", "text", "a")
        self.mankai("sync", "--once", "b.mk", *self.mirror(server, "text"), code=2, says="WRONGTYPE")
        self.assertEqual(client.must("GET", "text"), b"a")
        client.must("DEL", KEY)
        sync = self.start_sync(server)
        self.wait_until_in_step(client)
        client.must("RESTORE", KEY, 0, theirs, "REPLACE")
        wait_for("it is said", lambda: "use another key" in self.said())
        self.assertEqual(bytes(client.must("DUMP", KEY)), theirs)
        client.must("DEL", KEY)
        self.wait_until_in_step(client)
        self.assertEqual(self.end(sync, signal.SIGTERM), 0)

    def test_a_backup_of_file_and_database_is_put_in_place(self):
        """Its positions come again, with other changes."""
        server = self.start()
        client = server.client()
        self.fill(("a", 1))
        self.build()
        self.mankai("sync", "--once", "b.mk", *self.mirror(server))
        self.shop.close()
        for path in list(self.dir.iterdir()):
            shutil.copy(path, self.dir / f"copy {path.name}")
        self.open_shop()
        self.fill(*((f"k{number}", 1) for number in range(5)))
        self.mankai("sync", "--once", "b.mk", *self.mirror(server))
        before = self.position(client)
        self.shop.close()
        for path in (*self.dir.glob("b.mk*"), *self.dir.glob("shop.db*")):
            path.unlink()
        for path in self.dir.glob("copy *"):
            path.rename(self.dir / path.name.removeprefix("copy "))
        self.open_shop()
        self.fill(*((f"n{number}", 1) for number in range(5)))
        self.mankai("sync", "--once", "b.mk", says="")
        self.mankai("sync", "--once", "b.mk", *self.mirror(server), says="loaded")
        self.assertEqual(self.position(client), before)
        self.assert_same(server)

    def test_who_is_let_in(self):
        server = self.start(tcp=True, requirepass="secret")
        client = server.client()
        client.must("AUTH", "secret")
        client.must("ACL", "SETUSER", "keeper", "on", ">other", f"~{KEY}", f"~{{{KEY}}}:*", "+gate.info", "+gate.apply",
                    "+gate.loadchunk", "+del", "+pexpire", "+persist", "+rename")
        client.must("ACL", "SETUSER", "asker", "on", "nopass", f"%R~{KEY}", "+gate.maybe")
        self.fill(("a", 1))
        self.build()
        where = self.mirror(server)
        self.mankai("sync", "--once", "b.mk", *where, code=2, says="in MANKAI_REDIS_PASSWORD")
        for password, code, says in (("wrong", 2, "WRONGPASS"), ("secret", 0, "loaded")):
            environment = {**os.environ, "MANKAI_REDIS_PASSWORD": password}
            self.mankai("sync", "--once", "b.mk", *where, code=code, says=says, env=environment)
        client.must("DEL", KEY)
        self.mankai("sync", "--once", "b.mk", "--mirror", f"redis://keeper@127.0.0.1:{server.port}", "--mirror-key", KEY,
                    says="loaded", env={**os.environ, "MANKAI_REDIS_PASSWORD": "other"})
        client.must("AUTH", "asker", "x")
        self.assertEqual(client.must("GATE.MAYBE", KEY, 0, "a", "b"), [1, 0])

    def test_addresses(self):
        server = self.start(tcp=True)
        client = server.client()
        self.fill(("a", 1))
        self.build()
        self.mankai("sync", "--once", "b.mk", "--mirror", f"redis://localhost:{server.port}/3", "--mirror-key", "{a}:b",
                    says=f"redis://localhost:{server.port}/3 {{a}}:b: loaded")
        for key in ("a}b", "{}a"):
            self.mankai("sync", "--once", "b.mk", *self.mirror(server, key), code=2, says="without a {")
        client.must("SELECT", 3)
        self.assertEqual(client.must("GATE.MAYBE", "{a}:b", 0, "a"), [1])
        for address, says in (("redis://127.0.0.1:0", "no host and port"), ("redis://", "no host and port"),
                              ("redis://a:b", "no host and port"), ("redis://a/b", "a database must be a whole number"),
                              ("redis://user:secret@a", "not contain a password"), ("http://a", "invalid address"),
                              ("unix:relative", "the path of a socket")):
            self.mankai("sync", "--once", "b.mk", "--mirror", address, "--mirror-key", "f", code=2, says=says)
        self.mankai("sync", "b.mk", "--mirror", "redis://a", code=2, says="must be given together")
        self.mankai("sync", "--once", "b.mk", "--mirror", f"redis://127.0.0.1:{server.port}/99", "--mirror-key", "f", code=2,
                    says="DB index")


if __name__ == "__main__":
    main()
