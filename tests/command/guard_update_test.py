#!/usr/bin/env python3
"""mankai guard update, on the built command: lists fetched, checked and compiled, and what fails on the way."""
import gzip
import hashlib
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import time

from harness import MANKAI, PATIENCE, SHARED, CommandTest, main

OK, SOME_REFUSED, USAGE, BAD_DATA, INPUT_OUTPUT = 0, 1, 2, 3, 4  # docs/cli.md
UNITS = pathlib.Path(__file__).parents[2] / "packaging/systemd"


def rules(count, name="list"):
    return "".join(f"h{number}.{name}.example\n" for number in range(count))


class Update(CommandTest):
    def put(self, name, text):
        (self.dir / name).write_bytes(text.encode() if isinstance(text, str) else text)

    def sources(self, *lists, head="exact = true\n"):
        """`lists`: the lines of each table."""
        self.put("sources.toml", head + "".join(f"[[list]]\n{each}\n" for each in lists))

    def one_list(self, text=rules(10), more=""):
        self.put("a.txt", text)
        self.sources(f'name = "a"\npath = "a.txt"\n{more}')

    def update(self, *options, code=OK, **how):
        """The report, and standard error."""
        out, error = self.run_mankai("guard", "update", "b.mkg", "--from", "sources.toml", "--json", *options, code=code, **how)
        return json.loads(out) if out else None, error.decode()

    def states(self, *options, code=OK):
        report, error = self.update(*options, code=code)
        self.assertEqual(error == "", code == OK, error)
        return {each["list"]: each["state"] for each in report["lists"]}

    def sha256(self, name="a"):
        return hashlib.sha256(self.read(f"b.mkg.lists/{name}.fetched")).hexdigest()

    def blocked(self, *urls):
        lines = self.out("guard", "check", "b.mkg", "--", *urls).decode().splitlines()
        return [line.split("\t")[0] == "blocked" for line in lines]

    def assert_clean(self):
        self.assert_no_temporaries()
        left = [path.name for path in (self.dir / "b.mkg.lists").iterdir()]
        self.assertEqual([name for name in left if "tmp" in name or "next" in name or "checkpoint" in name], [])


