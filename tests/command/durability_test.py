#!/usr/bin/env python3
"""What survives what: the built command, killed at random moments, on full disks, beside damaged and orphaned files."""
import collections
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import threading
import time
import unittest

from harness import MANKAI, CommandTest, default_signals, main, read_line, wait_until_read

POLICIES = ("always", "interval=20ms", "never")
ROUNDS = 3  # of each policy
BATCH = 1024  # lines that the command takes at once
PAGES = 8192  # where a journal's records begin
HEADER = struct.Struct("<QQQQIIHHHH")


def lines(keys):
    return b"".join(key + b"\n" for key in keys)


def whole_lines(data):
    """What a reader got: a line that was cut off has not been printed."""
    return data.split(b"\n")[:-1]


class Killed(CommandTest):
    """Processes that are killed while they read, at moments that a seeded generator chooses."""

    def kill_while_reading(self, chance, keys, *arguments):
        """Feeds keys, kills the command somewhere on the way and returns what it printed."""
        process = self.start(*arguments)
        printed = []
        reader = threading.Thread(target=lambda: printed.append(process.stdout.read()))
        reader.start()
        moment = chance.randrange(len(keys))
        fed = 0
        try:
            while fed < moment:
                some = keys[fed:min(fed + chance.choice([1, 50, 700, 3000]), moment)]
                process.stdin.write(lines(some))
                process.stdin.flush()
                fed += len(some)
            if chance.random() < 0.5:  # not before something came out, if anything will
                process.stdin.write(lines(keys[fed:]))
        except BrokenPipeError:
            self.fail(process.stderr.read())
        process.kill()
        process.wait(60)
        reader.join(60)
        return printed[0]

    def test_every_key_that_was_acknowledged_is_there(self):
        keys = [b"https://example.org/%d" % i for i in range(40000)]
        for policy in POLICIES:
            for seed in range(ROUNDS):
                with self.subTest(policy=policy, seed=seed):
                    chance = random.Random(f"add {policy} {seed}")
                    self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "100k", "--fpr", "1e-9",
                                    "--seed", "1", "--force")
                    acknowledged = whole_lines(
                        self.kill_while_reading(chance, keys, "add", "f.mk", "--ack", "--durability", policy))
                    self.assertEqual(acknowledged, keys[:len(acknowledged)])
                    self.assertEqual(self.out("check", "f.mk", "--absent", stdin=lines(acknowledged)), b"")
                    self.is_a_prefix("f.mk", keys, len(acknowledged))
                    # The next run continues where that one stopped.
                    known = json.loads(self.out("info", "--json", "f.mk"))["sequence"]
                    self.run_mankai("add", "f.mk", stdin=lines(keys[known:]))
                    counts = self.out("count", "f.mk", stdin=lines(keys)).split(b"\n")[:-1]
                    self.assertEqual({count.split(b"\t")[0] for count in counts}, {b"1"})

    def is_a_prefix(self, name, keys, least):
        """What is in the filter is what came first, whole batches, each key once; reading and recovering agree."""
        info = json.loads(self.out("info", "--json", name))
        known = info["sequence"]
        self.assertGreaterEqual(known, least)
        self.assertEqual(info["keys_inserted"], known)
        self.assertEqual(self.out("check", name, "--present", stdin=lines(keys)), lines(keys[:known]))
        self.run_mankai("verify", name)
        report = json.loads(self.out("recover", "--json", name))
        self.assertEqual(report["sequence"], known)
        self.assertFalse((self.dir / (name + "-journal")).exists())
        self.assertEqual(self.out("check", name, "--present", stdin=lines(keys)), lines(keys[:known]))

    def test_keys_that_were_taken_out_stay_out(self):
        keys = [b"k%d" % i for i in range(20000)]
        self.run_mankai("create", "all.mk", "--kind", "counting-bloom", "--keys", "100k", "--fpr", "1e-9", "--seed", "1")
        self.run_mankai("add", "all.mk", stdin=lines(keys))
        for policy in POLICIES:
            with self.subTest(policy=policy):
                self.write("f.mk", self.read("all.mk"))
                (self.dir / "f.mk-journal").unlink(missing_ok=True)
                chance = random.Random(f"remove {policy}")
                self.kill_while_reading(chance, keys, "remove", "f.mk", "--durability", policy)
                gone = json.loads(self.out("info", "--json", "f.mk"))["sequence"] - len(keys)
                self.assertEqual(self.out("check", "f.mk", "--present", stdin=lines(keys)), lines(keys[gone:]))

    def test_dedup_loses_no_line_and_repeats_few(self):
        chance = random.Random(7)
        text = [b"line %d" % (i if chance.random() < 0.7 else chance.randrange(i + 1)) for i in range(40000)]
        wanted = list(dict.fromkeys(text))
        state = ["--state", "s.mk", "--kind", "bloom", "--keys", "100k", "--fpr", "1e-9", "--seed", "1"]
        for policy in POLICIES:
            for seed in range(ROUNDS):
                with self.subTest(policy=policy, seed=seed):
                    for name in ("s.mk", "s.mk-journal"):
                        (self.dir / name).unlink(missing_ok=True)
                    chance = random.Random(f"dedup {policy} {seed}")
                    first = whole_lines(self.kill_while_reading(chance, text, "dedup", *state, "--durability", policy))
                    self.assertEqual(first, wanted[:len(first)])
                    second = whole_lines(self.out("dedup", *state, stdin=lines(text)))
                    self.assertEqual(second, wanted[-len(second):] if second else [])
                    # What was printed twice is what was written and not yet noted: a batch at most.
                    self.assertIn(len(first) + len(second) - len(wanted), range(BATCH + 1))

    def test_hot_counts_a_log_once_or_not_at_all(self):
        log = b"".join(b"%d /page/%d\n" % (1_456_000_000 + i, i % 7) for i in range(30000))
        state = ["hot", "--state", "s.mk", "--lambda", "1", "--epoch", "1h", "--format", "keys"]
        for seed in range(ROUNDS):
            with self.subTest(seed=seed):
                self.kill_while_reading(random.Random(seed), log.split(b"\n")[:-1], *state, "--durability", POLICIES[seed])
                self.assertEqual(json.loads(self.out(*state, "--json", stdin=b""))["records_in_all"], 0)
        self.out(*state, "--position", "a.log", stdin=log)
        self.assertEqual(json.loads(self.out("info", "--json", "s.mk"))["position"], "a.log")
        self.assertEqual(json.loads(self.out(*state, "--json", stdin=b""))["records_in_all"], 30000)

    def test_a_follower_that_is_killed_has_counted_a_part_from_the_beginning(self):
        events = [b"%d /page/%d\n" % (1_456_000_000 + i, i * i % 11) for i in range(20000)]
        state = ["hot", "--state", "s.mk", "--lambda", "1", "--epoch", "1h", "--format", "keys", "--seed", "1"]
        for policy in POLICIES:
            with self.subTest(policy=policy):
                for name in ("s.mk", "s.mk-journal"):
                    (self.dir / name).unlink(missing_ok=True)
                chance = random.Random(f"hot {policy}")
                self.write("a.log", b"".join(events[:5000]))
                process = self.start(*state, "--follow", "--durability", policy, "a.log")
                self.wait_for(lambda: json.loads(self.out("info", "--json", "s.mk"))["keys_inserted"] == 5000, "s.mk")
                seen = 5000
                with open(self.dir / "a.log", "ab") as log:
                    while seen < 20000 - 3000:
                        some = chance.choice([1, 300, 3000])
                        log.write(b"".join(events[seen:seen + some]))
                        log.flush()
                        seen += some
                        if chance.random() < 0.2:
                            self.wait_for(
                                lambda: json.loads(self.out("info", "--json", "s.mk"))["keys_inserted"] == seen, "s.mk")
                process.kill()
                process.wait(60)
                report = json.loads(self.out(*state, "--json", stdin=b""))
                counted = report["records_in_all"]
                self.assertIn(counted, range(5000, seen + 1))
                truth = collections.Counter(event.split()[1].decode() for event in events[:counted])
                self.assertEqual({row["key"]: row["count"] for row in report["top"]}, dict(truth))

    def wait_for(self, is_done, name):
        """Until a store is there and as wanted; it may be looked at at any time."""
        for _ in range(2000):
            if (self.dir / name).exists() and is_done():
                return
            time.sleep(0.01)
        self.fail("waited in vain")

    def test_a_batch_with_a_position_is_in_once_or_not_at_all(self):
        keys = [b"%d" % i for i in range(60000)]
        self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "100k", "--fpr", "1e-9", "--seed", "1")
        before = self.read("f.mk")
        for seed in range(ROUNDS):
            self.kill_while_reading(random.Random(seed), keys, "add", "f.mk", "--position", "60000")
            self.assertEqual(self.read("f.mk"), before)
            self.assertFalse((self.dir / "f.mk-journal").exists())
        self.run_mankai("add", "f.mk", "--position", "60000", stdin=lines(keys))
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info["position"], info["sequence"], info["is_open"]), ("60000", 60000, False))


