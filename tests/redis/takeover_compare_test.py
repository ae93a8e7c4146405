"""`mankai takeover compare` between two servers with the module: equal ones, altered ones, and a run that is resumed.

Usage: takeover_compare_test.py MODULE MANKAI [unittest arguments...]
"""
import json
import pathlib
import subprocess
import sys

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from harness import RedisTest, main, needs_module  # noqa: E402: the arguments are those of `harness` from here on

SAME, DIFFERENT = 0, 1  # docs/cli.md
SETUP = [["BF.RESERVE", "bf", "0.01", "500"], ["BF.MADD", "bf", *(f"item{i}" for i in range(1000))],
         ["CF.RESERVE", "cf", "1000"], ["CF.INSERT", "cf", "ITEMS", *(f"item{i}" for i in range(500))],
         ["CMS.INITBYDIM", "cms", "100", "3"], ["CMS.INCRBY", "cms", "a", "5", "b", "7"],
         ["TOPK.RESERVE", "topk", "3"], ["TOPK.ADD", "topk", "a", "b", "a"],
         ["SET", "string", "v"], ["SET", "with ttl", "v", "EX", "1000"], ["HSET", "hash", "f", "v"],
         ["RPUSH", "list", "a", "b"], ["SADD", "set", "a"], ["ZADD", "zset", "1", "a"], ["XADD", "stream", "1-1", "f", "v"]]
KEYS = 11  # of database 0