class Lists(Update):
    def test_files_and_commands_become_one_guard(self):
        self.put("hosts", "0.0.0.0 ads.example\n127.0.0.1 localhost\n")
        self.put("packed", gzip.compress(b"packed.example\n"))
        self.put("own.txt", "good.printed.example\n")
        self.put("table.csv", "id,host\n1,column.example\n")
        self.sources('name = "hosts"\npath = "hosts"', 'name = "packed"\npath = "packed"',
                     'name = "printed"\ncommand = ["printf", "%s\\\\n", "printed.example", "$HOME `x`"]\nallow_skipped = 0.5',
                     'name = "table"\npath = "table.csv"\nformat = "csv"\ncolumn = "host"',
                     f'name = "own"\npath = "{self.dir}/own.txt"\naction = "allow"')
        report, error = self.update()
        self.assertEqual((error, report["updated"], report["rules"], report["exceptions"]), ("", True, 4, 1))
        self.assertEqual([(each["list"], each["state"], each["rules"]) for each in report["lists"]],
                         [(name, "updated", 1) for name in ("hosts", "packed", "printed", "table", "own")])
        self.assertEqual(self.blocked("a.ads.example", "packed.example", "printed.example", "column.example", "good.printed.example",
                                      "other.example"), [True, True, True, True, False, False])
        self.assert_clean()

    def test_paths_and_commands_are_relative_to_the_sources(self):
        (self.dir / "etc").mkdir()
        self.put("etc/a.txt", "a.example\n")
        self.put("etc/sources.toml", 'exact = true\n[[list]]\nname = "a"\npath = "a.txt"\n[[list]]\nname = "b"\n'
                                     'command = ["sed", "s/a/b/", "a.txt"]\n')
        self.run_mankai("guard", "update", "b.mkg", "--from", "etc/sources.toml")
        self.assertEqual(self.blocked("a.example", "b.example"), [True, True])

    def test_nothing_is_built_if_nothing_changed(self):
        self.one_list()
        self.assertTrue(self.update()[0]["updated"])
        before = (self.dir / "b.mkg").stat()
        report, error = self.update()
        self.assertEqual((error, report["updated"], report["rules"], report["lists"]),
                         ("", False, 10, [{"list": "a", "state": "unchanged"}]))
        self.assertEqual((self.dir / "b.mkg").stat(), before)
        self.put("a.txt", rules(11))
        report, _ = self.update()
        self.assertEqual(report["lists"], [{"list": "a", "state": "updated", "rules": 11, "rules_before": 10}])
        self.assert_clean()

    def test_another_setting_is_a_change(self):
        self.one_list()
        self.update()
        for head in ("exact = true\nfpr = 0.001\n", "fpr = 0.001\n"):
            self.sources('name = "a"\npath = "a.txt"', head=head)
            self.assertTrue(self.update()[0]["updated"])
            facts = json.loads(self.out("guard", "info", "--json", "b.mkg"))
            self.assertEqual((facts["fpr"], facts["exact"]), (0.001, head.startswith("exact")))
        self.sources('name = "a"\npath = "a.txt"\naction = "allow"')
        report, _ = self.update()
        self.assertEqual((report["updated"], report["rules"], report["exceptions"]), (True, 0, 10))

    def test_a_list_that_is_no_longer_named_is_left_out(self):
        self.put("a.txt", "a.example\n")
        self.put("b.txt", "b.example\n")
        self.sources('name = "a"\npath = "a.txt"', 'name = "b"\npath = "b.txt"')
        self.update()
        self.sources('name = "b"\npath = "b.txt"')
        self.update()
        self.assertEqual(self.blocked("a.example", "b.example"), [False, True])

    def test_text_and_quiet(self):
        self.one_list()
        command = ("guard", "update", "b.mkg", "--from", "sources.toml")
        self.assertEqual(self.out(*command), b"a: updated, 10 rules\nb.mkg: updated, 10 rules, 0 exceptions\n")
        self.assertEqual(self.out(*command), b"a: unchanged\nb.mkg: unchanged, 10 rules, 0 exceptions\n")
        self.put("a.txt", rules(9))
        self.assertEqual(self.out(*command), b"a: updated, 9 rules, 10 before\nb.mkg: updated, 9 rules, 0 exceptions\n")
        self.assertEqual(self.run_mankai(*command, "--quiet"), (b"", b""))

    def test_the_mode_of_the_file(self):
        self.one_list()
        self.update("--mode", "0644")
        self.assertEqual((self.dir / "b.mkg").stat().st_mode & 0o777, 0o644)
        self.put("a.txt", rules(11))
        self.update()
        self.assertEqual((self.dir / "b.mkg").stat().st_mode & 0o777, 0o644)
        self.assertEqual((self.dir / "b.mkg.lists").stat().st_mode & 0o777, 0o700)

    def test_progress_is_for_terminals(self):
        self.one_list()
        terminal, inner = pty.openpty()
        with subprocess.Popen([MANKAI, "guard", "update", "b.mkg", "--from", "sources.toml", "--quiet"], cwd=self.dir, stdout=inner,
                              stderr=inner) as process:
            os.close(inner)
            shown = b""
            try:
                while part := os.read(terminal, 4096):
                    shown += part
            except OSError:  # the other end is closed
                pass
            os.close(terminal)
            self.assertEqual(process.wait(PATIENCE), OK)
        self.assertIn(b"fetching a", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)