class Acknowledged(CommandTest):
    def test_keys_come_bare_and_in_order(self):
        self.run_mankai("create", "ids.mk", "--kind", "scalable-counting-bloom", "--keys", "1000")
        self.assertEqual(self.out("add", "ids.mk", "--ack", "--with-ids", stdin=b"b\t3\na\tx\t4\n"), b"b\na\tx\n")
        self.run_mankai("create", "f.mk", "--keys", "1000")
        for policy in POLICIES:
            self.assertEqual(self.out("add", "f.mk", "--ack", "--durability", policy, stdin=b"b\r\na\n\na"), b"b\na\n\na\n")
            self.assertEqual(self.out("add", "f.mk", "--ack", "--durability", policy, "two", "words"), b"two\nwords\n")

    def test_they_come_while_the_input_waits(self):
        self.run_mankai("create", "f.mk", "--keys", "1000")
        for policy in POLICIES[:2]:
            process = self.start("add", "f.mk", "--ack", "--durability", policy)
            for key in (b"a\n", b"b\n"):
                process.stdin.write(key)
                process.stdin.flush()
                self.assertEqual(read_line(process.stdout), key)
            process.stdin.close()
            self.assertEqual(process.wait(20), 0)

    def test_never_means_at_the_end(self):
        self.run_mankai("create", "f.mk", "--keys", "1000")
        process = self.start("add", "f.mk", "--ack", "--durability", "never", preexec_fn=default_signals)
        process.stdin.write(b"a\nb\nunfinish")
        process.stdin.flush()
        self.wait_for_sequence("f.mk", 2)
        os.set_blocking(process.stdout.fileno(), False)
        self.assertIsNone(process.stdout.read())
        os.set_blocking(process.stdout.fileno(), True)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.read(), b"a\nb\n")
        self.assertEqual(process.wait(20), 143)

    def wait_for_sequence(self, name, sequence):
        for _ in range(2000):
            if json.loads(self.out("info", "--json", name))["sequence"] == sequence:
                return
            time.sleep(0.01)
        self.fail("waited in vain")

    def test_signals_end_with_everything_in_one_file(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for policy in POLICIES:
                with self.subTest(signal=number, policy=policy):
                    self.run_mankai("create", "f.mk", "--keys", "1000", "--force")
                    process = self.start("add", "f.mk", "--ack", "--durability", policy, preexec_fn=default_signals)
                    process.stdin.write(b"a\nb\n")
                    process.stdin.flush()
                    self.wait_for_sequence("f.mk", 2)
                    process.send_signal(number)
                    self.assertEqual((process.stdout.read(), process.wait(20)), (b"a\nb\n", code))
                    self.assertFalse((self.dir / "f.mk-journal").exists())
                    info = json.loads(self.out("info", "--json", "f.mk"))
                    self.assertEqual((info["sequence"], info["is_open"]), (2, False))

    def test_nobody_left_to_read_them_is_an_error(self):
        self.run_mankai("create", "f.mk", "--keys", "100k")
        keys = lines(b"%d" % i for i in range(50000))
        self.write("keys", keys)
        done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" add f.mk --ack --input keys | head -n 1', MANKAI],
                              cwd=self.dir, capture_output=True, check=False, preexec_fn=default_signals)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"f.mk", done.stderr)
        known = json.loads(self.out("info", "--json", "f.mk"))["sequence"]
        self.assertEqual(self.out("check", "f.mk", "--absent", stdin=lines(b"%d" % i for i in range(known))), b"")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "add", "f.mk", "--ack", "x"], cwd=self.dir, stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(self.out("check", "f.mk", "x"), b"yes\tx\n")


