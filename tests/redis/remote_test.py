"""`mankai` with a filter in a server in place of a file: addresses, types, shards, lost connections, a fleet.

Usage: remote_test.py MODULE MANKAI [unittest arguments...]
"""
import binascii
import contextlib
import fcntl
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import zlib

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from client import PATIENCE, wait_for  # noqa: E402: the arguments are those of `harness` from here on
from harness import MODULE, OneServerTest, RedisTest, main, needs_module  # noqa: E402
from server import Cluster, Listener, free_port  # noqa: E402

SMALL_FPR = "1e-7"  # so that no false positive disturbs a count of some thousand lines; for more lines, of a larger filter too


def urls(count, start=0):
    return [f"https://example.com/{number}" for number in range(start, start + count)]


def waiting_bytes(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def is_asleep(process):
    """Every thread waits for something."""
    return all(path.read_text().rpartition(")")[2].split()[0] == "S"
               for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"))


def text_of(lines):
    return "".join(f"{line}\n" for line in lines)


class Commands:
    """Runs the command, for suites with a server."""

    def mankai(self, *words, lines=(), code=0, says="", **environment):
        done = subprocess.run([MANKAI, *words], input=text_of(lines), capture_output=True, check=False, text=True,
                              timeout=PATIENCE, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, f"{words}: {done.stderr}")
        self.assertIn(says, done.stderr)
        self.assertNotIn("secret", done.stderr)
        self.said = done.stderr
        return done.stdout.splitlines()

    def dedup(self, address, lines, *more, **options):
        return self.mankai("dedup", "--fpr", SMALL_FPR, *more, "--state", address, lines=lines, **options)


@needs_module
class OneServerRemoteTest(Commands, OneServerTest):
    options = {"tcp": True}

    def at(self, key, options=""):
        return f"unix:{self.server.socket}?key={key}{options}"

    def test_each_line_is_printed_once_over_runs(self):
        tcp = f"redis://127.0.0.1:{self.server.port}/seen"
        self.assertEqual(self.dedup(tcp, ["a", "b", "a", "", "c"]), ["a", "b", "", "c"])
        self.assertEqual(self.dedup(self.at("seen"), ["c", "d", "a"]), ["d"])
        self.assertEqual(self.dedup(self.at("seen"), ["c", "e"], "--repeats"), ["c"])
        self.assertEqual(self.dedup(self.at("seen"), ["c", "f"], "--label"), ["maybe\tc", "new\tf"])

    def test_order_and_long_lines(self):
        lines = urls(5000) + ["x" * 3_000_000, "y" * 3_000_000] + urls(100) + ["last"]
        for address in (self.at("plain"), self.at("sharded", "&shards=7")):
            self.assertEqual(self.dedup(address, lines), lines[:5002] + ["last"])

    def test_summary(self):
        self.dedup(self.at("seen"), urls(10) + urls(5), "--json")
        facts = json.loads(self.said)
        self.assertEqual({name: facts[name] for name in ("lines", "unique", "repeats", "unconfirmed", "keys_inserted",
                                                         "connections_lost", "type")},
                         {"lines": 15, "unique": 10, "repeats": 5, "unconfirmed": 0, "keys_inserted": 10,
                          "connections_lost": 0, "type": "mankai-bf"})

    def test_canonical_urls(self):
        lines = ["HTTP://Example.com:80/a/../b#top", "http://example.com/b", "no url"]
        self.assertEqual(self.dedup(self.at("seen"), lines, "--canonical"), [lines[0], "no url"])
        self.client.must("URL.RESERVE", "pages", 0.001, 1000)
        self.assertEqual(self.dedup(self.at("pages"), [*lines, "mailto:x"], says="1 line is not a URL and was not stored"),
                         [lines[0], "no url", "mailto:x"])

    def test_spellings_of_a_url_are_in_one_shard(self):
        for shard in range(5):
            self.client.must("URL.RESERVE", f"pages{{{shard}}}", 0.001, 1000)
        lines = [f"{scheme}{path}" for path in range(50) for scheme in ("http://a.b/", "HTTP://A.B:80/x/../")]
        self.assertEqual(self.dedup(self.at("pages", "&shards=5"), lines), lines[::2])

    def test_size_rate_and_ttl_of_a_new_filter(self):
        self.dedup(self.at("small", "&keys=1000&fpr=0.01&ttl=1h"), ["a"])
        info = self.client.must("BF.INFO", "small")
        self.assertEqual(info[1], 1000)
        self.assertEqual(self.client.must("BF.INFO", "small", "TTL"), [b"3600"])
        self.dedup(self.at("sharded", "&shards=4"), ["a"], "--keys", "4000")
        self.assertEqual(self.client.must("BF.INFO", "sharded{0}", "CAPACITY"), [1000 + 127])

    def test_another_ttl_of_an_existing_filter_is_an_error(self):
        for ttl in ("1h", "7d", "90s", "100ms", "1234567us"):
            address = self.at(f"seen{ttl}", f"&shards=2&fpr=0.001&ttl={ttl}")
            self.assertEqual([self.dedup(address, ["a"]), self.dedup(address, ["a", "b"])], [["a"], ["b"]])
        self.dedup(self.at("seen1h", "&shards=2&ttl=2h"), [], code=2, says="expire after 3600 seconds, not after ttl=2h")
        self.dedup(self.at("seen1h", "&shards=2"), ["a"])
        self.mankai("add", self.at("plain", "&keys=9"), "a")
        self.client.must("URL.RESERVE", "pages", 0.001, 1000)
        self.client.must("CONFIG", "SET", "bf.layout", "valkey-bloom")
        self.mankai("add", self.at("valkey", "&keys=9"), "a")
        self.client.must("CONFIG", "SET", "bf.layout", "mankai")
        for key in ("plain", "pages", "valkey"):
            self.mankai("add", self.at(key, "&ttl=1h"), "b", code=2, says="do not expire")

    def test_each_type_is_created_with_shards(self):
        reserved = {"bf": 'mankai-bf', "cf": 'mankai-cf', "cbf": 'mankai-cb', "url": 'mankai-ur'}
        lines = urls(900)
        for name, type_name in reserved.items():
            for options in ("&shards=3", ""):
                with self.subTest(type=name, options=options):
                    address = self.at(f"{name}{len(options)}", f"{options}&type={name}&keys=1M&fpr=1e-5")
                    self.mankai("add", address, lines=lines)
                    self.assertEqual(self.mankai("check", "--absent", address, lines=[*lines, "none"]), ["none"])
                    facts = json.loads("".join(self.mankai("info", "--json", address)))
                    self.assertEqual((facts["type"], facts["keys_inserted"]), (type_name, 900))
                    if name in ("cbf", "url"):
                        self.assertAlmostEqual(facts["fpr_target"], 1e-5, delta=1e-9)
        self.mankai("check", self.at("bf0", "&type=cf"), "a", code=2, says="leave type= out")
        self.dedup(self.at("brief", "&type=cf&ttl=1h&fpr=0.001"), ["a"])
        self.assertGreaterEqual(self.client.must("CF.TTL", "brief", "a"), 3600)
        self.mankai("add", self.at("k", "&type=url&ttl=1h&keys=9"), "a", code=2, says="ttl is valid for")
        self.mankai("add", self.at("k", "&type=top&keys=9"), "a", code=2, says="type must be")

    def test_without_replicas_nothing_is_acknowledged(self):
        self.mankai("add", self.at("f", "&keys=100"), "a")
        waiting = self.at("f", "&keys=100&timeout=3s&wait=1")
        self.assertEqual(self.mankai("add", "--ack", waiting, lines=["b"], code=4, says="0 of 1 replicas"), [])
        self.assertEqual(self.dedup(waiting, ["c"], code=4, says="confirm 1 line"), ["c"])
        self.assertEqual(self.mankai("check", waiting, "a"), ["yes\ta"])
        self.mankai("add", self.at("new", "&keys=100&timeout=3s&wait=1&shards=3"), "a", code=4, says="0 of 1 replicas")
        self.assertEqual(self.client.must("EXISTS", "new{0}", "new{1}", "new{2}"), 0)
        self.client.must("ACL", "SETUSER", "some", "on", ">secret", "+@all", "~*", "-wait")
        self.mankai("add", self.at("f", "&wait=1&user=some"), "a", code=2, says="NOPERM", MANKAI_REDIS_PASSWORD="secret")

    def test_shards_follow_the_rule(self):
        lines = urls(1000)
        self.assertEqual(self.dedup(self.at("s", "&shards=3"), lines), lines)
        for shard in range(3):
            mine = [line for line in lines if zlib.crc32(line.encode()) % 3 == shard]
            self.assertEqual(self.client.must("BF.CARD", f"s{{{shard}}}"), len(mine))
            self.assertEqual(sum(self.client.must("BF.MEXISTS", f"s{{{shard}}}", *mine)), len(mine))
        facts = json.loads("".join(self.mankai("info", "--json", self.at("s", "&shards=3"))))
        self.assertEqual((facts["shards"], facts["keys_inserted"], facts["sub_filters"]), (3, 1000, 3))
        self.assertLess(facts["fpr_estimate"], 1e-6)

    def test_creation_of_all_shards_or_none(self):
        self.client.must("ACL", "SETUSER", "some", "on", ">secret", "+@all", "%RW~s{0}", "%RW~s{1}", "%R~s{2}", "%R~s{3}")
        self.mankai("dedup", "--state", self.at("s", "&shards=3&user=some"), lines=["a"], code=2, says="NOPERM",
                    MANKAI_REDIS_PASSWORD="secret")
        self.assertEqual(self.client.must("DBSIZE"), 0)

    def test_a_wrong_number_of_shards_is_an_error(self):
        self.dedup(self.at("s", "&shards=3"), ["a"])
        self.dedup(self.at("s", "&shards=2"), [], code=2, says="more than 2 shards")
        self.dedup(self.at("s"), [], code=2, says="shards=N")
        self.dedup(self.at("s", "&shards=4"), [], code=2, says="s{3} is missing")

    def test_errors(self):
        self.client.must("SET", "text", "x")
        self.mankai("check", self.at("text"), "a", code=2, says="of type string")
        self.mankai("check", self.at("none"), "a", code=4, says="no such filter")
        self.mankai("add", self.at("none"), "a", code=4, says="keys=N")
        self.client.must("BF.RESERVE", "f", 0.01, 100)
        self.mankai("count", self.at("f"), "a", code=2, says="cannot count")
        self.mankai("check", "redis://127.0.0.1:1/f", "a", code=4, says="Connection refused")
        self.mankai("check", "redis://user:secret@127.0.0.1/f?x=1", "a", code=2, says="not an option")
        for option in ("--forget=7d", "--kind=bloom", "--grow", "--durability=always", "--hash=xxh3"):
            self.mankai("dedup", "--state", self.at("f"), option, code=2, says="in a file")

    def test_addresses_of_other_kinds_are_errors(self):
        for address in ("http://127.0.0.1/seen", f"REDIS://:secret@127.0.0.1:{self.server.port}/seen"):
            self.dedup(address, ["a"], code=2, says="--state: unknown kind of address")

    def test_user_and_password(self):
        self.client.must("ACL", "SETUSER", "bot", "on", ">secret", "+@all", "~*")
        plain = f"127.0.0.1:{self.server.port}/seen"
        self.assertEqual(self.dedup(f"redis://bot:secret@{plain}", ["a"]), ["a"])
        self.assertEqual(self.dedup(f"redis://bot@{plain}", ["a", "b"], MANKAI_REDIS_PASSWORD="secret"), ["b"])
        self.dedup(f"redis://bot@{plain}", [], code=2, says="WRONGPASS", MANKAI_REDIS_PASSWORD="other")

    def test_databases(self):
        self.assertEqual(self.dedup(self.at("seen", "&db=3"), ["a"]), ["a"])
        self.assertEqual(self.client.must("DBSIZE"), 0)

    def test_add_check_count_and_remove_by_type(self):
        self.client.must("BF.RESERVE", "bf", 0.001, 100, "DELETABLE")
        self.client.must("CF.RESERVE", "cf", 100)
        self.client.must("CBF.RESERVE", "cbf", 0.001, 100)
        for key in ("bf", "cf", "cbf"):
            with self.subTest(key=key):
                self.assertEqual(self.mankai("add", self.at(key), "--ack", lines=["a", "b", "b"]), ["a", "b", "b"])
                self.assertEqual(self.mankai("check", self.at(key), "a", "c"), ["yes\ta", "no\tc"])
                self.assertEqual(self.mankai("check", "--absent", self.at(key), "a", "c"), ["c"])
                self.mankai("check", "--quiet", self.at(key), "c", code=1)
                if key != "bf":
                    self.assertEqual(self.mankai("count", self.at(key), "a", "b", "c"), ["1\ta", "2\tb", "0\tc"])
                self.assertEqual(self.mankai("remove", self.at(key), lines=["a", "c"]), ["absent\tc"])
                self.assertEqual(self.mankai("check", self.at(key), "a", "b"), ["no\ta", "yes\tb"])
                self.assertEqual(json.loads("".join(self.mankai("info", "--json", self.at(key))))["shards"], 0)
        self.assertEqual(self.mankai("add", self.at("cbf"), "--with-ids", lines=["k\t5"]), [])
        self.assertEqual(self.mankai("remove", self.at("cbf"), "--with-ids", lines=["k\t5", "k\t5"]), ["absent\tk\t5"])
        self.client.must("HOT.RESERVE", "hot", "HALFLIFE", "1h")
        self.mankai("add", self.at("hot"), lines=["x", "x"])
        self.assertEqual(self.mankai("count", self.at("hot"), "x"), ["2\tx"])

    def test_a_converted_filter_is_a_bloom_filter(self):
        self.client.must("CONFIG", "SET", "bf.layout", "redisbloom")
        self.client.must("BF.RESERVE", "bf", 0.001, 100)
        self.client.must("CONFIG", "SET", "bf.layout", "mankai")
        self.mankai("add", self.at("bf"), lines=["a"])
        self.client.must("MANKAI.CONVERT", "bf")
        self.mankai("add", self.at("bf"), lines=["b"])
        self.assertEqual(self.mankai("check", self.at("bf"), "a", "b", "c"), ["yes\ta", "yes\tb", "no\tc"])

    def test_hot_counts_in_a_server(self):
        log = [f"2026-01-01T00:00:{second:02}Z {key}" for second in range(60) for key in ("a", "a", "b")]
        for address in (self.at("hot"), self.at("hots", "&shards=3")):
            self.mankai("hot", "--state", address, "--half-life", "1h", lines=log)
            rows = [row.split("\t") for row in self.mankai("hot", "--state", address, lines=log[:3])]
            self.assertEqual([row[-1] for row in rows], ["a", "b"])
            local = [row.split("\t") for row in self.mankai("hot", "--state", f"{self.server.folder}/local", "--half-life",
                                                           "1h", lines=log)]
            self.assertAlmostEqual(float(rows[0][1]), float(local[0][1]) + 2, delta=0.1)
            facts = json.loads("".join(self.mankai("hot", "--state", address, "--json", lines=[])))
            self.assertEqual((facts["records"], len(facts["top"])), (0, 2))
            (pathlib.Path(self.server.folder) / "local").unlink()
        self.mankai("hot", "--state", self.at("hot"), "--every", "1h", code=2, says="in a file")
        self.client.must("BF.ADD", "bf", "a")
        self.mankai("hot", "--state", self.at("bf"), code=2, says="not made by HOT.RESERVE")

    def test_a_full_filter_ends_the_run(self):
        self.client.must("BF.RESERVE", "f", 0.001, 3, "NONSCALING")
        self.assertEqual(self.dedup(self.at("f"), ["a", "b", "c", "d", "e"], code=4, says="filter is full"),
                         ["a", "b", "c"])

    def test_a_deleted_filter_is_an_error(self):
        process = subprocess.Popen([MANKAI, "dedup", "--state", self.at("f")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            process.stdin.write("a\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "a\n")
            self.client.must("DEL", "f")
            out, err = process.communicate("b\n", PATIENCE)
        self.assertEqual((process.returncode, out), (4, ""))
        self.assertIn("the filter is gone", err)

    def test_a_closed_pipe_is_an_error(self):
        done = subprocess.run(f"seq 200000 | {MANKAI} dedup --state '{self.at('f')}' | head -1; echo ${{PIPESTATUS[1]}}",
                              shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual(done.stdout, "1\n4\n")
        self.assertIn("remembers the lines that were not written", done.stderr)

    def test_a_closed_pipe_after_acknowledgments_is_an_error(self):
        """The output says what is stored."""
        self.client.must("CF.RESERVE", "cf", 100)
        self.client.must("HOT.RESERVE", "hot")
        for command in (f"add --ack '{self.at('f', '&keys=1M')}'", f"remove '{self.at('cf')}'", f"hot --state '{self.at('hot')}'"):
            with self.subTest(command):
                done = subprocess.run(f"seq 200000 | {MANKAI} {command} | true; echo ${{PIPESTATUS[1]}}", shell=True,
                                      executable="/bin/bash", capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.stdout, "4\n", done.stderr)
                self.assertIn("standard output: cannot write", done.stderr)

    def test_a_stop_signal_prints_what_the_server_remembers(self):
        lines = urls(1_000_000)
        out = pathlib.Path(self.server.folder) / "out"
        for number in (signal.SIGINT, signal.SIGTERM):
            key = f"seen-{number.name}"
            with open(out, "wb") as file, subprocess.Popen(
                    [MANKAI, "dedup", "--state", self.at(key, f"&keys=1M&fpr={SMALL_FPR}")], stdin=subprocess.PIPE,
                    stdout=file, stderr=subprocess.PIPE) as process:
                writer = threading.Thread(target=self.feed, args=(process.stdin, lines))
                writer.start()
                wait_for("lines are printed", lambda: out.stat().st_size > 0, step=0.001)
                process.send_signal(number)
                said = process.stderr.read().decode()
                self.assertEqual(process.wait(PATIENCE), 128 + number, said)
                writer.join()
            printed = out.read_text().splitlines()
            self.assertEqual(printed, lines[:len(printed)])
            self.assertEqual(self.client.must("BF.CARD", key), len(printed))

    @staticmethod
    def feed(stream, lines):
        with contextlib.suppress(BrokenPipeError):
            for begin in range(0, len(lines), 1000):
                stream.write(text_of(lines[begin:begin + 1000]).encode())
        with contextlib.suppress(BrokenPipeError):
            stream.close()

    def test_records_before_an_error_of_the_input_count(self):
        log = "".join(f"2026-01-01T00:00:{second:02}Z a\n" for second in range(60))
        (pathlib.Path(self.server.folder) / "log").write_text(log)
        (pathlib.Path(self.server.folder) / "corrupt.gz").write_bytes(gzip.compress(log.encode())[:10] + b"x" * 100)
        logs = [f"{self.server.folder}/{name}" for name in ("log", "corrupt.gz", "log")]
        says = "; inputs after it were not used; 60 records were counted in "
        printed = self.mankai("hot", "--state", self.at("hot"), *logs, code=3, says=says)
        self.assertEqual([line.split("\t")[-1] for line in printed], ["a"])  # as without --state
        self.assertIn("; another run on the same inputs would count them again\n", self.said)
        self.assertNotIn("twice", self.said)
        self.mankai("hot", "--state", self.at("hot"), logs[1], code=3, says="; nothing was counted in ")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "hot", "--state", self.at("hot"), logs[0]], stdout=full, stderr=subprocess.PIPE,
                                  check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"No space left on device; 60 records were counted in ", done.stderr)

    def test_an_error_of_an_input_says_what_is_in_the_server(self):
        folder = pathlib.Path(self.server.folder)
        (folder / "lines").write_text(text_of(urls(100)))
        (folder / "bad.gz").write_bytes(gzip.compress(b"x\n")[:12])
        inputs = [f"{folder}/lines", f"{folder}/bad.gz", f"{folder}/lines"]
        not_used = "; get the whole file; inputs after it were not used; "
        printed = self.mankai("dedup", "--state", self.at("seen"), *inputs, code=3, says=not_used + "the lines before are in ")
        self.assertEqual(printed, urls(100))
        self.client.must("CF.RESERVE", "cuckoo", 1000)
        for command, says in (("add", "100 keys added before\n"), ("remove", "100 keys removed before\n")):
            self.mankai(command, self.at("cuckoo"), *[word for path in inputs for word in ("-i", path)], code=3, says=not_used + says)

    def test_processes_share_one_memory(self):
        """Each line is printed once in the fleet, whoever reads it first."""
        lines = urls(60_000)
        for address in (self.at("one", "&keys=1M"), self.at("many", "&shards=8&keys=1M")):
            outputs = [[], []]

            def run(index, part, where=address, into=outputs):
                into[index] = self.dedup(where, part)

            fleet = [threading.Thread(target=run, args=(0, lines)), threading.Thread(target=run, args=(1, lines[::-1]))]
            for member in fleet:
                member.start()
            for member in fleet:
                member.join()
            self.assertEqual(sorted(outputs[0] + outputs[1]), sorted(lines))


class CuttingProxy(Listener):
    """Stands before a server, and cuts the first connection on which it sees a word: the server gets the request, and
    the client no reply."""

    def __init__(self, server, folder, word, cuts=1):
        self.server, self.word, self.cuts = server, word, cuts
        self.listen_at(folder / "proxy.sock")

    def serve(self, client):
        with socket.socket(socket.AF_UNIX) as server, client:
            server.connect(self.server.socket)
            while data := client.recv(1 << 20):
                server.sendall(data)
                reply = server.recv(1 << 20)
                if self.word in data and self.cuts > 0:
                    self.cuts -= 1
                    return
                client.sendall(reply)


@needs_module
class LostConnectionTest(Commands, RedisTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def cut(self, word, cuts=1):
        server = self.start()
        proxy = CuttingProxy(server, self.dir, word, cuts)
        self.addCleanup(proxy.close)
        return server, f"unix:{proxy.socket}?key=f&timeout=2s"

    def test_lines_without_an_acknowledgment_are_printed_and_counted(self):
        server, address = self.cut(b"BF.INSERT")
        lines = ["a", "b", "c"]
        self.assertEqual(self.dedup(address, lines, "--json", says="did not confirm 3 lines"), lines)
        self.assertIn('"unconfirmed":3', self.said)
        self.assertIn('"connections_lost":1', self.said)
        self.assertEqual(self.dedup(f"unix:{server.socket}?key=f", lines), [])

    def test_a_cut_creation_is_repeated(self):
        _, address = self.cut(b"BF.RESERVE")
        self.assertEqual(self.dedup(address, ["a", "a"]), ["a"])

    def test_without_a_server_the_run_ends(self):
        _, address = self.cut(b"BF.INSERT", cuts=1 << 30)
        lines = ["a", "b"]
        self.assertEqual(self.dedup(address, lines, code=4, says="confirm 2 lines"), lines)
        self.assertIn("proxy.sock: no connection", self.said)

    def test_a_stop_signal_ends_the_wait_for_a_frozen_server(self):
        server = self.start()
        address = f"unix:{server.socket}?key=f&keys=100&fpr={SMALL_FPR}"
        self.mankai("add", address, "before")
        for words, printed, says in ((("dedup", "--state", address), ["b", "c"], "did not confirm 2 lines"),
                                     (("add", "--ack", address), [], "2 sent without an answer")):
            with self.subTest(words[0]), subprocess.Popen([MANKAI, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                          stderr=subprocess.PIPE) as process:
                process.stdin.write(b"a\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), b"a\n")
                os.kill(server.process.pid, signal.SIGSTOP)
                try:
                    process.stdin.write(b"b\nc\n")
                    process.stdin.flush()
                    wait_for("it has sent the lines and waits for an answer",
                             lambda program=process: waiting_bytes(program.stdin) == 0 and is_asleep(program))
                    process.send_signal(signal.SIGINT)
                    out, said = process.communicate(timeout=PATIENCE)
                finally:
                    os.kill(server.process.pid, signal.SIGCONT)
                self.assertEqual(process.returncode, 128 + signal.SIGINT, said)
                self.assertEqual(out.decode().splitlines(), printed)
                self.assertIn(says, said.decode())
                with server.client() as client:  # what was printed is what the server has when it continues
                    self.assertEqual(client.must("BF.MEXISTS", "f", "a", "b", "c"), [1, 1, 1])
                    client.must("DEL", "f")

    def test_without_an_answer_nothing_is_printed(self):
        server, address = self.cut(b"EXISTS", cuts=1 << 30)
        with server.client() as client:
            client.must("BF.RESERVE", "f", 0.01, 100)
            client.must("BF.ADD", "f", "a")
        for option in ([], ["--absent"], ["--present"]):
            self.assertEqual(self.mankai("check", *option, address, lines=urls(20_000), code=4, says="no connection"), [])

    def test_a_removal_is_not_repeated(self):
        server, address = self.cut(b"BF.REM")
        with server.client() as client:
            client.must("BF.RESERVE", "f", 0.01, 100, "DELETABLE")
            client.must("BF.MADD", "f", "a", "a")
            self.assertEqual(self.mankai("remove", address, "a", code=4, says="1 key is not known to be removed"),
                             ["unknown\ta"])
            self.assertEqual(client.must("BF.EXISTS", "f", "a"), 1)

    def test_counts_may_be_too_high(self):
        server, address = self.cut(b"CF.INSERT")
        with server.client() as client:
            client.must("CF.RESERVE", "f", 100)
            self.mankai("add", address, lines=["a"], says="1 key may be counted twice")
            self.assertEqual(client.must("CF.COUNT", "f", "a"), 2)

    def test_a_killed_server_loses_no_line(self):
        """Kill -9 in the middle of a run, several times; the AOF has what was acknowledged."""
        server = self.start(appendonly="yes")
        lines = urls(300_000)
        (self.dir / "lines").write_text(text_of(lines))
        address = f"unix:{server.socket}?key=f&keys=4M&fpr={SMALL_FPR}&shards=3"
        with open(self.dir / "out", "wb") as out, subprocess.Popen(
                [MANKAI, "dedup", "--json", "--state", address], stdin=subprocess.PIPE, stdout=out,
                stderr=subprocess.PIPE) as process:
            quarter = len(lines) // 4
            for part in range(4):
                # A thread, since the pipe is full while the server is down.
                data = text_of(lines[part * quarter:(part + 1) * quarter]).encode()
                writer = threading.Thread(target=process.stdin.write, args=(data,))
                before = (self.dir / "out").stat().st_size
                writer.start()
                if part < 3:
                    wait_for("lines are printed", lambda size=before: (self.dir / "out").stat().st_size > size)
                    server.restart(kill=True)
                writer.join()
            process.stdin.close()
            said = process.stderr.read().decode()
            self.assertEqual(process.wait(PATIENCE), 0, said)
        printed = (self.dir / "out").read_text().splitlines()
        facts = json.loads(said.splitlines()[-1])
        self.assertEqual(set(printed), set(lines))
        self.assertLessEqual(len(printed) - len(lines), facts["unconfirmed"])
        self.assertEqual(self.dedup(address, lines), [])


class FakeServer(Listener):
    """Answers each command with bytes, or ends the connection with None."""

    def __init__(self, folder=None, **answers):
        self.answers = {"CLUSTER": b"-ERR This instance has cluster support disabled\r\n", "TYPE": self.type_of,
                        "BF.INFO": b"*4\r\n+Size\r\n:9\r\n+Number of items inserted\r\n:1\r\n", **answers}
        self.type = "mankai-bf"
        self.asked = []
        if folder is None:
            self.listen(socket.create_server(("127.0.0.1", 0)))
            self.port = self.listener.getsockname()[1]
        else:
            self.listen_at(folder / "fake.sock")

    def type_of(self, words):
        return b"+none\r\n" if b"{" in words[1] else f"+{self.type}\r\n".encode()

    def serve(self, client):
        with contextlib.suppress(OSError), client, client.makefile("rb") as stream:
            while header := stream.readline():
                words = [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(header[1:]))]
                name = words[0].decode()
                self.asked.append(name)
                answer = self.answers.get(name, b"-ERR no answer\r\n")
                answer = answer(words) if callable(answer) else answer
                if answer is None:
                    return
                for piece in [answer] if isinstance(answer, bytes) else answer:
                    client.sendall(piece)


class FakeServerTest(Commands, unittest.TestCase):
    """Servers that do not answer as ours does."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def fake(self, **answers):
        server = FakeServer(self.dir, **{name.replace("_", "."): answer for name, answer in answers.items()})
        self.addCleanup(self.remove, server)
        return server, f"unix:{server.socket}?key=f&timeout=2s"

    def remove(self, server):
        server.close()
        pathlib.Path(server.socket).unlink(missing_ok=True)

    FORMS = (b":1\r\n", b"+OK\r\n", b"$1\r\n1\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"*1\r\n:1\r\n",
             b"*3\r\n:1\r\n:1\r\n:1\r\n", b"*2\r\n:1\r\n$-1\r\n", b"*2\r\n:1\r\n+1\r\n", b"*2\r\n:1\r\n:2\r\n",
             b"*2\r\n:1\r\n:-1\r\n", b"*2\r\n:1\r\n*0\r\n", b"*2\r\n:1\r\n*1\r\n:1\r\n")
    NO_REPLIES = (b"*2\r\n#t\r\n#t\r\n", b"%1\r\n+a\r\n:1\r\n", b"_\r\n", b"HTTP/1.1 400\r\n\r\n", b"*2\r\n:1\r\n:x\r\n")

    def test_replies_of_another_form_are_errors(self):
        """What was asked is unknown: dedup prints it, remove says so, and lookups print nothing."""
        for form in self.FORMS + self.NO_REPLIES:
            says = "unexpected reply to" if form in self.FORMS else "is this a Redis server?"
            server, address = self.fake(BF_INSERT=form, BF_MEXISTS=form, BF_REM=form)
            with self.subTest(form=form):
                self.assertEqual(self.dedup(address, ["a", "b"], code=3, says=says), ["a", "b"])
                self.assertIn("confirm 2 lines", self.said)
                self.assertIn("fake.sock", self.said)
                self.assertEqual(self.mankai("add", "--ack", address, "a", "b", code=3, says=says), [])
                self.assertEqual(self.mankai("check", address, "a", "b", code=3, says=says), [])
                if form != b"*2\r\n:1\r\n:-1\r\n":  # it cannot be removed
                    self.assertEqual(self.mankai("remove", address, "a", "b", code=3, says=says),
                                     ["unknown\ta", "unknown\tb"])
            self.remove(server)

    def test_types_facts_and_counts_of_another_form_are_errors(self):
        for form in (b":1\r\n", b"$-1\r\n", b"*1\r\n+mankai-bf\r\n"):
            server, address = self.fake(TYPE=form)
            self.mankai("info", address, code=3, says="unexpected reply to TYPE")
            self.remove(server)
        for form in (b":1\r\n", b"+text\r\n", b"$-1\r\n", b"*0\r\n", b"*1\r\n+Size\r\n", b"*2\r\n+Size\r\n+x\r\n",
                     b"*2\r\n+Size\r\n:1\r\n"):
            server, address = self.fake(BF_INFO=form)
            self.mankai("info", address, code=3, says="unexpected reply to BF.INFO")
            self.remove(server)
        for form in (b"*1\r\n:1\r\n", b"+1\r\n", b"$-1\r\n", b":-1\r\n"):
            server, address = self.fake(CF_COUNT=form)
            server.type = "mankai-cf"
            self.assertEqual(self.mankai("count", address, "a", code=3, says="unexpected reply to CF.COUNT"), [])
            self.remove(server)
        facts = b"*4\r\n+Size\r\n:9\r\n+Names\r\n:1\r\n"
        server, address = self.fake(HOT_INFO=b"*6" + facts[2:] + b"+Newest event\r\n:9223372036854775807\r\n")
        server.type = "mankai-ht"
        self.mankai("info", address, code=3, says="unexpected reply to HOT.INFO")
        self.remove(server)
        for form in (b":1\r\n", b"*1\r\n+a\r\n", b"*2\r\n+a\r\n:1\r\n", b"*2\r\n:1\r\n$1\r\n1\r\n", b"*2\r\n+a\r\n$3\r\nnan\r\n"):
            server, address = self.fake(HOT_INFO=facts, HOT_TOP=form)
            server.type = "mankai-ht"
            self.assertEqual(self.mankai("hot", "--state", address, code=3, says="unexpected reply to HOT.TOP"), [])
            self.remove(server)

    def test_slots_of_another_form_are_errors(self):
        for form in (b":1\r\n", b"*1\r\n:1\r\n", b"*1\r\n*3\r\n:0\r\n:1\r\n*0\r\n", b"*1\r\n*3\r\n:5\r\n:1\r\n*2\r\n+h\r\n:1\r\n",
                     b"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n+h\r\n:1\r\n", b"*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n+h\r\n:1\r\n"):
            server, address = self.fake(CLUSTER=form)
            self.mankai("info", address, code=3, says="invalid reply to CLUSTER SLOTS")
            self.remove(server)

    def test_memory_is_limited(self):
        """Replies without an end, by a server that sends as fast as it can."""
        def endless(start, piece):
            def answer(_):
                yield start
                while True:
                    yield piece
            return answer

        for start, piece in ((b"$999999999999\r\n", b"x" * 65536), (b"+", b"x" * 65536), (b"*2147483647\r\n", b":1\r\n" * 9999),
                             (b"*1\r\n" * 100_000, b"*1\r\n" * 9999), (b"*9\r\n", b"+x\r\n" * 9999), (b"", b"*0\r\n" * 9999)):
            server, address = self.fake(BF_INSERT=endless(start, piece), BF_INFO=endless(start, piece))
            with self.subTest(start=start[:20]):
                for command in ("add", "info"):
                    done = subprocess.run(["bash", "-c", 'ulimit -v 300000; exec "$@"', "bash", MANKAI, command, address,
                                           *(["a"] if command == "add" else [])], capture_output=True, check=False, timeout=PATIENCE)
                    self.assertIn(done.returncode, (3, 4), done.stderr)
                    self.assertNotIn(b"memory", done.stderr)
                    self.assertIn(b"fake.sock", done.stderr)
            self.remove(server)

    def test_a_repeated_batch_that_is_refused_is_printed(self):
        """The first attempt may have been run: its lines are printed, although the second one added nothing."""
        replies = iter([None, b"-OOM command not allowed\r\n"])
        _, address = self.fake(BF_INSERT=lambda _: next(replies))
        self.assertEqual(self.dedup(address, ["a", "b"], code=4, says="confirm 2 lines"), ["a", "b"])
        self.assertIn("OOM", self.said)

    def test_what_was_refused_is_not_printed(self):
        _, address = self.fake(BF_INSERT=b"-OOM command not allowed\r\n")
        self.assertEqual(self.dedup(address, ["a", "b"], code=4, says="OOM"), [])
        self.assertNotIn("confirmed", self.said)

    def test_hot_says_why_the_server_refused(self):
        """Also when it refuses before the end of the input."""
        refusal = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
        server, address = self.fake(HOT_INCRBY=refusal, HOT_INCRBYAT=refusal, HOT_INFO=b"*4\r\n+Size\r\n:9\r\n+Names\r\n:1\r\n")
        server.type = "mankai-ht"
        self.mankai("hot", "--state", address, lines=urls(200_000), code=4, says="OOM command not allowed")

    def test_servers_that_redirect_to_each_other(self):
        one, other = FakeServer(), FakeServer()
        for server, there in ((one, other), (other, one)):
            self.addCleanup(server.close)
            server.answers["BF.INSERT"] = f"-MOVED 1 127.0.0.1:{there.port}\r\n".encode()
        self.dedup(f"redis://127.0.0.1:{one.port}/f?timeout=1s", ["a"], code=4, says="MOVED")
        self.assertLess((one.asked + other.asked).count("BF.INSERT"), 1000)

    def test_answers_before_an_error_are_printed(self):
        replies = iter([b"*1\r\n:1\r\n", b"-OOM command not allowed\r\n"])
        _, address = self.fake(BF_MEXISTS=lambda _: next(replies))
        with subprocess.Popen([MANKAI, "check", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            process.stdin.write("a\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "yes\ta\n")
            out, err = process.communicate("b\n", PATIENCE)
        self.assertEqual((process.returncode, out), (4, ""))
        self.assertIn("OOM", err)

    def test_a_server_that_repeats_the_password(self):
        says = b"-ERR unknown command 'AUTH', with args beginning with: 'bot' 'secret' \r\n"
        _, address = self.fake(AUTH=says)
        self.mankai("check", address + "&user=bot", "a", code=2, says="AUTH", MANKAI_REDIS_PASSWORD="secret")


@needs_module
@unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificates")
class TlsTest(Commands, RedisTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.dir, capture_output=True, check=True)

    def make_certificates(self):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
        for name in ("server", "client"):
            (self.dir / f"{name}.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                         "-out", f"{name}.csr", "-subj", f"/CN={name}")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                         "-days", "2", "-out", f"{name}.pem", "-extfile", f"{name}.ext")

    def start_on_a_free_port(self):
        for attempt in range(5):
            port = free_port()
            try:
                self.start(tls_port=port, tls_cert_file=self.dir / "server.pem", tls_key_file=self.dir / "server.key",
                           tls_ca_cert_file=self.dir / "ca.pem", tls_auth_clients="yes")
                return port
            except AssertionError as error:
                if attempt == 4 or "bind: Address already in use" not in str(error):
                    raise

    def test_certificates_are_checked(self):
        self.make_certificates()
        port = self.start_on_a_free_port()
        shown = f"cert={self.dir}/client.pem&certkey={self.dir}/client.key"
        whole = f"cacert={self.dir}/ca.pem&{shown}"
        lines = urls(20_000) + ["z" * 1_000_000]
        self.assertEqual(self.dedup(f"rediss://localhost:{port}/seen?{whole}", lines), lines)
        self.assertEqual(self.dedup(f"rediss://127.0.0.1:{port}/seen?{whole}", [*lines, "b"]), ["b"])
        server = f"rediss://localhost:{port}"
        self.mankai("takeover", "compare", f"{server}?{whole}", f"{server}?{whole}", says="compared with itself")
        self.mankai("takeover", "compare", server, f"{server}?{whole}", code=2, says="with cacert=FILE")
        self.mankai("takeover", "compare", server, f"{server}?cafile=x", code=2, says="'cafile' is not an option")
        self.dedup(f"rediss://localhost:{port}/seen?{shown}", [], code=2, says="certificate is not accepted")
        self.dedup(f"rediss://127.0.0.2:{port}/seen?{whole}", [], code=4, says="refused")
        self.dedup(f"rediss://127.0.0.1:{port}/seen?cacert={self.dir}/none", [], code=2, says="give a PEM file")
        self.dedup(f"redis://127.0.0.1:{port}/seen?timeout=2s", [], code=4)
        self.dedup(f"rediss://localhost:{port}/seen?cacert={self.dir}/ca.pem&timeout=2s", [], code=4, says="localhost")


@needs_module
class ReplicaTest(Commands, RedisTest):
    def test_lines_wait_for_the_replica(self):
        primary = self.start(tcp=True)
        replica = self.start(tcp=True)
        replica.replicate(primary)
        lines = urls(20_000)
        address = f"redis://127.0.0.1:{primary.port}/f?shards=3&wait=1"
        self.assertEqual(self.dedup(address, lines, "--json"), lines)
        self.assertEqual(json.loads(self.said)["unconfirmed"], 0)
        with replica.client() as client:
            self.assertEqual(sum(client.must("BF.CARD", f"f{{{shard}}}") for shard in range(3)), len(lines))


@needs_module
class ClusterRemoteTest(Commands, RedisTest):
    """Three primaries: every shard on its node, while slots move and a primary dies."""

    def setUp(self):
        self.cluster = Cluster(MODULE)
        self.addCleanup(self.cluster.close)
        self.servers = self.cluster.servers

    def primaries(self):
        return [server for server, role in self.cluster.roles().items() if role == "master"]

    def test_shards_in_a_cluster(self):
        lines = urls(30_000)
        address = f"redis://127.0.0.1:{self.servers[0].port}/seen?shards=16&keys=1M&fpr={SMALL_FPR}"
        self.assertEqual(self.dedup(address, lines), lines)
        slots = {binascii.crc_hqx(str(shard).encode(), 0) % 16384 for shard in range(16)}
        self.assertEqual(len(slots), 16)
        self.assertEqual(self.dedup(address.replace("shards=16", "shards=17"), [], code=2, says="missing"), [])
        self.assertEqual(self.dedup(address.replace("seen", "plain").replace("shards=16&", ""), ["a", "a"]), ["a"])
        self.assertEqual(json.loads("".join(self.mankai("info", "--json", address)))["keys_inserted"], 30_000)

        # Every filter that is asked is sent somewhere else while slots move.
        first, second = self.primaries()[:2]
        mover = threading.Thread(target=self.cluster.reshard, args=(first, second, 3000))
        mover.start()
        more = urls(30_000, 30_000)
        printed = self.dedup(address, more + lines)
        mover.join()
        self.assertEqual(printed, more)
        self.cluster.check()

        # A primary is killed in the middle of a run, and its replica takes over.
        with self.cluster.hurried():
            process = subprocess.Popen([MANKAI, "dedup", "--json", "--state", address + "&timeout=60s"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with process:
                process.stdin.write("one\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "one\n")
                first.kill()
                rest = urls(20_000, 60_000)
                out, err = process.communicate(text_of(rest), 4 * PATIENCE)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(set(out.splitlines()), set(rest))
            self.assertEqual(self.dedup(address.replace(str(self.servers[0].port), str(second.port)), rest), [])

    def test_a_dead_primary_loses_nothing_that_replicas_acknowledged(self):
        """Kill -9, and then a stopped process, whose connections stay open. Its replica answers soon. With one replica per
        primary, nothing more is acknowledged there until the dead node is back, as a replica."""
        address = f"redis://127.0.0.1:{self.servers[0].port}/acked?shards=16&keys=1e6&fpr={SMALL_FPR}&wait=1"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        out = pathlib.Path(folder.name) / "out"
        acked = []
        with self.cluster.hurried(1_000):
            for end, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
                victim = next(server for server in self.primaries() if server is not self.servers[0])
                lines = urls(1_000_000, len(acked))
                with open(out, "wb") as file, subprocess.Popen([MANKAI, "add", "--ack", address], stdin=subprocess.PIPE,
                                                               stdout=file, stderr=subprocess.PIPE) as process:
                    writer = threading.Thread(target=self.feed, args=(process.stdin, lines))
                    writer.start()
                    wait_for("lines are acknowledged", lambda: out.stat().st_size > 0, step=0.001)
                    victim.process.send_signal(number)
                    since = time.monotonic()
                    printed = out.read_text().rpartition("\n")[0].splitlines()
                    self.assertEqual(self.mankai("check", "--absent", address, lines=printed), [])
                    print(f"{end}: {len(printed)} acknowledged lines are answered after {time.monotonic() - since:.2f} s",
                          file=sys.stderr)
                    self.assertIsNone(process.poll(), "it waits for a replica")
                    if number == signal.SIGKILL:
                        victim.restart()
                    else:
                        victim.process.send_signal(signal.SIGCONT)
                    writer.join()
                    said = process.stderr.read().decode()
                    self.assertEqual(process.wait(PATIENCE), 0, said)
                printed = out.read_text().splitlines()
                self.assertEqual(printed, lines)
                acked += printed
                self.cluster.settle()
                self.assertEqual(self.cluster.roles()[victim], "slave")
                self.assertEqual(self.mankai("check", "--absent", address, lines=acked), [])

    @staticmethod
    def feed(stream, lines):
        stream.write(text_of(lines).encode())
        stream.close()


if __name__ == "__main__":
    main()