class Refused(Update):
    def test_a_list_that_lost_half_of_its_rules(self):
        self.one_list(rules(100))
        self.update()
        for left, is_refused in ((51, False), (26, False), (13, True), (1, True)):
            self.put("a.txt", rules(left))
            report, error = self.update(code=SOME_REFUSED if is_refused else OK)
            self.assertEqual(report["lists"][0]["state"], "refused" if is_refused else "updated")
            self.assertEqual(report["updated"], not is_refused)
            if is_refused:
                self.assertRegex(error, rf"\Amankai: a: refused: has {left} rules?, .* fewer than the 26 before; .*; see b\.mkg\.lists/a\.fetched, "
                                        rf"and accept it with --accept a={self.sha256()}; its last accepted version is used\n\Z")
                self.assertEqual((report["rules"], report["lists"][0]["sha256"]), (26, self.sha256()))
                self.assertEqual((self.dir / "b.mkg.lists/a.fetched").read_text(), rules(left))
        self.assertEqual(self.states("--accept", f"a={self.sha256()}"), {"a": "updated"})
        self.assertEqual(self.blocked("h0.list.example", "h1.list.example"), [True, False])
        self.assertFalse((self.dir / "b.mkg.lists/a.fetched").exists())

    def test_the_limit_of_a_loss_can_be_set(self):
        for limit, left, state in ((0.1, 95, "updated"), (0.1, 90, "refused"), (0, 99, "refused"), (0, 100, "updated"), (1, 1, "updated")):
            with self.subTest(limit=limit, left=left):
                shutil.rmtree(self.dir / "b.mkg.lists", ignore_errors=True)
                (self.dir / "b.mkg").unlink(missing_ok=True)
                self.one_list(rules(100))
                self.update()
                self.one_list(rules(left) + "# another\n", f"max_loss = {limit}")
                self.assertEqual(self.states(code=OK if state == "updated" else SOME_REFUSED), {"a": state})

    def test_rules_that_are_replaced_are_not_a_loss(self):
        self.one_list(rules(10, "one"))
        self.update()
        self.one_list(rules(10, "two"), "max_loss = 0")
        self.assertEqual(self.states(), {"a": "updated"})

    def test_what_is_accepted_is_what_was_refused(self):
        self.put("b.txt", rules(10, "b"))
        self.put("a.txt", rules(10))
        self.sources('name = "a"\ncommand = ["cat", "a.txt"]', 'name = "b"\npath = "b.txt"')
        self.update()
        self.put("a.txt", "reviewed.example\n")
        self.update(code=SOME_REFUSED)
        accept = f"a={self.sha256()}"
        # The source has other rules by now, and they are not fetched; other lists are.
        self.put("a.txt", "unseen.example\n")
        self.put("b.txt", rules(11, "b"))
        self.assertEqual(self.states("--accept", accept), {"a": "updated", "b": "updated"})
        self.assertEqual(self.blocked("reviewed.example", "unseen.example", "h10.b.example"), [True, False, True])
        self.assertIn("a.fetched: does not exist", self.update("--accept", accept, code=USAGE)[1])

    def test_a_version_that_was_fetched_since_is_not_accepted(self):
        self.one_list(rules(10))
        self.update()
        self.put("a.txt", "reviewed.example\n")
        self.update(code=SOME_REFUSED)
        accept = f"a={self.sha256()}"
        self.put("a.txt", "unseen.example\n")
        self.update(code=SOME_REFUSED)  # by a timer
        before = self.read("b.mkg")
        report, error = self.update("--accept", accept, code=USAGE)
        self.assertIsNone(report)
        self.assertIn(f"b.mkg.lists/a.fetched: is not the version to accept; review it, then use --accept a={self.sha256()}",
                      error)
        self.assertEqual(self.read("b.mkg"), before)
        for given in ("a", "a=", "a=4bb7..."):
            self.assertIn(f"--accept {given}: has no digest of 64 digits; give a=SHA256", self.update("--accept", given, code=USAGE)[1])

    def test_other_lists_are_updated_beside_a_refused_one(self):
        self.put("a.txt", rules(100, "a"))
        self.put("b.txt", rules(100, "b"))
        self.sources('name = "a"\npath = "a.txt"', 'name = "b"\npath = "b.txt"', 'name = "c"\ncommand = ["cat", "c.txt"]')
        self.put("c.txt", rules(100, "c"))
        self.update()
        self.put("a.txt", "<html>Service Unavailable</html>\n")
        self.put("b.txt", rules(101, "b"))
        (self.dir / "c.txt").unlink()
        self.assertEqual(self.states(code=SOME_REFUSED), {"a": "refused", "b": "updated", "c": "failed"})
        self.assertEqual(self.blocked("h99.a.example", "h100.b.example", "h99.c.example"), [True] * 3)

    def test_a_list_of_which_much_is_skipped(self):
        self.one_list(rules(90))
        self.update()
        self.put("a.txt", rules(90) + "/x\n" * 20)
        report, error = self.update(code=SOME_REFUSED)
        self.assertIn('a: refused: skipped 20 of its 110 rules: 18.2%, at most 10% allowed; by reason: "has no host" 20; see b.mkg.lists/a.fetched', error)
        self.assertIn("skipped", report["lists"][0]["why"])
        self.one_list(rules(90) + "/x\n" * 20, "allow_skipped = 0.2")
        self.assertEqual(self.states(), {"a": "updated"})

    def test_a_list_without_rules(self):
        self.one_list(rules(3))
        self.update()
        self.put("a.txt", "")
        for is_accepted in (False, True):
            report, error = self.update(*(["--accept", f"a={self.sha256()}"] if is_accepted else []), code=SOME_REFUSED)
            self.assertIn("a: refused: contains no rules", error)
            self.assertIn("allow_empty", error)
            self.assertNotIn("sha256", report["lists"][0])
        self.one_list("", "allow_empty = true\nmax_loss = 1")
        self.assertEqual(self.states(), {"a": "updated"})
        self.assertEqual(self.blocked("h0.list.example"), [False])

    def test_a_truncated_archive(self):
        self.one_list(gzip.compress(rules(1000).encode()))
        self.update()
        self.put("a.txt", gzip.compress(rules(1001).encode())[:-20])
        report, error = self.update(code=SOME_REFUSED)
        self.assertIn("a: refused: ", error)
        self.assertEqual(report["rules"], 1000)

    def test_a_list_that_was_never_accepted(self):
        self.put("a.txt", "a.example\n")
        for path, code, text in (("missing.txt", INPUT_OUTPUT, "a list is missing: failed"), ("bad.txt", BAD_DATA, "bad: refused")):
            self.put("bad.txt", "Forbidden\n")
            self.sources('name = "a"\npath = "a.txt"', f'name = "{path[:-4]}"\npath = "{path}"')
            out, error = self.run_mankai("guard", "update", "b.mkg", "--from", "sources.toml", code=code)
            self.assertEqual(out, b"")
            error = error.decode()
            self.assertIn(f"{path[:-4]}: {text.split(': ')[1]}: ", error)
            self.assertIn("it has no accepted version", error)
            self.assertIn(f"b.mkg: was not written: no version of {path[:-4]} has been accepted yet;", error)
            self.assertFalse((self.dir / "b.mkg").exists())
        self.put("bad.txt", "bad.example\n" + "/x\n" * 9)
        report, error = self.update(code=BAD_DATA)
        a, bad = report["lists"]
        self.assertEqual((a, bad["list"], bad["state"], bad["rules"], bad["sha256"]),
                         ({"list": "a", "state": "unchanged"}, "bad", "refused", 1, self.sha256("bad")))
        self.assertIn("skipped", bad["why"])
        self.assertIn(report["why"], error)
        self.assertIn("was not written", report["why"])
        self.assertEqual((report["file"], report["updated"], report["servers"], "rules" in report), ("b.mkg", False, [], False))
        self.assertEqual(self.states("--accept", f"bad={self.sha256('bad')}"), {"a": "unchanged", "bad": "updated"})
        self.assertEqual(self.blocked("a.example", "bad.example"), [True, True])

    def test_a_new_list_that_fails_changes_nothing(self):
        self.one_list()
        self.update()
        before = (self.dir / "b.mkg").read_bytes()
        self.put("a.txt", rules(11))
        self.sources('name = "a"\npath = "a.txt"', 'name = "b"\npath = "b.txt"')
        self.update(code=INPUT_OUTPUT)
        self.assertEqual((self.dir / "b.mkg").read_bytes(), before)
        self.put("b.txt", "b.example\n")
        self.assertEqual(self.states(), {"a": "unchanged", "b": "updated"})
        self.assertEqual(self.blocked("h10.list.example", "b.example"), [True, True])


