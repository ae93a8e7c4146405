"""Every file that the command writes: who may read it, and that `mankai verify` knows it and sees its damage."""
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import unittest

from harness import CommandTest, main

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


class FileModes(CommandTest):
    """Files hold the key of the hash, so a new one is its owner's alone unless --mode says otherwise."""

    def mode(self, name):
        return stat.S_IMODE((self.dir / name).stat().st_mode)

    def expect_modes(self, expected, *names):
        self.assertEqual({name: oct(self.mode(name)) for name in names}, {name: oct(expected) for name in names})

    def make_gate(self, *options):
        database = sqlite3.connect(self.dir / "shop.db")
        database.execute("CREATE TABLE IF NOT EXISTS baskets (cookie TEXT PRIMARY KEY)")
        database.commit()
        database.close()
        self.run_mankai("gate", "build", "gate.mk", "--from", "sqlite:shop.db", "--table", "baskets", "--key", "cookie",
                        "--install-triggers", *options)

    def make_all(self, *options):
        """Returns the names of the files."""
        self.write("list.txt", b"bad.example\n")
        self.run_mankai("create", "f.mk", "--keys", "1k", *options)
        self.run_mankai("guard", "build", "g.mkg", "list.txt", *options)
        self.run_mankai("dedup", "--state", "seen.mk", *options, stdin=b"a\n")
        self.run_mankai("dedup", "--confirm", "log", *options, stdin=b"a\n")
        self.run_mankai("hot", "--state", "hot.mk", *options, stdin=b'1.2.3.4 - - [01/Jan/2024:00:00:00 +0000] "GET / '
                        b'HTTP/1.1" 200 1\n')
        self.make_gate(*options)
        return "f.mk", "g.mkg", "seen.mk", "log", "hot.mk", "gate.mk", "gate.mk-source"

    def test_new_files_are_their_owners_alone(self):
        for mask in (0o022, 0o077, 0):
            with self.subTest(mask=oct(mask)):
                shutil.rmtree(self.dir)
                self.dir.mkdir()
                before = os.umask(mask)
                try:
                    names = self.make_all()
                finally:
                    os.umask(before)
                self.expect_modes(0o600, *names)

    def test_a_mode_that_is_asked_for_is_given_whatever_the_umask(self):
        before = os.umask(0o077)
        try:
            names = self.make_all("--mode", "0640")
        finally:
            os.umask(before)
        self.expect_modes(0o640, *names)

    def test_files_that_are_replaced_keep_their_mode(self):
        names = self.make_all("--mode", "0640")
        self.run_mankai("add", "f.mk", "a", "b")
        self.expect_modes(0o640, *names)
        self.run_mankai("create", "f.mk", "--keys", "1k", "--force")
        self.run_mankai("guard", "build", "--force", "g.mkg", "list.txt")
        self.run_mankai("guard", "add", "g.mkg", "worse.example")
        self.run_mankai("dedup", "--state", "seen.mk", stdin=b"b\n")
        self.run_mankai("dedup", "--confirm", "log", stdin=b"b\n")
        self.make_gate("--force")
        self.expect_modes(0o640, *names)
        self.run_mankai("create", "f.mk", "--keys", "1k", "--force", "--mode", "600")
        self.expect_modes(0o600, "f.mk")

    def test_a_journal_has_the_mode_of_its_file(self):
        self.run_mankai("create", "f.mk", "--keys", "1k", "--mode", "0640")
        process = self.start("add", "f.mk", "--ack", "--durability", "always")
        process.stdin.write(b"a\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"a\n")
        self.expect_modes(0o640, "f.mk", "f.mk-journal")
        process.kill()
        process.wait(20)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_others_may_read_what_they_are_let_read(self):
        os.chmod(self.dir, 0o755)
        self.run_mankai("create", "f.mk", "--keys", "1k")
        somebody = {"user": 65534, "group": 65534, "extra_groups": []}
        self.error("info", "f.mk", code=4, says="f.mk", **somebody)
        self.run_mankai("create", "f.mk", "--keys", "1k", "--force", "--mode", "0640")
        os.chown(self.dir / "f.mk", 0, 65534)
        self.out("info", "f.mk", **somebody)
        self.run_mankai("add", "f.mk", "a")
        self.assertEqual((self.dir / "f.mk").stat().st_gid, 65534)
        self.out("info", "f.mk", **somebody)

    def test_a_mode_is_permissions_in_octal(self):
        for wrong in ("rw", "0648", "1640", "0400", ""):
            self.error("create", "f.mk", "--keys", "1k", "--mode", wrong, code=2, says="0640")


class Verify(CommandTest):
    """What is written is known, and what is damaged is refused."""

    def make_all(self):
        self.run_mankai("create", "f.mk", "--keys", "1k")
        self.run_mankai("add", "f.mk", "a", "b")
        for suffix in ("", "-journal"):
            shutil.copy(GOLDEN / f"store_counting.mk{suffix}", self.dir / f"open.mk{suffix}")
        self.write("list.txt", b"".join(b"bad%d.example\n" % i for i in range(500)))
        self.run_mankai("guard", "build", "g.mkg", "list.txt")
        lines = b"".join(b"line %d\n" % i for i in range(270_000))
        self.run_mankai("dedup", "--confirm", "log", stdin=lines)
        self.write("gate.mk-counts", b"mankai gate counts 1\nasked 5\nempty 3\nmaybe 2\nmemo_hits 0\nwaiting 0\n"
                   b"false_positives 0\nlate_reports 0\n")
        self.write("gate.mk-source", b"mankai gate source 1\nsource sqlite:shop.db\ntable baskets\nkey cookie\nwhere \n"
                   b"installed mankai_1\n")
        return {"f.mk": "filter", "open.mk": "filter", "open.mk-journal": "journal",
                "g.mkg": "guard", "log": "digest_log", "log-run-1": "digest_run", "gate.mk-counts": "gate_counts",
                "gate.mk-source": "gate_source"}

    def test_every_file_is_known(self):
        kinds = self.make_all()
        rows = json.loads(self.out("verify", "--json", *kinds))
        self.assertEqual({row["file"]: row["file_kind"] for row in rows if row["ok"]}, kinds)
        text = self.out("verify", "log", "log-run-1", "g.mkg", "open.mk-journal").decode()
        self.assertRegex(text, r"log: ok, a log of digests with 270,?000 digests")
        self.assertIn("log-run-1: ok, a run of a log of digests", text)
        self.assertRegex(text, r"g.mkg: ok, a guard of 500 rules")
        for name, kind in kinds.items():
            if kind != "filter":
                self.error("info", name, code=2, says=[name, "describes it"])

    def test_another_file_given_as_a_filter_is_named_with_its_commands(self):
        self.make_all()
        for command in (["check"], ["count"], ["recall"], ["add"], ["remove"], ["recover"], ["clear"], ["merge", "f.mk"],
                        ["gate", "status"], ["dedup", "--state"], ["hot", "--state"]):
            keys = ["KEY"] if command[0] in ("check", "count", "recall", "add", "remove") else []
            with self.subTest(command=command):
                self.error(*command, "g.mkg", *keys, code=2, says=["g.mkg: is a guard", "`mankai guard check`"], stdin=b"")
        self.error("check", "log", "KEY", code=2, says=["log: is a log of digests", "`mankai dedup --confirm`"])
        self.write("text", b"no file of Mankai")
        self.error("check", "text", "KEY", code=3, says="text")
        self.assertIn("`mankai guard check`", self.out("verify", "g.mkg").decode())

    def test_damage_is_refused_wherever_it_is(self):
        self.make_all()
        image = json.loads(self.out("info", "--json", "f.mk"))["bytes"]
        for name, most in (("f.mk", image), ("g.mkg", None), ("log", None), ("log-run-1", None)):
            whole = self.read(name)
            most = most or len(whole)
            for part in range(24):
                begin = most * part // 24
                end = max(begin + 1, min(most, begin + 16))
                damaged = bytes(byte ^ 0x5a for byte in whole[begin:end])
                self.write(name, whole[:begin] + damaged + whole[end:])
                with self.subTest(file=name, begin=begin):
                    self.error("verify", name, code=3, says=name)
                    if name == "log-run-1":
                        self.error("verify", "log", code=3, says=name)
            self.write(name, whole[:-1])
            self.error("verify", name, code=3, says=name)
            self.write(name, whole)
        self.write("gate.mk-counts", b"mankai gate counts 1\nasked five\n")
        self.error("verify", "gate.mk-counts", code=3, says="gate.mk-counts")
        self.write("gate.mk-source", b"mankai gate source 1\nsauce sqlite:shop.db\n")
        self.error("verify", "gate.mk-source", code=3, says="gate.mk-source")
        os.remove(self.dir / "log-run-1")
        self.error("verify", "log", code=4, says="log-run-1")

    def test_verifying_changes_nothing(self):
        names = self.make_all()
        log = self.read("log")
        self.write("log", log + b"torn")
        before = {name: self.read(name) for name in names}
        self.assertIn("4 bytes at its end", self.out("verify", *names).decode())
        self.assertEqual({name: self.read(name) for name in names}, before)


if __name__ == "__main__":
    main()