@needs_module
class TakeoverCompareTest(RedisTest):
    def setUp(self):
        """The new server has copies of the old one's keys."""
        self.old, self.new = self.start(), self.start()
        self.from_, self.to = self.old.client(), self.new.client()
        for words in SETUP:
            self.from_.must(*words)
        self.from_.must("SELECT", 3)
        self.from_.must("SET", "other", "v")
        for database in (0, 3):
            self.from_.must("SELECT", database)
            self.to.must("SELECT", database)
            for key in self.from_.must("KEYS", "*"):
                ttl = max(self.from_.must("PTTL", key), 0)
                self.to.must("RESTORE", key, ttl, self.from_.must("DUMP", key))
        self.from_.must("SELECT", 0)
        self.to.must("SELECT", 0)

    def compare(self, *more, code=SAME):
        words = [MANKAI, "takeover", "compare", f"unix:{self.old.socket}", f"unix:{self.new.socket}", "--json", *more]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return json.loads(done.stdout)

    def assert_difference(self, key, *parts, **more):
        found = self.compare(code=DIFFERENT, **more)
        self.assertEqual([each["key"] for each in found["differences"]], [key])
        for part in parts:
            self.assertIn(part, found["differences"][0]["difference"])
        self.assertEqual(found["different"], 1)

    def test_copies_are_the_same(self):
        found = self.compare()
        self.assertEqual((found["ok"], found["keys"], found["different"]), (True, KEYS + 1, 0))
        self.assertEqual((found["identical"], found["alike"]), (KEYS, 1), "all but the top-k list")
        self.assertEqual(self.compare("--database", "3")["keys"], 1)

    def test_filters_that_differ(self):
        self.to.must("BF.MADD", "bf", *(f"more{i}" for i in range(10)))
        self.assert_difference("bf", "BF.INFO Number of items inserted: ", " in the new one")

    def test_a_converted_filter_answers_at_least_as_before(self):
        for client in (self.from_, self.to):
            client.must("CONFIG", "SET", "bf.layout", "redisbloom")
            client.must("BF.RESERVE", "theirs", 0.01, 100)
            client.must("BF.MADD", "theirs", *range(500))
        self.to.must("MANKAI.CONVERT", "theirs")
        self.assertEqual(self.compare()["different"], 0)
        self.to.must("BF.MADD", "theirs", *(f"more{i}" for i in range(10)))
        self.assert_difference("theirs", "Number of items inserted")

    def test_filters_without_chunks_are_compared_whole(self):
        for client in (self.from_, self.to):
            for layout, key in (("valkey-bloom", "valkey"), ("redisbloom", "converted")):
                client.must("CONFIG", "SET", "bf.layout", layout, "bf.bloom-use-random-seed", "no")
                client.must("BF.RESERVE", key, 0.01, 100)
                client.must("BF.MADD", key, *range(500))
            client.must("MANKAI.CONVERT", "converted")
        self.to.must("RESTORE", "converted", 0, self.from_.must("DUMP", "converted"), "REPLACE")
        self.assertEqual([self.to.must("TYPE", key) for key in ("valkey", "converted")], [b"bloomfltr", b"mankai-cv"])
        found = self.compare()
        self.assertEqual((found["ok"], found["identical"], found["alike"]), (True, KEYS + 2, 1))
        for key in ("valkey", "converted"):
            dump = self.to.must("DUMP", key)
            self.to.must("BF.MADD", key, *(f"more{i}" for i in range(10)))
            self.assert_difference(key, "BF.INFO Number of items inserted: ")
            self.to.must("RESTORE", key, 0, dump, "REPLACE")

    def test_items_that_are_lost(self):
        self.to.must("CF.DEL", "cf", "item7")
        self.assert_difference("cf", "CF.INFO")

    def test_sketches_and_lists(self):
        self.to.must("TOPK.ADD", "topk", "b", "b", "b")
        self.assert_difference("topk", "TOPK.LIST, value 1: a", "b in the new one")
        self.from_.must("TOPK.ADD", "topk", "b", "b", "b")
        self.to.must("CMS.INCRBY", "cms", "c", 1)
        self.assert_difference("cms", "CMS.INFO count: 12 in the old server, 13 in the new one")

    def test_keys_that_only_one_server_has(self):
        self.to.must("SET", "added", "v")
        self.assert_difference("added", "absent in the old server")
        self.to.must("DEL", "added", "string")
        self.assert_difference("string", "absent in the new server")

    def test_types_times_and_strings(self):
        self.to.must("SET", "string", "w")
        self.assert_difference("string", "the strings differ")
        self.to.must("SET", "string", "v")
        self.to.must("EXPIRE", "with ttl", 500)
        self.assert_difference("with ttl", "time to live")
        self.to.must("DEL", "with ttl")
        self.to.must("SADD", "with ttl", "v")
        self.assert_difference("with ttl", "type: string in the old server, set in the new one")

    def test_engine_values_in_other_encodings_are_alike(self):
        self.to.must("CONFIG", "SET", "hash-max-listpack-entries", 0)
        self.to.must("DEL", "hash")
        self.to.must("HSET", "hash", "f", "v")
        self.assertEqual(self.compare()["alike"], 2)
        self.to.must("HSET", "hash", "g", "v")
        self.assert_difference("hash", "HLEN: 1 in the old server, 2 in the new one")

    def test_known_items_are_asked(self):
        items = self.old.folder / "items"
        items.write_text("".join(f"item{i}\n" for i in range(3000)))
        self.assertTrue(self.compare("--items", items, "--sample", 0)["ok"])

    def test_a_run_is_resumed(self):
        state = self.old.folder / "state"
        self.compare("--resume", state)
        begin = [f"mankai takeover compare 1\nunix:{self.old.socket} unix:{self.new.socket}\n"]
        # As after the first database: its key is not compared again.
        self.to.must("SET", "string", "w")
        numbers = {"pass": 0, "database": 3, "cursor": 0, "keys": KEYS, "identical": KEYS - 1, "alike": 1, "different": 0,
                   "done": 0}
        state.write_text("".join(begin + [f"{name} {value}\n" for name, value in numbers.items()]))
        found = self.compare("--resume", state)
        self.assertEqual((found["ok"], found["keys"]), (True, KEYS + 1))
        self.assertIn("done 1", state.read_text())
        self.assertFalse(self.compare("--resume", state, code=DIFFERENT)["ok"], "a run that is done begins again")

    def test_a_refused_command_is_an_error(self):
        self.new.client().must("ACL", "SETUSER", "default", "-bf.mexists")
        words = [MANKAI, "takeover", "compare", f"unix:{self.old.socket}", f"unix:{self.new.socket}"]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("NOPERM", done.stderr)


if __name__ == "__main__":
    main()