class Commands(Update):
    def fails(self, command, *texts, more=""):
        self.sources(f'name = "c"\ncommand = {json.dumps(command)}\n{more}')
        _, error = self.update(code=INPUT_OUTPUT)
        first = error.splitlines()[0]
        for text in ("mankai: c: failed: ", *texts):
            self.assertIn(text, first)

    def test_failures(self):
        self.fails(["sh", "-c", "echo a.example; echo first >&2; printf 'no\\033 route\\n\\n' >&2; exit 22"],
                   "sh: ended with code 22: no\\x1b route;")
        self.fails(["false"], "false: ended with code 1;")
        self.fails(["no-such-program-of-ours"], "no-such-program-of-ours: cannot be started: No such file")
        self.fails(["./sources.toml"], "cannot be started: Permission denied")
        self.fails(["sh", "-c", "kill -9 $$"], "sh: was ended by signal 9;")
        self.fails(["sh", "-c", "head -c 1000000 /dev/zero >&2; exit 3"], "sh: ended with code 3: ")

    def test_no_shell_and_no_input(self):
        self.sources('name = "c"\ncommand = ["sh", "-c", "cat; echo h.example"]')
        self.assertEqual(self.states(), {"c": "updated"})
        self.sources('name = "c"\ncommand = ["echo", "h.example", ";", "false", ">x"]\nallow_skipped = 1\nallow_empty = true\nmax_loss = 1')
        self.states()
        self.assertFalse((self.dir / "x").exists())

    def test_passwords_are_not_in_the_environment(self):
        self.sources(f'name = "c"\ncommand = ["sh", "-c", "env > {self.dir}/environment; echo h.example"]')
        given = {"MANKAI_REDIS_PASSWORD": "secret", "MANKAI_REDIS_OLD_PASSWORD": "secret", "LIST_PASSWORD": "of the list", "MANKAI_LIST": "x"}
        self.update(env={**os.environ, **given})
        seen = dict(line.split("=", 1) for line in (self.dir / "environment").read_text().splitlines() if "=" in line)
        self.assertEqual({name: seen.get(name) for name in given},
                         {"MANKAI_REDIS_PASSWORD": None, "MANKAI_REDIS_OLD_PASSWORD": None, "LIST_PASSWORD": "of the list", "MANKAI_LIST": "x"})
        self.assertEqual(seen.get("PATH"), os.environ.get("PATH"))

    def test_a_command_that_does_not_end(self):
        """With its children: they would hold the pipe open."""
        self.fails(["sh", "-c", f"sleep 1000 & echo $! > {self.dir}/new; mv {self.dir}/new {self.dir}/child; wait"], "sh: did not end within 2s",
                   more='timeout = "2s"')
        if (self.dir / "child").exists():  # a busy machine may not have come so far
            self.assert_ended(int((self.dir / "child").read_text()))
        # One that closed its output.
        self.fails(["sh", "-c", "exec >&- 2>&-; sleep 1000"], "did not end within 500ms", more='timeout = "500ms"')

    def test_the_longest_timeout_is_beyond_the_end_of_the_clock(self):
        self.sources('name = "c"\ncommand = ["echo", "h.example"]\ntimeout = "365000d"')
        self.assertEqual(self.states(), {"c": "updated"})

    def test_children_that_stay_are_ended(self):
        self.sources(f'name = "c"\ncommand = ["sh", "-c", "sleep 1000 >&- 2>&- & echo $! > {self.dir}/child; echo h.example"]')
        self.assertEqual(self.states(), {"c": "updated"})
        self.assert_ended(int((self.dir / "child").read_text()))

    def assert_ended(self, process):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                state = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                return
            if state in "ZX":  # nobody may be there to wait for it
                return
            time.sleep(0.01)
        self.fail(f"process {process} still runs")

    def test_too_much_output(self):
        """1 GiB and a byte, of which the disk has holes only."""
        with open(self.dir / "big", "wb") as big:
            big.truncate((1 << 30) + 1)
        self.sources('name = "c"\npath = "big"')
        self.assertIn("mankai: c: failed: big: is larger than 1.0 GiB", self.update(code=INPUT_OUTPUT)[1])

    def test_the_signals_of_children_are_as_usual(self):
        self.sources('name = "c"\ncommand = ["sh", "-c", "yes h.example | head -n 3"]')
        self.assertEqual(self.states(), {"c": "updated"})