class Options(CommandTest):
    def test_policies(self):
        self.run_mankai("create", "f.mk", "--keys", "1000")
        for policy in ("always", "interval", "interval=250ms", "interval=2", "never"):
            self.run_mankai("add", "f.mk", "--durability", policy, "a")
            self.out("dedup", "--state", "s.mk", "--durability", policy, stdin=b"a\n")
            self.out("hot", "--state", "h.mk", "--durability", policy, stdin=b"")
        for policy in ("", "often", "interval=", "interval=0", "interval=-1s", "interval=x", "always=1s"):
            self.error("add", "f.mk", "--durability", policy, "a", code=2, says="--durability")
        self.error("dedup", "--durability", "never", code=2, says=["--durability", "--state"])

    def test_positions(self):
        self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "1000")
        self.assertNotIn("position", json.loads(self.out("info", "--json", "f.mk")))
        for text, shown in (("offset 17", "offset 17"), ("x" * 64, "x" * 64), ("\u00e9\t", "\u00e9\t")):
            self.run_mankai("add", "f.mk", "--position", text, stdin=b"a\n")
            info = json.loads(self.out("info", "--json", "f.mk"))
            self.assertEqual((info["position"], info.get("position_is_escaped")), (shown, None))
        self.assertRegex(self.out("info", "f.mk").decode(), r"\nposition +\u00e9\\x09\n")
        self.run_mankai("add", "f.mk", "--position", b"\xff\\", "b")
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info["position"], info["position_is_escaped"], info["sequence"]), ("\\xff\\\\", True, 4))
        self.run_mankai("remove", "f.mk", "--position", "gone", "b")
        self.run_mankai("clear", "f.mk")
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info["position"], info["sequence"]), ("gone", 6))
        self.error("add", "f.mk", "--position", "x" * 65, "b", code=2, says=["--position", "64"])
        self.error("add", "f.mk", "--position", "", "b", code=2, says="--position")
        self.error("add", "f.mk", "--position", "x", "--ack", "b", code=2, says="--ack")
        self.error("add", "f.mk", "--position", "x", "--durability", "never", "b", code=2, says="--durability")
        self.error("hot", "--position", "x", code=2, says="--state")

    def test_a_stopped_run_with_a_position_leaves_the_file(self):
        self.run_mankai("create", "f.mk", "--keys", "1000")
        before = self.read("f.mk")
        process = self.start("add", "f.mk", "--position", "all", preexec_fn=default_signals)
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        wait_until_read(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        self.assertIn(b"f.mk is unchanged", process.stderr.read())
        self.assertEqual(self.read("f.mk"), before)


class Stores(CommandTest):
    """Files as a crash, a copy or a mishap may leave them."""

    def killed(self, *batches):
        """f.mk and its journal, as a killed writer leaves them: a record for each batch, the first one in the file."""
        self.run_mankai("create", "f.mk", "--keys", "10k", "--seed", "1", "--force")
        self.run_mankai("add", "f.mk", "first")
        process = self.start("add", "f.mk", "--ack", "--durability", "always")
        for batch in batches:
            process.stdin.write(lines(batch))
            process.stdin.flush()
            for key in batch:
                self.assertEqual(read_line(process.stdout), key + b"\n")
        process.kill()
        process.wait(20)

    def records(self, name="f.mk"):
        return [json.loads(line) for line in self.out("journal", "--json", name).splitlines()]

    def flip(self, name, offset):
        data = bytearray(self.read(name))
        data[offset] ^= 1
        self.write(name, bytes(data))

    def test_recover_says_what_it_did(self):
        self.killed([b"a", b"b"], [b"c"])
        self.assertIn("2 records", self.out("verify", "f.mk").decode())
        report = json.loads(self.out("recover", "--json", "f.mk"))
        self.assertEqual(report, {"file": "f.mk", "was_closed": False, "had_journal": True, "records_replayed": 2,
                                  "changes_replayed": 3, "bytes_dropped": 0, "sequence": 4})
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["f.mk"])
        self.assertEqual(self.out("check", "f.mk", "--absent", "first", "a", "b", "c"), b"")
        report = json.loads(self.out("recover", "--json", "f.mk"))
        self.assertEqual(report, {"file": "f.mk", "was_closed": True, "had_journal": False, "records_replayed": 0,
                                  "changes_replayed": 0, "bytes_dropped": 0, "sequence": 4})
        self.assertIn("nothing to do", self.out("recover", "f.mk").decode())
        self.killed([b"a"])
        self.assertIn("recovered: applied 1 change of 1 record\n", self.out("recover", "f.mk").decode())
        self.error("recover", "none.mk", code=4, says="none.mk")
        self.error("recover", code=2, says="FILE")

    def test_a_torn_tail_is_dropped_and_reported(self):
        self.killed([b"a", b"b"], [b"c"])
        last = self.records()[1]
        self.flip("f.mk-journal", last["offset"] + last["bytes"] - 1)
        rows = self.records()
        self.assertEqual((len(rows), rows[-1]["end"], rows[-1]["records"]), (2, last["offset"], 1))
        self.assertGreater(rows[-1]["bytes_dropped"], 0)
        self.assertIn(f"offset {last['offset']}", rows[-1]["reason"])
        self.assertIn(f"drops {rows[-1]['bytes_dropped']} bytes at offset {last['offset']}", self.out("verify", "f.mk").decode())
        report = json.loads(self.out("recover", "--json", "f.mk"))
        self.assertEqual((report["sequence"], report["changes_replayed"], report["dropped_at"], report["reason"]),
                         (3, 2, last["offset"], rows[-1]["reason"]))
        self.assertGreater(report["bytes_dropped"], 0)
        self.assertEqual(self.out("check", "f.mk", "a", "b", "c"), b"yes\ta\nyes\tb\nno\tc\n")

    def test_a_journal_that_was_cut_short_is_told_to_everybody(self):
        self.killed([b"a", b"b"], [b"c"])
        second = self.records()[1]["offset"]
        image, whole = self.read("f.mk"), self.read("f.mk-journal")
        for size in (PAGES, second, second + 8):
            for command in (("check", "f.mk", "c"), ("add", "f.mk", "d"), ("dedup", "--state", "f.mk", "/dev/null"),
                            ("verify", "f.mk"), ("info", "f.mk"), ("recover", "f.mk"), ("recover", "--json", "f.mk")):
                self.write("f.mk", image)
                self.write("f.mk-journal", whole[:size])
                out, said = self.run_mankai(*command)
                self.assertIn(b"truncated", out + said, (size, command))
        self.assertEqual(self.run_mankai("check", "f.mk", "a", "b", "c"), (b"yes\ta\nyes\tb\nno\tc\n", b""))

    def test_a_hole_is_damage_and_stays(self):
        self.killed([b"a", b"b"], [b"c"], [b"d"])
        hole = self.records()[0]
        self.flip("f.mk-journal", hole["offset"] + 50)
        before = (self.read("f.mk"), self.read("f.mk-journal"))
        for command in (["recover", "f.mk"], ["verify", "f.mk"], ["journal", "f.mk"], ["journal", "f.mk-journal"],
                        ["check", "f.mk", "a"], ["info", "f.mk"], ["add", "f.mk", "x"], ["clear", "f.mk"]):
            self.error(*command, code=3, says=["f.mk-journal", f"offset {hole['offset']}"])
        self.assertEqual((self.read("f.mk"), self.read("f.mk-journal")), before)
        report = json.loads(self.out("verify", "--json", "f.mk", code=3))
        self.assertEqual((report[0]["ok"], report[0]["error"]), (False, "corrupt"))

    def test_a_journal_is_printed(self):
        self.killed([b"a", b"b"], [b"c"])
        rows = self.records()
        self.assertEqual(rows[0], {"offset": PAGES, "bytes": HEADER.size + 16, "first": 2, "last": 3, "operation": "insert",
                                   "keys": 2, "durable": 1, "commits": True})
        self.assertEqual((rows[1]["first"], rows[1]["last"], rows[1]["durable"]), (4, 4, 3))
        self.assertEqual(rows[2], {"end": rows[1]["offset"] + rows[1]["bytes"], "records": 2, "changes": 3,
                                   "bytes_dropped": 0, "reason": ""})
        self.assertEqual(self.records("f.mk-journal"), rows)
        text = self.out("journal", "f.mk").decode().splitlines()
        self.assertEqual(text[0].split(), ["offset", "changes", "operation", "keys", "durable", "commit", "position"])
        self.assertEqual(text[1].split(), [str(PAGES), "2-3", "insert", "2", "1", "yes"])
        self.assertRegex(text[3], r"^\d+ +end: 2 records, 3 changes$")
        os.symlink("f.mk", self.dir / "link.mk")
        self.assertEqual(self.records("link.mk"), rows)
        self.out("recover", "link.mk")
        stdout, stderr = self.run_mankai("journal", "f.mk")
        self.assertEqual((stdout, stderr), (b"", b"mankai: f.mk: has no journal: everything is in the file\n"))
        self.error("journal", "none.mk", code=4, says="none.mk")
        self.write("text", b"a line that is longer than the header of a filter\n" * 9)
        self.error("journal", "text", code=3, says="text")

    def test_the_records_of_dedup_end_with_a_commit(self):
        process = self.start("dedup", "--state", "s.mk")
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        read_line(process.stdout)
        for _ in range(1000):
            rows = self.records("s.mk") if (self.dir / "s.mk").exists() else []
            if len(rows) == 3:
                break
            time.sleep(0.01)
        self.assertEqual([(row["operation"], row["commits"]) for row in rows[:2]], [("insert", False), ("none", True)])
        self.assertEqual(json.loads(self.out("info", "--json", "s.mk"))["writer"], process.pid)
        process.kill()

    def test_who_has_it_is_named_and_a_dead_owner_blocks_nobody(self):
        self.run_mankai("create", "f.mk", "--keys", "1000")
        self.run_mankai("create", "g.mk", "--like", "f.mk")
        process = self.start("add", "f.mk", "--ack")
        process.stdin.write(b"a\n")
        process.stdin.flush()
        read_line(process.stdout)
        for command in (["add", "f.mk", "x"], ["recover", "f.mk"], ["clear", "f.mk"], ["merge", "f.mk", "g.mk"],
                        ["create", "f.mk", "--keys", "9", "--force"], ["dedup", "--state", "f.mk"],
                        ["hot", "--state", "f.mk"], ["remove", "f.mk", "a"]):
            self.error(*command, code=4, says=["f.mk", f"process {process.pid} is changing it"])
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info["writer"], info["is_open"], info["sequence"], info["changes_replayed"]),
                         (process.pid, True, 1, 1))
        self.assertRegex(self.out("info", "f.mk").decode(), f"\nopen +by process {process.pid}\n")
        self.assertIn(b"f.mk: ok", self.out("verify", "f.mk"))
        self.assertEqual(self.out("check", "f.mk", "a"), b"yes\ta\n")
        process.kill()
        process.wait(20)
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info.get("writer"), info["is_open"], info["sequence"]), (None, True, 1))
        self.run_mankai("add", "f.mk", "b")
        self.assertEqual(self.out("check", "f.mk", "--absent", "a", "b"), b"")

    def test_force_replaces_a_store_and_its_journal(self):
        self.killed([b"a"])
        self.error("create", "f.mk", "--keys", "10", code=2, says=["f.mk", "--force"])
        self.run_mankai("create", "f.mk", "--keys", "10", "--force")
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["f.mk"])
        self.assertEqual(self.out("check", "f.mk", "a", "first"), b"no\ta\nno\tfirst\n")

    def test_a_journal_without_its_file_is_nobodys(self):
        self.killed([b"a"])
        (self.dir / "f.mk").rename(self.dir / "aside.mk")
        for command in (["create", "f.mk", "--keys", "10"], ["dedup", "--state", "f.mk"], ["hot", "--state", "f.mk"]):
            self.error(*command, code=2, says=["f.mk-journal"])
            self.assertFalse((self.dir / "f.mk").exists())
        self.error("add", "f.mk", "x", code=4, says="f.mk")
        self.assertEqual(len(self.records("f.mk-journal")), 2)
        # The file alone says that its journal is missing, and another file that it has nothing to do with it.
        self.error("check", "aside.mk", "a", code=3, says="aside.mk-journal")
        self.error("recover", "aside.mk", code=3, says="aside.mk-journal")
        self.error("journal", "aside.mk", code=3, says="aside.mk-journal")
        self.run_mankai("create", "other.mk", "--keys", "10k", "--seed", "1")
        self.run_mankai("add", "other.mk", "x")
        (self.dir / "other.mk").rename(self.dir / "f.mk")
        self.error("check", "f.mk", "a", code=3, says="f.mk-journal")
        (self.dir / "aside.mk").rename(self.dir / "f.mk")
        self.assertEqual(self.out("check", "f.mk", "a", "first"), b"yes\ta\nyes\tfirst\n")
        (self.dir / "f.mk").unlink()
        self.run_mankai("create", "f.mk", "--keys", "10", "--force")
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["f.mk"])

    def test_both_files_are_a_backup(self):
        self.killed([b"a"], [b"b"])
        for name in ("f.mk", "f.mk-journal"):
            self.write("backup" + name[1:], self.read(name))
        self.run_mankai("add", "f.mk", "c")
        self.assertEqual(self.out("check", "backup.mk", "a", "b", "c"), b"yes\ta\nyes\tb\nno\tc\n")
        self.run_mankai("recover", "backup.mk")
        self.assertEqual(self.out("check", "backup.mk", "a", "b", "c"), b"yes\ta\nyes\tb\nno\tc\n")

    def test_verify_says_what_it_looked_at(self):
        self.killed([b"a", b"b"])
        text = self.out("verify", "f.mk").decode()
        self.assertRegex(text, r"^f.mk: ok, blocked-bloom of [^\n]+, change 3; its journal has 1 record of 64 bytes\n$")
        row = json.loads(self.out("verify", "--json", "f.mk"))[0]
        self.assertEqual((row["ok"], row["kind"], row["sequence"], row["journal_records"], row["changes_replayed"],
                          row["is_open"], row["damaged_superblocks"], row["damaged_footers"]),
                         (True, "blocked-bloom", 3, 1, 2, True, 0, 0))
        image = json.loads(self.out("info", "--json", "f.mk"))["bytes"]
        self.flip("f.mk", -(-image // 4096) * 4096 + 100)
        self.assertIn("one of the two copies of the footer is corrupt", self.out("verify", "f.mk").decode())
        self.assertEqual(json.loads(self.out("verify", "--json", "f.mk"))[0]["damaged_footers"], 1)
        self.flip("f.mk-journal", 2048)  # the copy of the superblock that counts
        self.assertIn("1 copy of the journal's superblock is corrupt", self.out("verify", "f.mk").decode())
        self.flip("f.mk-journal", 4096)
        self.error("verify", "f.mk", code=3, says="f.mk-journal")
        self.run_mankai("create", "f.mk", "--keys", "10k", "--seed", "1", "--force")
        image = json.loads(self.out("info", "--json", "f.mk"))["bytes"]
        self.flip("f.mk", image)
        self.out("check", "f.mk", "a")
        self.error("verify", "f.mk", code=3, says=["f.mk", f"offset {image}"])


class FullDisks(CommandTest):
    def add_until_full(self, folder, **options):
        """Adds until there is no room, and returns the keys that were acknowledged."""
        process = self.start("add", str(folder / "f.mk"), "--ack", "--durability", "always", **options)
        keys = [b"https://example.org/%d" % i for i in range(400000)]

        def feed():
            try:
                process.stdin.write(lines(keys))
                process.stdin.close()
            except BrokenPipeError:
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        acknowledged = whole_lines(process.stdout.read())
        feeder.join(60)
        error = process.stderr.read().decode()
        self.assertEqual(process.wait(60), 4, error)
        self.assertRegex(error, r"\Amankai: [^\n]+\n\Z")
        self.assertIn("f.mk", error)
        self.assertEqual(acknowledged, keys[:len(acknowledged)])
        self.assertLess(len(acknowledged), len(keys))
        in_it = int(re.search(r"the first (\d+) keys are in", error).group(1))
        self.assertEqual(in_it, len(acknowledged))
        return acknowledged

    def check_all(self, path, acknowledged):
        self.assertGreater(len(acknowledged), 1000)
        self.assertEqual(self.out("check", path, "--absent", stdin=lines(acknowledged)), b"")
        report = json.loads(self.out("recover", "--json", path))
        self.assertEqual(report["sequence"], len(acknowledged))
        self.assertEqual(self.out("check", path, "--absent", stdin=lines(acknowledged)), b"")
        self.run_mankai("add", path, "one more")

    def test_a_limit_on_the_size_of_files(self):
        self.run_mankai("create", "f.mk", "--keys", "300k", "--fpr", "1e-3")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000))

        self.check_all("f.mk", self.add_until_full(self.dir, preexec_fn=limit))

    def test_a_full_disk(self):
        disk = self.dir / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "mankai-test", disk], capture_output=True,
                                 check=False)
        if mounted.returncode != 0:
            self.skipTest(f"SKIPPED: no file system can be mounted here: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        path = str(disk / "f.mk")
        self.run_mankai("create", path, "--keys", "300k", "--fpr", "1e-3")
        acknowledged = self.add_until_full(disk)
        # Readers need no room, and neither do those who find that there is none.
        self.assertEqual(self.out("check", path, "--absent", stdin=lines(acknowledged)), b"")
        known = json.loads(self.out("info", "--json", path))["sequence"]
        self.assertEqual(known, len(acknowledged))
        # The journal has room for one, the file to be written at the end has none.
        self.error("add", path, stdin=b"late\n", code=4, says=("No space left on device", "the first key is in", "(with its journal): do not repeat it"))
        acknowledged.append(b"late")
        # Where the acknowledgments cannot be written either, only what was read is in it.
        with open("/dev/full", "wb") as full:
            process = subprocess.Popen([MANKAI, "add", path, "--ack", "--durability", "always"], stdin=subprocess.PIPE,
                                       stdout=full, stderr=subprocess.PIPE)
            process.stdin.write(b"later\n")
            process.stdin.flush()
            self.assertEqual(process.wait(60), 4)
            self.assertIn(b"; the first key is in " + path.encode() + b" (with its journal): do not repeat it\n",
                          process.stderr.read())
            process.stdin.close()
            process.stderr.close()
        acknowledged.append(b"later")
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        self.check_all(path, acknowledged)


if __name__ == "__main__":
    main()
