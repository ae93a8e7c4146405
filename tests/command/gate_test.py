"""`mankai gate` over SQLite: built, synced, killed, asked, dropped; and what cannot be done."""
import fcntl
import json
import os
import random
import resource
import signal
import sqlite3
import time
import unittest

import harness

SOURCE = ("--from", "sqlite:shop.db", "--table", "baskets", "--key", "cookie", "--where", "items > 0")


class GateTest(harness.CommandTest):
    def setUp(self):
        super().setUp()
        self.shop = sqlite3.connect(self.dir / "shop.db", isolation_level=None, timeout=30)
        self.addCleanup(self.shop.close)
        self.shop.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                                "CREATE TABLE baskets(cookie TEXT PRIMARY KEY, items INTEGER NOT NULL)")

    def fill(self, *rows):
        self.shop.executemany("INSERT OR REPLACE INTO baskets VALUES (?, ?)", rows)

    def build(self, *more, **options):
        return self.run_mankai("gate", "build", "b.mk", *SOURCE, "--install-triggers", *more, **options)

    def status(self, *more):
        return json.loads(self.out("gate", "status", "--json", "b.mk", *more))

    def held(self):
        return {row[0] for row in self.shop.execute("SELECT cookie FROM baskets WHERE items > 0")}

    def assert_in_step(self, strangers):
        """The gate has each key of the query once and nothing else."""
        held = sorted(self.held())
        answers = self.out("gate", "check", "b.mk", stdin="".join(key + "\n" for key in held).encode()).decode()
        self.assertEqual(answers, "".join(f"maybe\t{key}\n" for key in held))
        status = self.status()
        self.assertEqual(status["keys"], len(held))
        self.assertEqual(status["lag"], 0)
        count = self.out("count", "b.mk", *strangers).decode().split() if strangers else []
        self.assertLess(count[::2].count("1"), max(3, len(strangers) // 10))

    def test_a_gate_follows_its_table(self):
        self.fill(("a", 1), ("b", 0), ("c", 2))
        _, said = self.build()
        self.assertIn(b"2 keys", said)
        self.assertEqual(self.out("gate", "check", "b.mk", "a", "b", "c"), b"maybe\ta\nempty\tb\nmaybe\tc\n")
        self.fill(("b", 5))
        self.shop.execute("DELETE FROM baskets WHERE cookie = 'a'")
        self.assertEqual(self.status()["lag"], 2)
        self.assertEqual(self.out("gate", "check", "b.mk", "b"), b"empty\tb\n")
        position = str(self.status()["position"] + 2)
        self.assertEqual(self.out("gate", "check", "--after", position, "b.mk", "b"), b"maybe\tb\n")
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.assertEqual(self.out("gate", "check", "--after", position, "b.mk", "a", "b", "c"),
                         b"empty\ta\nmaybe\tb\nmaybe\tc\n")
        self.assert_in_step([])

    def test_check_says_it_in_each_way(self):
        self.fill(("a", 1))
        self.build()
        self.assertEqual(self.out("gate", "check", "--json", "b.mk", "a", "x"),
                         b'{"answer":"maybe","key":"a"}\n{"answer":"empty","key":"x"}\n')
        self.run_mankai("gate", "check", "--quiet", "b.mk", "a", "x")
        self.run_mankai("gate", "check", "--quiet", "b.mk", "x", code=1)
        self.error("gate", "check", "--after", "soon", "b.mk", "a", code=2, says="--after")
        self.assertEqual(self.status()["asked"], 0)
        self.run_mankai("gate", "check", "--count", "b.mk", "a", "x", "y")
        self.run_mankai("gate", "check", "--count", "b.mk", "x")
        status = self.status()
        self.assertEqual((status["asked"], status["queries_saved"], status["queries_made"]), (4, 3, 1))

    def test_status_in_text_and_for_prometheus(self):
        self.fill(*((f"k{i}", 1) for i in range(500)))
        self.build("--keys", "1000", "--fpr", "0.02")
        text = self.out("gate", "status", "b.mk").decode()
        for part in ("saturation", "phase", "500 of 1,000", "0 changes", "queries saved", "items > 0", "not running"):
            self.assertIn(part, text)
        metrics = self.out("gate", "status", "--prometheus", "b.mk").decode()
        for line in ("mankai_gate_keys 500", "mankai_gate_phase 8", 'mankai_gate_lag{unit="changes"} 0',
                     "mankai_gate_source_up 1", "mankai_gate_is_syncing 0"):
            self.assertIn(line + "\n", metrics)
        self.error("gate", "status", "--json", "--prometheus", "b.mk", code=2, says="cannot be combined")
        os.rename(self.dir / "shop.db", self.dir / "away.db")
        self.assertIn("shop.db", self.status()["source_error"])
        labels = [line.split("  ")[0] for line in self.out("gate", "status", "b.mk").decode().splitlines()]
        self.assertEqual(len(labels), len(set(labels)), labels)
        self.assertIn("mankai_gate_source_up 0\n", self.out("gate", "status", "--prometheus", "b.mk").decode())
        self.assertNotIn("source_error", self.status("--offline"))

    def test_what_cannot_be_built_leaves_nothing(self):
        self.fill(("a", 1))
        before = list(self.shop.execute("SELECT name FROM sqlite_schema"))
        self.error("gate", "build", "b.mk", *SOURCE, code=2, says="--install-triggers")
        self.error("gate", "build", "b.mk", *SOURCE[:4], code=2, says="--key is missing")
        self.error("gate", "build", "b.mk", *SOURCE[:-1], " ", "--install-triggers", code=2, says="leave it out")
        swap = {"sqlite:shop.db": ("sqlite:none.db", 4, "none.db"), "baskets": ("orders", 2, "orders"),
                "cookie": ("session", 2, "session"), "items > 0": ("items > > 0", 2, "syntax error")}
        for given, (other, code, words) in (*swap.items(), ("items > 0", ("things > 0", 2, "things"))):
            asked = [other if word == given else word for word in SOURCE]
            self.error("gate", "build", "b.mk", *asked, "--install-triggers", code=code, says=words)
        self.error("gate", "build", "b.mk", "--from", "oracle:x", *SOURCE[2:], code=2, says="sqlite:")
        self.write("text.db", b"this is no database, and says so in more than sixteen bytes")
        self.error("gate", "build", "b.mk", "--from", "sqlite:text.db", *SOURCE[2:], "--install-triggers", code=3,
                   says="text.db")
        self.error("gate", "build", "nowhere/b.mk", *SOURCE, "--install-triggers", code=4, says="nowhere")
        self.assertEqual(list(self.shop.execute("SELECT name FROM sqlite_schema")), before)
        self.assertEqual([path.name for path in self.dir.iterdir() if path.name.startswith("b.mk")], [])

    def test_a_gate_is_replaced_and_dropped_with_what_it_installed(self):
        self.fill(("a", 1))
        before = list(self.shop.execute("SELECT name FROM sqlite_schema ORDER BY name"))
        self.build()
        first = self.status()["installed"]
        self.build(code=2)
        self.build("--force")
        names = {row[0] for row in self.shop.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'mankai%'")}
        self.assertTrue(names)
        self.assertFalse([name for name in names if name.startswith(first)])
        self.run_mankai("gate", "drop", "b.mk")
        self.assertEqual(list(self.shop.execute("SELECT name FROM sqlite_schema ORDER BY name")), before)
        self.assertEqual(self.out("gate", "check", "b.mk", "a"), b"maybe\ta\n")
        self.error("gate", "sync", "b.mk", code=4, says="b.mk-source")
        self.error("gate", "drop", "b.mk", code=4, says="b.mk-source")
        self.assertIn("after `mankai gate drop`", self.out("gate", "status", "b.mk").decode())

    def installed(self):
        return {row[0] for row in self.shop.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'mankai%'")}

    def test_what_a_killed_build_has_left_is_taken_out(self):
        # As after a kill before the files were in their places, and between the two.
        self.build()
        first = self.status()["installed"]
        os.rename(self.dir / "b.mk-source", self.dir / "b.mk-leftover")
        self.run_mankai("gate", "drop", "b.mk")
        self.assertEqual(self.installed(), set())
        self.error("gate", "drop", "b.mk", code=4, says="b.mk-source")
        os.remove(self.dir / "b.mk")
        self.build()
        second = self.read("b.mk-source")
        os.remove(self.dir / "b.mk")
        self.run_mankai("gate", "build", "c.mk", *SOURCE, "--install-triggers")
        self.write("b.mk-leftover", second + self.read("c.mk-source"))
        os.remove(self.dir / "c.mk-source")
        self.build()
        third = self.status()["installed"]
        self.assertNotEqual(first, third)
        self.assertEqual({name[:len(third)] for name in self.installed()}, {third})
        self.assertFalse((self.dir / "b.mk-leftover").exists())
        self.write("b.mk-leftover", b"something else\n")
        self.error("gate", "drop", "b.mk", code=3, says="b.mk-leftover")
        self.build("--force", code=3)

    def test_one_builds_at_a_time(self):
        self.build()
        with open(self.dir / "b.mk-leftover", "wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.error("gate", "build", "b.mk", "--force", *SOURCE, "--install-triggers", code=4, says=str(os.getpid()))
            self.error("gate", "drop", "b.mk", code=4, says=str(os.getpid()))
        self.run_mankai("gate", "drop", "b.mk")
        self.assertFalse((self.dir / "b.mk-leftover").exists())

    def test_a_gate_whose_database_is_gone_can_be_dropped(self):
        self.build()
        os.rename(self.dir / "shop.db", self.dir / "away.db")
        self.error("gate", "drop", "b.mk", code=4, says=("shop.db", "--force"))
        self.assertTrue((self.dir / "b.mk-source").exists())
        self.run_mankai("gate", "drop", "--force", "b.mk")
        self.assertEqual([path.name for path in self.dir.iterdir() if path.name.startswith("b.mk")], ["b.mk"])

    def test_a_full_disk(self):
        self.fill(*((f"k{i}", 1) for i in range(3000)))
        self.shop.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = list(self.shop.execute("SELECT name FROM sqlite_schema"))

        def limit(size):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        # At first there is no room in the database's folder, then in that of the gate.
        for size in (4096, 1 << 20):
            self.error("gate", "build", "b.mk", *SOURCE, "--install-triggers", "--keys", "1000000", code=4,
                       preexec_fn=limit(size))
            self.assertEqual(list(self.shop.execute("SELECT name FROM sqlite_schema")), before)
            self.assertEqual([path.name for path in self.dir.iterdir() if path.name.startswith("b.mk")], [])
        self.build()
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.fill(*((f"x{i}", 1) for i in range(3000)))
        position = self.status()["position"]
        self.error("gate", "sync", "--once", "b.mk", code=4, says="b.mk", preexec_fn=limit(4096))
        self.assertLessEqual(position, self.status()["position"])
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.assert_in_step([])

    def test_a_gate_that_is_too_full_says_so(self):
        self.fill(*((f"k{i}", 1) for i in range(100)))
        self.build("--keys", "200")
        self.assertEqual(self.run_mankai("gate", "sync", "--once", "b.mk")[1], b"")
        self.fill(*((f"k{i}", 1) for i in range(3000)))
        self.assertIn(b"too full", self.run_mankai("gate", "sync", "--once", "b.mk")[1])

    def test_settings_of_another_build_are_refused(self):
        self.build()
        self.run_mankai("gate", "build", "c.mk", *SOURCE, "--install-triggers")
        self.write("b.mk-source", self.read("c.mk-source"))
        self.error("gate", "sync", "--once", "b.mk", code=2, says="of different builds")
        self.write("b.mk-source", b"something else\n")
        self.error("gate", "sync", "--once", "b.mk", code=3, says="b.mk-source")

    def test_nothing_but_its_sync_changes_a_gate(self):
        self.fill(("a", 1))
        self.build()
        before = self.read("b.mk")
        self.run_mankai("create", "--like", "b.mk", "other.mk")
        os.symlink("b.mk", self.dir / "link.mk")
        for arguments in (("clear", "b.mk"), ("add", "b.mk", "x"), ("remove", "b.mk", "a"), ("merge", "b.mk", "other.mk"),
                          ("clear", "link.mk"), ("dedup", "--state", "b.mk"), ("create", "--force", "--keys", "10", "b.mk"),
                          ("remove", "b.mk")):
            self.error(*arguments, code=2, says="mankai gate drop")
        self.assertEqual(self.read("b.mk"), before)
        for arguments in (("info", "b.mk"), ("check", "b.mk", "a"), ("count", "b.mk", "a"), ("verify", "b.mk"),
                          ("recover", "b.mk"), ("merge", "other.mk", "b.mk")):
            self.run_mankai(*arguments)
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.assert_in_step([])
        self.run_mankai("gate", "drop", "b.mk")
        self.run_mankai("clear", "b.mk")

    def test_a_gate_is_one_by_whatever_name(self):
        # What says where its keys come from is out of sight, or beside another name of the file.
        self.fill(("a", 1), ("b", 1))
        self.build()
        before = self.read("b.mk")
        self.run_mankai("create", "--like", "b.mk", "other.mk")
        os.link(self.dir / "b.mk", self.dir / "hard.mk")
        os.rename(self.dir / "b.mk-source", self.dir / "elsewhere")
        for arguments in (("clear", "b.mk"), ("clear", "hard.mk"), ("add", "hard.mk", "x"), ("remove", "b.mk", "a"),
                          ("merge", "hard.mk", "other.mk"),
                          ("create", "--force", "--keys", "10", "b.mk")):
            self.error(*arguments, code=2, says="mankai gate drop")
        self.assertEqual(self.read("b.mk"), before)
        # A position that somebody has given is none of a gate's.
        self.run_mankai("create", "--kind", "counting-bloom", "--keys", "100", "own.mk")
        self.run_mankai("add", "--position", "12 access.log", "own.mk", "x")
        self.run_mankai("clear", "own.mk")
        os.rename(self.dir / "elsewhere", self.dir / "b.mk-source")
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.assert_in_step([])

    def test_a_gate_whose_database_nothing_names_is_ended_by_hand(self):
        before = list(self.shop.execute("SELECT name FROM sqlite_schema ORDER BY name"))
        for damage in (b"mankai gate sour", None):
            self.build()
            name = self.status()["installed"]
            os.remove(self.dir / "b.mk-source")
            if damage:
                self.write("b.mk-source", damage)
            self.error("gate", "drop", "b.mk", code=3 if damage else 4, says=(name, "by hand", "--force"))
            _, said = self.build("--force")
            self.assertIn(f"named {name}: docs/gate.md".encode(), said)
            # As docs/gate.md has it.
            self.shop.executescript(f"DROP TRIGGER {name}_insert; DROP TRIGGER {name}_update; "
                                    f"DROP TRIGGER {name}_delete; DROP TABLE {name}_keys; DROP TABLE {name}_changes;")
            self.run_mankai("gate", "drop", "b.mk")
            self.assertEqual(list(self.shop.execute("SELECT name FROM sqlite_schema ORDER BY name")), before)
            self.run_mankai("clear", "b.mk")
            os.remove(self.dir / "b.mk")
        self.build()
        os.remove(self.dir / "b.mk-source")
        self.run_mankai("gate", "drop", "--force", "b.mk")
        self.run_mankai("clear", "b.mk")

    def test_an_older_copy_of_the_database_is_noticed_for_ever(self):
        self.fill(*((f"k{i}", 1) for i in range(20)))
        self.build()
        self.shop.execute(f"VACUUM INTO '{self.dir / 'old.db'}'")
        self.shop.execute("UPDATE baskets SET items = 0 WHERE cookie = 'k1'")
        self.fill(("x1", 1))
        self.run_mankai("gate", "sync", "--once", "b.mk")
        self.shop.close()
        for name in ("shop.db-wal", "shop.db-shm"):
            (self.dir / name).unlink(missing_ok=True)
        os.rename(self.dir / "old.db", self.dir / "shop.db")
        self.shop = sqlite3.connect(self.dir / "shop.db", isolation_level=None, timeout=30)
        self.addCleanup(self.shop.close)
        for key in ("w1", "w2", "w3"):
            self.fill((key, 1))
            self.error("gate", "sync", "--once", "b.mk", code=4, says="another copy of the database")
        self.assertIn("another copy", self.status()["source_error"])
        self.build("--force")
        self.assert_in_step([])

    def test_triggers_that_are_gone_are_an_error(self):
        self.build()
        self.shop.executescript("DROP TABLE baskets; CREATE TABLE baskets(cookie TEXT PRIMARY KEY, items INTEGER)")
        self.error("gate", "sync", "--once", "b.mk", code=4, says="build the gate again")

    def test_a_database_that_is_away_is_waited_for(self):
        self.build()
        self.fill(("a", 1))
        self.shop.close()
        os.rename(self.dir / "shop.db", self.dir / "away.db")
        sync = self.start("gate", "sync", "b.mk")
        self.assertIn(b"trying again", sync.stderr.readline())
        os.rename(self.dir / "away.db", self.dir / "shop.db")
        self.wait_until(lambda: self.out("gate", "check", "b.mk", "a") == b"maybe\ta\n")
        os.rename(self.dir / "shop.db", self.dir / "away.db")
        self.assertIn(b"trying again", sync.stderr.readline())
        os.rename(self.dir / "away.db", self.dir / "shop.db")
        self.shop = sqlite3.connect(self.dir / "shop.db", isolation_level=None, timeout=30)
        self.addCleanup(self.shop.close)
        self.fill(("b", 1))
        self.wait_until(lambda: self.out("gate", "check", "b.mk", "b") == b"maybe\tb\n")
        sync.send_signal(signal.SIGTERM)
        self.assertEqual(sync.wait(harness.PATIENCE), 0)  # the regular end of a service

    def test_a_database_that_is_locked_is_waited_for(self):
        self.fill(("a", 1))
        self.build()
        self.fill(("b", 1))
        self.shop.execute("BEGIN IMMEDIATE")
        sync = self.start("gate", "sync", "b.mk")
        self.wait_until(lambda: self.out("gate", "check", "b.mk", "b") == b"maybe\tb\n")
        self.error("gate", "sync", "--once", "b.mk", code=4, says=str(sync.pid))
        self.error("gate", "drop", "b.mk", code=4, says=str(sync.pid))
        self.assertTrue(self.status()["is_syncing"])
        # What is applied cannot be acknowledged: it is said, and tried again.
        self.assertIn(b"trying again", sync.stderr.readline())
        self.shop.execute("COMMIT")
        self.wait_until(lambda: self.changes() == 1)
        sync.send_signal(signal.SIGINT)
        self.assertEqual(sync.wait(harness.PATIENCE), 130)
        self.assert_in_step([])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_database_that_may_not_be_written(self):
        os.chmod(self.dir / "shop.db", 0o444)
        self.error("gate", "build", "b.mk", *SOURCE, "--install-triggers", code=4)

    def changes(self):
        name = self.status("--offline")["installed"]
        return self.shop.execute(f"SELECT count(*) FROM {name}_changes").fetchone()[0]

    def wait_until(self, is_so):
        deadline = time.monotonic() + harness.PATIENCE
        while not is_so():
            self.assertLess(time.monotonic(), deadline, "it never came")
            time.sleep(0.02)

    def test_a_sync_that_is_killed_at_any_moment_counts_each_change_once(self):
        drawn = random.Random(7)
        self.fill(*((f"k{i}", i % 2) for i in range(0, 400, 3)))
        self.build("--keys", "5000")
        for _ in range(6):
            sync = self.start("gate", "sync", "b.mk")
            until = time.monotonic() + drawn.uniform(0.02, 0.5)
            while time.monotonic() < until:
                key = f"k{drawn.randrange(400)}"
                self.shop.execute(drawn.choice((
                    "INSERT OR REPLACE INTO baskets VALUES (?, abs(random()) % 3)",
                    "DELETE FROM baskets WHERE cookie = ?",
                    "UPDATE baskets SET items = 1 - min(items, 1) WHERE cookie = ?")), (key,))
            sync.kill()
            sync.wait(harness.PATIENCE)
        self.run_mankai("gate", "sync", "--once", "b.mk")
        held = self.held()
        self.assert_in_step([f"k{i}" for i in range(400) if f"k{i}" not in held])
        self.assertEqual(self.changes(), 1)


if __name__ == "__main__":
    harness.main()