class Changes(Update):
    def test_changes_are_kept(self):
        self.one_list("a.example\nb.example\n||zip^\n@@||good.b.example^\nb.example/x\n")
        self.update()
        self.run_mankai("guard", "add", "b.mkg", "own.example", "dev")
        self.run_mankai("guard", "add", "b.mkg", "--id", "7", "a.example", "seven.example")
        self.run_mankai("guard", "remove", "b.mkg", "a.example/none", "b.example/x")
        self.run_mankai("guard", "remove", "b.mkg", "--id", "0", "a.example")
        self.run_mankai("guard", "allow", "b.mkg", "fine.own.example")
        self.run_mankai("guard", "disallow", "b.mkg", "good.b.example")
        for step, text in enumerate(("a.example\nb.example\n@@||good.b.example^\nb.example/x\nnew.example\n",
                                     "a.example\nb.example/x\n@@||good.b.example^\nnewer.example\n")):
            if step == 1:
                self.run_mankai("guard", "compact", "b.mkg")
            self.put("a.txt", text)
            report, error = self.update()
            self.assertEqual((error, report["updated"], report["kept_changes"]), ("", True, 8), step)
            self.assertEqual(self.blocked("own.example", "x.dev", "seven.example", "a.example", "fine.own.example", "x.zip"),
                             [True, True, True, True, False, False])
        self.assertEqual(self.blocked("b.example/x", "new.example", "newer.example"), [False, False, True])
        # The list's own id was removed, so only 7 holds the rule.
        self.run_mankai("guard", "remove", "b.mkg", "--id", "7", "a.example")
        self.assertEqual(self.blocked("a.example"), [False])
        self.assertEqual(self.update()[0]["updated"], False)
        self.assertEqual(self.blocked("a.example", "own.example"), [False, True])

    def test_a_guard_of_another_command_is_not_replaced(self):
        self.one_list()
        self.put("other", "other.example\n")
        self.run_mankai("guard", "build", "--quiet", "b.mkg", "other")
        before = (self.dir / "b.mkg").read_bytes()
        for _ in range(2):
            self.assertIn("b.mkg: was not written by `mankai guard update`", self.update(code=USAGE)[1])
        self.assertEqual((self.dir / "b.mkg").read_bytes(), before)
        self.assertTrue(self.update("--force")[0]["updated"])
        self.assertEqual(self.blocked("other.example", "h0.list.example"), [False, True])
        # Also later, with all that is known about the lists.
        self.run_mankai("guard", "build", "--quiet", "--force", "b.mkg", "other")
        self.put("a.txt", rules(11))
        self.assertIn("b.mkg: was not written by `mankai guard update`", self.update(code=USAGE)[1])
        self.assertEqual(self.blocked("other.example"), [True])
        self.update("--force")

    def test_a_file_that_is_no_guard_is_never_replaced(self):
        self.one_list()
        self.put("b.mkg", "a text of somebody\n" * 10)
        self.update(code=USAGE)
        self.assertIn("is not a guard", self.update("--force", code=USAGE)[1])
        self.assertIn("somebody", (self.dir / "b.mkg").read_text())

    def test_a_corrupt_file_is_an_error_until_force(self):
        self.one_list()
        self.update()
        good = self.read("b.mkg")
        self.put("b.mkg", good[:-1])
        self.assertIn("b.mkg", self.update(code=BAD_DATA)[1])
        self.assertEqual(self.states("--force"), {"a": "unchanged"})
        self.assertEqual(self.blocked("h0.list.example"), [True])

    def test_a_missing_file_is_made_again(self):
        self.one_list()
        self.update()
        (self.dir / "b.mkg").unlink()
        self.assertTrue(self.update()[0]["updated"])
        self.assertEqual(self.blocked("h0.list.example"), [True])


