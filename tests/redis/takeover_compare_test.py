"""`mankai takeover compare` between two servers with the module: equal ones, altered ones, a run that is resumed, and
connections that are lost.

Usage: takeover_compare_test.py MODULE MANKAI [unittest arguments...]
"""
import json
import pathlib
import subprocess
import sys

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from client import wait_for  # noqa: E402
from harness import RedisTest, main, needs_module  # noqa: E402: the arguments are those of `harness` from here on

SAME, DIFFERENT, INPUT_OUTPUT = 0, 1, 4  # docs/cli.md
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
            self.copy()
        self.from_.must("SELECT", 0)
        self.to.must("SELECT", 0)

    def copy(self):
        keys = self.from_.must("KEYS", "*")
        values = self.from_.pipeline([words for key in keys for words in (("PTTL", key), ("DUMP", key))])
        replies = self.to.pipeline([("RESTORE", key, max(ttl, 0), dump, "REPLACE")
                                    for key, ttl, dump in zip(keys, values[::2], values[1::2])])
        self.assertEqual({bytes(reply) for reply in replies}, {b"OK"})

    def words(self, *more):
        return list(map(str, [MANKAI, "takeover", "compare", f"unix:{self.old.socket}", f"unix:{self.new.socket}", *more]))

    def compare(self, *more, code=SAME):
        done = subprocess.run(self.words("--json", *more), capture_output=True, text=True, timeout=120, check=False)
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
        done = subprocess.run(self.words(), capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("NOPERM", done.stderr)

    def test_many_keys_are_reported_in_the_order_of_the_old_server(self):
        """Goal: replies of many keys at once belong to the right key. Method: some of 4000 small filters differ, among
        values that are compared alone because of their size."""
        self.from_.pipeline([words for i in range(1000) for words in (
            ("BF.RESERVE", f"bf{i}", 0.01, 100), ("BF.ADD", f"bf{i}", i), ("CF.RESERVE", f"cf{i}", 100),
            ("CF.ADD", f"cf{i}", i), ("CMS.INITBYDIM", f"cms{i}", 20, 2), ("CMS.INCRBY", f"cms{i}", i, 1),
            ("TOPK.RESERVE", f"topk{i}", 3), ("TOPK.ADD", f"topk{i}", i))])
        for i in range(2):
            self.from_.must("BF.RESERVE", f"large{i}", 0.01, 20_000_000)  # two chunks
            self.from_.must("SET", f"long{i}", b"x" * (17 << 20))
        self.copy()
        expected = {"large1": "BF.INFO Number of items inserted: 0 in the old server, 1 in the new one",
                    "long1": "the strings differ", "string": "absent in the new server"}
        self.to.must("BF.ADD", "large1", "a")
        self.to.must("SETRANGE", "long1", 16 << 20, "y")
        self.to.must("DEL", "string")
        for i in range(7, 1000, 97):
            self.to.must("BF.ADD", f"bf{i}", "more")
            expected[f"bf{i}"] = "BF.INFO Number of items inserted: 1 in the old server, 2 in the new one"
            self.to.must("CF.DEL", f"cf{i + 1}", i + 1)
            expected[f"cf{i + 1}"] = "CF.INFO Number of items inserted: 1 in the old server, 0 in the new one"
            self.to.must("CMS.INCRBY", f"cms{i}", "a", i)
            expected[f"cms{i}"] = f"CMS.INFO count: 1 in the old server, {i + 1} in the new one"
            self.to.must("TOPK.ADD", f"topk{i + 1}", i + 1)
            expected[f"topk{i + 1}"] = "TOPK.LIST, value 2: 1 in the old server, 2 in the new one"
        order, cursor = [], b"0"
        while order == [] or cursor != b"0":
            cursor, keys = self.from_.must("SCAN", cursor, "COUNT", 200)
            order += [bytes(key).decode() for key in keys]
        self.to.must("SET", "added", "v")
        expected_list = [(key, expected[key]) for key in order if key in expected] + [("added", "absent in the old server")]
        for has_sizes in (True, False):
            with self.subTest(has_sizes=has_sizes):
                self.new.client().must("ACL", "SETUSER", "default", "+memory" if has_sizes else "-memory")
                found = self.compare("--list", 1000, code=DIFFERENT)
                self.assertEqual([(each["key"], each["difference"]) for each in found["differences"]], expected_list)
                self.assertEqual((found["keys"], found["different"]), (KEYS + 4006, len(expected_list)))

    def lose_connections(self, process, scans):
        """Ends the old server's connections that scan, or its others, while keys are being compared."""
        def is_scanning():
            clients = [dict(word.split("=", 1) for word in line.split(" "))
                       for line in bytes(self.from_.must("CLIENT", "LIST")).decode().splitlines()]
            self.assertIsNone(process.poll())
            found = [each["id"] for each in clients if each["cmd"] != "client|list" and (each["cmd"] == "scan") == scans]
            return any(each["cmd"] == "scan" for each in clients) and found

        for number in wait_for("keys are being compared", is_scanning):
            self.from_.call("CLIENT", "KILL", "ID", number)

    def test_a_connection_is_lost_in_the_middle(self):
        for client in (self.from_, self.to):
            client.must("DEBUG", "POPULATE", 50_000)
        for scans in (False, True):
            with subprocess.Popen(self.words("--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                self.lose_connections(process, scans)
                output, errors = process.communicate(timeout=120)
            if scans:
                self.assertEqual((process.returncode, output), (INPUT_OUTPUT, ""))
                self.assertIn(f"{self.old.socket}: no connection: the server closed it", errors)
            else:
                self.assertEqual((process.returncode, errors), (SAME, ""), "requests are repeated")
                self.assertEqual(json.loads(output)["keys"], 50_000 + KEYS + 1)


if __name__ == "__main__":
    main()
