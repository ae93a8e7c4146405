#!/usr/bin/env python3
"""`mankai takeover check` on the built command: dumps of RedisBloom, of the engine at hand, and broken ones."""
import gzip
import json
import shutil
import subprocess
import unittest

from harness import SHARED, CommandTest, main

DUMPS = SHARED / "data" / "redisbloom"
needs_dumps = unittest.skipUnless(DUMPS.is_dir(), f"SKIPPED: {DUMPS} is not on this machine")
SERVER = shutil.which("redis-server")

NEGATIVE, BAD_DATA, INPUT_OUTPUT = 1, 3, 4  # docs/cli.md
EMPTY = b"REDIS0010\xff" + bytes(8)


def dump(name):
    return gzip.decompress((DUMPS / name).read_bytes())


class Check(CommandTest):
    def check(self, *arguments, **options):
        return json.loads(self.out("takeover", "check", "--json", *arguments, **options))

    @needs_dumps
    def test_a_dump_of_redisbloom_is_taken_over(self):
        found = self.check(DUMPS / "setup.rdb.gz")
        self.assertEqual((found["ok"], found["rdb_version"], found["engine"], found["keys"], found["databases"]),
                         (True, 10, "redis 7.0.15", 46, 2))
        self.assertEqual({each["type"]: each["keys"] for each in found["types"]},
                         {"MBbloom--": 16, "MBbloomCF": 13, "CMSk-TYPE": 9, "TopK-TYPE": 8})
        self.assertEqual((found["refused"], found["doubtful"], found["findings"]), (0, 0, []))
        text = self.out("takeover", "check", DUMPS / "setup.rdb.gz").decode()
        for part in ("RDB version 10, written by redis 7.0.15", "46 keys in 2 databases", "Redis 7.0 and later",
                     "all keys will be taken over"):
            self.assertIn(part, text)

    @needs_dumps
    def test_items_are_those_that_redisbloom_counts(self):
        keys = json.loads(dump("keys.json.gz"))["keys"]
        for family, type_name, fact in (("bf", "MBbloom--", "Number of items inserted"),
                                        ("cf", "MBbloomCF", "Number of items inserted")):
            facts = [key["facts"]["info"] for key in keys if key["family"].lower() == family]
            items = sum(info[fact] if isinstance(info, dict) else dict(zip(map(str, info[::2]), info[1::2]))[
                next(name for name in map(str, info[::2]) if fact in name)] for info in facts)
            types = {each["type"]: each["items"] for each in self.check(DUMPS / "setup.rdb.gz")["types"]}
            self.assertEqual(types[type_name], items)

    @needs_dumps
    def test_a_t_digest_is_refused_by_name(self):
        found = self.check(DUMPS / "tdigest.rdb.gz", code=NEGATIVE)
        self.assertEqual((found["ok"], found["refused"], found["other_keys"]), (False, 1, 1))
        (finding,) = found["findings"]
        self.assertEqual((finding["verdict"], finding["type"], finding["database"]), ("refused", "TDIS-TYPE", 0))
        text = self.out("takeover", "check", DUMPS / "tdigest.rdb.gz", code=NEGATIVE).decode()
        self.assertIn(f'refused: key "{finding["key"]}" in database 0, TDIS-TYPE', text)
        self.assertIn("1 key will be refused", text)

    @needs_dumps
    def test_pipes_and_truncated_dumps(self):
        whole = dump("setup.rdb.gz")
        self.assertTrue(self.check("-", stdin=whole)["ok"])
        for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
            self.error("takeover", "check", "-", stdin=whole[:size], code=BAD_DATA, says="standard input: ")
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        self.error("takeover", "check", "-", stdin=bytes(changed), code=BAD_DATA)

    def test_files_that_cannot_be_read(self):
        self.error("takeover", "check", "none.rdb", code=INPUT_OUTPUT, says="none.rdb: ")
        self.error("takeover", "check", self.write("text", b"no dump"), code=BAD_DATA, says="not an RDB file")
        self.error("takeover", "check", self.write("new.rdb", EMPTY.replace(b"0010", b"0099")), code=BAD_DATA,
                   says="RDB version 99")
        self.error("takeover", "check", self.write("type.rdb", b"REDIS0010\x63\1k"), code=BAD_DATA,
                   says="unknown object type 99 at offset 9")
        self.assertIn(b"0 keys in 0 databases", self.out("takeover", "check", self.write("empty.rdb", EMPTY)))

    @unittest.skipUnless(SERVER, "SKIPPED: there is no redis-server")
    def test_every_type_of_the_engine_is_walked(self):
        """A real server saves each of its encodings, small and large."""
        many = [str(i) for i in range(1000)]
        pairs = [word for i in many for word in (i, "x" * 70)]
        commands = [["SET", "s", "v" * 5000], ["SET", "n", "12345"], ["RPUSH", "l", *many], ["RPUSH", "l2", "x" * 9000],
                    ["SADD", "ints", *many], ["SADD", "set", "a", "b"], ["SADD", "large set", *pairs],
                    ["ZADD", "z", "1.5", "a"], ["ZADD", "large z", *(w for i in many for w in (i, "m" + "y" * 70 + i))],
                    ["ZADD", "inf", "inf", "x" * 100, "-inf", "b"],
                    ["HSET", "h", "f", "v"], ["HSET", "large h", *pairs], ["XADD", "x", "1-1", "f", "v"],
                    ["XGROUP", "CREATE", "x", "g", "0"], ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">"],
                    ["SET", "ttl", "v", "EX", "1000"], ["FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() end)"],
                    ["SELECT", "5"], ["SET", "other", "v"], ["SAVE"]]
        request = b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
                           for words in ([word.encode() for word in words] for words in commands))
        server = subprocess.Popen([SERVER, "--port", "0", "--unixsocket", self.dir / "socket", "--save", "",
                                   "--maxmemory-policy", "allkeys-lfu", "--dir", self.dir], stdout=subprocess.DEVNULL)
        try:
            self.send(request, len(commands))
        finally:
            server.kill()
            server.wait()
        found = self.check("dump.rdb")
        self.assertEqual((found["ok"], found["keys"], found["other_keys"], found["databases"]), (True, 15, 15, 2))

    def send(self, request, replies):
        import socket
        import time
        for _ in range(1000):
            try:
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(str(self.dir / "socket"))
                    client.sendall(request)
                    client.settimeout(30)
                    text = b""
                    while not text.endswith(b"+OK\r\n") or text.count(b"\r\n") < replies:
                        text += client.recv(65536)
                    self.assertNotIn(b"\r\n-", text)
                    return
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.01)
        self.fail("the server does not answer")


class Compare(CommandTest):
    def test_addresses_are_checked_first(self):
        self.error("takeover", "compare", "nowhere", "redis://127.0.0.1:1", code=2)
        self.error("takeover", "compare", "redis://127.0.0.1/3", "redis://127.0.0.1:1", code=2, says="--database")
        self.error("takeover", "compare", "unix:/no/socket", "unix:/no/other", code=INPUT_OUTPUT)

    def test_a_state_of_other_servers_is_refused(self):
        self.write("state", b"mankai takeover compare 1\nredis://a redis://b\n")
        self.error("takeover", "compare", "redis://127.0.0.1:1", "redis://127.0.0.1:2", "--resume", "state", code=2,
                   says="state: ")


if __name__ == "__main__":
    main()