class Interrupted(Update):
    def slow(self):
        """A list whose command waits until the file `go` is there."""
        self.put("a.txt", rules(20))
        self.sources('name = "a"\npath = "a.txt"',
                     'name = "b"\ncommand = ["sh", "-c", "echo h.b.example; touch running; until [ -e go ]; do sleep 0.01; done"]')

    def run_until_it_waits(self):
        process = self.start("guard", "update", "b.mkg", "--from", "sources.toml")
        deadline = time.monotonic() + PATIENCE
        while not (self.dir / "running").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process

    def test_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.slow()
            (self.dir / "running").unlink(missing_ok=True)
            process = self.run_until_it_waits()
            process.send_signal(number)
            self.assertEqual(process.wait(PATIENCE), code)
            self.assertEqual(process.stderr.read(), b"")
            self.assertFalse((self.dir / "b.mkg").exists())
            self.assert_no_temporaries()

    def test_one_run_at_a_time(self):
        self.slow()
        process = self.run_until_it_waits()
        self.error("guard", "update", "b.mkg", "--from", "sources.toml", code=INPUT_OUTPUT, says=["b.mkg.lists/lock", str(process.pid)])
        self.put("go", "")
        self.assertEqual(process.wait(PATIENCE), OK)
        self.assertEqual(self.blocked("h.b.example"), [True])

    def test_killed_while_fetching(self):
        self.one_list()
        self.update()
        before = self.read("b.mkg")
        self.slow()
        process = self.run_until_it_waits()
        process.kill()
        process.wait()
        self.assertEqual(self.read("b.mkg"), before)
        self.put("go", "")
        self.assertEqual(self.states(), {"a": "unchanged", "b": "updated"})
        self.assert_clean()

    def test_killed_anywhere(self):
        """Whenever it ends, the file is whole, and the next run makes of it what an undisturbed one would have made."""
        texts = [rules(3000, "one") + "@@||old.one.example^\n", rules(3000, "one")[:60000] + rules(200, "two")]
        self.one_list(texts[0])
        self.update()
        self.run_mankai("guard", "add", "b.mkg", "own.example")
        start = time.monotonic()
        self.one_list(texts[1])
        self.update()
        took = time.monotonic() - start
        rounds = 24
        for number in range(rounds):
            self.one_list(texts[number % 2] + f"# {number}\n")
            process = self.start("guard", "update", "b.mkg", "--from", "sources.toml")
            time.sleep(took * number / rounds)
            process.kill()
            process.wait()
            self.assertEqual(self.blocked("own.example", "h0.one.example", "none.example"), [True, True, False])
            if number % 3 == 0:
                self.run_mankai("guard", "compact", "b.mkg")
            report, _ = self.update()
            self.assertIn(report["kept_changes"], (0, 1))
            self.assertEqual(self.blocked("own.example", "h0.two.example"), [True, number % 2 == 1])
            facts = json.loads(self.out("guard", "info", "--json", "b.mkg"))
            self.assertEqual((facts["removed_rules"], facts["exceptions"]), (0, 1 - number % 2))
            self.assert_clean()

    def test_killed_between_the_two_names(self):
        """built-next.mkg is there, built.txt is not, and the file may be the new one or the old one."""
        folder = self.dir / "b.mkg.lists"
        self.one_list("a.example\nb.example\n")
        self.update()
        self.run_mankai("guard", "add", "b.mkg", "own.example")
        old = [self.read(name) for name in ("b.mkg", "b.mkg.lists/built.mkg")]
        self.put("a.txt", "b.example\nc.example\nd.example\n")
        self.update()
        new = [self.read(name) for name in ("b.mkg", "b.mkg.lists/built.mkg")]
        for guard in (old[0], new[0]):
            for text, answers in (("b.example\nd.example\ne.example\n", [False, True, False, True, True, True]),
                                  ("a.example\nb.example\n", [True, True, False, False, False, True])):
                self.put("b.mkg", guard)
                (folder / "built.mkg").write_bytes(old[1])
                (folder / "built.txt").unlink()
                (folder / "built-next.mkg").write_bytes(new[1])
                self.put("a.txt", text)
                self.update()
                self.assertEqual(self.blocked(*(f"{name}.example" for name in ("a", "b", "c", "d", "e", "own"))), answers)

    def test_left_overs_of_a_killed_run_are_removed(self):
        self.one_list()
        self.update()
        (self.dir / "b.mkg.lists/a.fetched.tmp-123-0").write_bytes(b"x")
        self.update()
        self.assert_clean()


class Sources(Update):
    def refuses(self, text, *says):
        self.put("sources.toml", text)
        self.error("guard", "update", "b.mkg", "--from", "sources.toml", code=USAGE, says=["sources.toml: ", *says])
        self.assertFalse((self.dir / "b.mkg.lists").exists())

    def test_errors_name_the_line(self):
        good = '[[list]]\nname = "a"\npath = "a.txt"\n'
        for text, *says in (
            ("", "names no lists", "[[list]]"), ("x\n", "line 1"), (good + 'path = "b"\n', "line 4"), ("\n\nfpr = \n", "line 3"),
            (good + "colour = 1\n", "line 4", "'colour'", "name, path, command"), ("lists = 1\n", "line 1", "'lists'"),
            ("fpr = 0\n" + good, "line 1", "'fpr'"), ('fpr = "1%"\n' + good, "line 1", "a number from 0 to 1"),
            ("exact = 1\n" + good, "line 1", "true or false"), (good + "max_loss = 1.5\n", "line 4", "max_loss"),
            (good + 'format = "pdf"\n', "line 4", "pdf", "adblock"), (good + 'action = "log"\n', "line 4", "allow"),
            (good + 'timeout = "soon"\n', "line 4", "timeout"), (good + "timeout = 60\n", "line 4", "timeout"),
            (good + 'command = ["true"]\n', "line 1", "either 'path' or 'command'"), ('[[list]]\nname = "a"\n', "either"),
            ('[[list]]\nname = "a"\ncommand = "curl x"\n', "line 3", "a program and its arguments"),
            ('[[list]]\nname = "a"\ncommand = []\n', "line 3"), ('[[list]]\nname = "a"\ncommand = ["", "x"]\n', "line 3"),
            ('[[list]]\nname = "a"\ncommand = ["x", 1]\n', "line 3"), ('[[list]]\nname = "a"\ncommand = ["x\\u0000y"]\n', "line 3"),
            ('[[list]]\nname = "../a"\npath = "x"\n', "line 1", "'name'"), ('[[list]]\npath = "x"\n', "line 1", "'name'"),
            (good + good, "two lists", "a"), ('list = "x"\n', "line 1", "[[list]]"), ("list = [1]\n", "line 1", "[[list]]"),
            (good + '[[redis]]\nserver = "redis://h"\n', "line 4", "'key'"),
            (good + '[[redis]]\nserver = "http://h"\nkey = "k"\n', "line 5", "redis://"),
            (good + '[[redis]]\nserver = "redis://u:secret@h"\nkey = "k"\n', "line 5", "password"),
        ):
            with self.subTest(text):
                self.refuses(text, *says)
        self.put("sources.toml", b"[[list]]\nname = \"\xff\"\n")
        self.error("guard", "update", "b.mkg", "--from", "sources.toml", code=USAGE, says="line 2")

    def test_arguments(self):
        self.one_list()
        self.error("guard", "update", "b.mkg", code=USAGE, says="--from")
        self.error("guard", "update", "b.mkg", "--from", "none.toml", code=INPUT_OUTPUT, says="none.toml")
        self.error("guard", "update", "b.mkg", "--from", "sources.toml", "--accept", "b", code=USAGE, says=["--accept", "'b'"])
        self.error("guard", "update", "no/b.mkg", "--from", "sources.toml", code=INPUT_OUTPUT, says="no/b.mkg.lists")


class Real(Update):
    def test_public_lists(self):
        folder = SHARED / "data/blocklists"
        names = {"phishing": "blp-phishing-nl.txt.zst", "urlhaus": "urlhaus-online-2025-04-21.csv.zst",
                 "easylist": "easylist-debian.txt.zst", "spam": "matomo-referrer-spammers.txt"}
        if not all((folder / name).exists() for name in names.values()):
            print("SKIPPED: the shared block lists are not here", file=sys.stderr)
            self.skipTest("the shared block lists are not here")
        for name, file in names.items():
            shutil.copyfile(folder / file, self.dir / name)
        self.sources(*(f'name = "{name}"\npath = "{name}"' for name in names))
        report, error = self.update()
        self.assertEqual(error, "")
        counts = {each["list"]: each["rules"] for each in report["lists"]}
        self.assertGreater(min(counts.values()), 1000)
        self.assertGreater(report["rules"], sum(counts.values()) // 2)
        self.assertFalse(self.update()[0]["updated"])
        shutil.copyfile(folder / names["spam"], self.dir / "phishing")
        self.assertEqual(self.states(code=SOME_REFUSED)["phishing"], "refused")


class Units(Update):
    def test_systemd_accepts_them(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze here")
        service = (UNITS / "mankai-guard-update.service.in").read_text().replace("@MANKAI_INSTALLED_BINDIR@/mankai", str(MANKAI))
        service = service.replace("@MANKAI_INSTALLED_SYSCONFDIR@", "/etc")
        self.put("mankai-guard-update.service", service)
        shutil.copyfile(UNITS / "mankai-guard-update.timer", self.dir / "mankai-guard-update.timer")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "./mankai-guard-update.service", "./mankai-guard-update.timer"],
                              cwd=self.dir, capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
