#!/usr/bin/env python3
"""mankai lab, on the built command: the quick run of every source, its files, and what is refused."""
import csv
import html.parser
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import harness
from harness import MANKAI, CommandTest, default_signals, main

KEYS = {"source", "id", "part", "place", "claim", "by", "statement", "definition", "kind", "formula", "expected", "relation",
        "formula_error", "measured", "error", "unit", "tolerance", "tolerance_absolute", "tolerance_reason", "threshold",
        "threshold_reason", "changes_at", "margin_reason", "condition",
        "condition_by", "otherwise", "verdict", "reason", "recorded_verdict", "recorded_basis", "as_recorded", "seed", "seeds", "flips",
        "verdicts", "command"}
harness.PATIENCE = 300  # seconds: every source under a sanitizer on a busy machine
VERDICTS = {"reproduced", "refuted", "depends"}


class Page(html.parser.HTMLParser):
    """Which elements are left open or closed twice, and what would be loaded from elsewhere."""
    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.loads = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.loads += [value for name, value in attrs
                       if name in ("src", "href", "xlink:href") and not (value or "").startswith("#")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Program(CommandTest):
    """The lab is a program of its own, which `mankai` runs."""

    def copy_of_mankai(self):
        """A copy in a folder without mankai-lab."""
        (self.dir / "alone").mkdir()
        return pathlib.Path(shutil.copy(MANKAI, self.dir / "alone"))

    def run_program(self, program, *arguments, path):
        return subprocess.run([program, *arguments], env={"PATH": str(path)}, capture_output=True, check=False,
                              cwd=self.dir)

    def test_mankai_runs_it(self):
        lab = MANKAI.parent / "mankai-lab"
        for arguments in (["gen", "urls", "--count", "10"], ["lab", "--list"], ["gen", "--help"], ["help", "demo"]):
            done = self.run_program(lab, *arguments, path="")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(self.out(*arguments), done.stdout)
        self.assertRegex(self.run_program(lab, "--version", path="").stdout, rb"\Amankai-lab \d+\.\d+\.\d+\n\Z")
        self.assertIn(b"Usage: mankai-lab COMMAND", self.run_program(lab, "--help", path="").stdout)

    def test_it_is_found_on_the_path(self):
        done = self.run_program(self.copy_of_mankai(), "gen", "urls", "--count", "1", path=MANKAI.parent)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(done.stdout)

    def test_mankai_says_that_it_is_not_installed(self):
        mankai = self.copy_of_mankai()
        for arguments in (["demo"], ["lab", "--list"], ["gen", "--help"], ["help", "gen"]):
            done = self.run_program(mankai, *arguments, path=self.dir)
            self.assertEqual((done.returncode, done.stdout), (4, b""))
            self.assertRegex(done.stderr, rb"\Amankai: [^\n]*mankai-lab[^\n]*install[^\n]*\n\Z")
        self.assertEqual(self.run_program(mankai, "--version", path=self.dir).returncode, 0)

    def test_one_that_cannot_be_started(self):
        mankai = self.copy_of_mankai()
        (mankai.parent / "mankai-lab").write_bytes(b"")
        done = self.run_program(mankai, "demo", path=self.dir)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"mankai-lab: cannot be started", done.stderr)


class Demo(CommandTest):
    def test_exact_structures_need_more_memory(self):
        rows = json.loads(self.out("demo", "--events", "1M", "--json"))["questions"]
        self.assertEqual([row["question"] for row in rows], ["seen", "seen-recently", "hot", "guard", "gate"])
        for row in rows:
            self.assertLess(0, row["memory_bytes"], row)
            self.assertLess(row["memory_bytes"] * 3, row["exact_memory_bytes"], row)

    def test_a_part_of_it_is_no_command(self):
        done = subprocess.run([MANKAI.parent / "mankai-lab", "--demo-process", "x"], capture_output=True, check=False)
        self.assertNotEqual(done.returncode, 0)


class Lab(CommandTest):
    def names(self):
        return [line.split("\t")[0] for line in self.out("lab", "--list").decode().splitlines()]

    def test_list_names_every_source(self):
        self.assertLessEqual({"basket-gate", "web-profiling"}, set(self.names()))
        self.assertIn(b"basket-gate/queries-avoided\tsessions\n", self.out("lab", "--list", "basket-gate"))
        self.assertEqual(os.listdir(self.dir), [], "--list writes nothing")

    def test_quick_run_writes_the_report(self):
        stdout, stderr = self.run_mankai("lab", "--quick", "--out", "new/report")
        self.assertEqual(stderr, b"", "progress is for terminals")
        folder = self.dir / "new" / "report"
        claims = json.loads((folder / "claims.json").read_text())
        for claim in claims:
            self.assertEqual(set(claim), KEYS)
            self.assertIn(claim["verdict"], VERDICTS)
            self.assertTrue(claim["as_recorded"], claim["id"])
            self.assertIn(claim["id"].encode(), stdout)
        self.assertEqual({claim["source"] for claim in claims}, set(self.names()))
        self.assertEqual(len({(claim["source"], claim["id"]) for claim in claims}), len(claims), "ids are unique")
        self.assert_page(folder / "index.html", claims)
        self.assert_tables(folder)
        self.assert_no_temporaries()

    def assert_page(self, path, claims):
        text = path.read_text()
        page = Page()
        page.feed(text)
        self.assertEqual((page.open, page.wrong), ([], []), "every element is closed where it should be")
        self.assertEqual([target for target in page.loads if "://" in target], [], "the page loads nothing")
        for claim in claims:
            self.assertIn(f'id="{claim["source"]}-{claim["id"]}"', text)

    def assert_tables(self, folder):
        tables = sorted(folder.glob("*.csv"))
        self.assertTrue(tables)
        for path in tables:
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file, strict=True))
            self.assertGreater(len(rows), 1, path.name)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, path.name)

    def test_one_source_into_an_existing_folder(self):
        (self.dir / "out").mkdir()
        self.write("out/other", b"stays")
        self.write("out/index.html", b"old")
        stdout = self.out("lab", "basket-gate", "--quick", "--out", "out")
        self.assertIn(b"out/index.html", stdout)
        self.assertIn(b"basket-gate", self.read("out/index.html"))
        self.assertEqual(self.read("out/other"), b"stays")
        self.assertEqual({claim["source"] for claim in json.loads(self.read("out/claims.json"))}, {"basket-gate"})

    def test_gnuplot_missing_or_failing_is_a_note_and_changes_no_verdict(self):
        (self.dir / "bin").mkdir()
        environment = {"PATH": str(self.dir / "bin")}
        without = self.claims_of_run("without", environment)
        page = self.read("without/index.html").decode()
        self.assertNotIn("<svg", page)
        self.assertIn("gnuplot is not installed", page)
        self.assertIn("<td", page)
        self.write("bin/gnuplot", b"#!/bin/sh\necho 'no <terminal>' >&2\nexit 1\n").chmod(0o755)
        self.assertEqual(self.claims_of_run("failing", environment), without, "the same run gives the same numbers")
        self.assertIn("no &lt;terminal&gt;", self.read("failing/index.html").decode())

    def claims_of_run(self, out, environment):
        """Every claim that no clock decides."""
        self.run_mankai("lab", "basket-gate", "--quick", "--out", out, env=environment)
        return [claim for claim in json.loads(self.read(out + "/claims.json")) if claim["unit"] != "ns"]

    def test_one_claim(self):
        whole = self.out("claim", "basket-gate/queries-avoided", "--quick").decode()
        self.assertEqual(self.out("claim", "queries-avoided", "--quick").decode(), whole)
        for line in ("basket-gate/queries-avoided", "  verdict     reproduced", "  seed        1", "  part        sessions"):
            self.assertIn(line, whole.splitlines())
        self.assertIn("  seed        5 to 6", self.out("claim", "queries-avoided", "--quick", "--seed", "5", "--seeds",
                                                       "2").decode().splitlines())

    def test_wrong_usage(self):
        self.error("claim", "basket-gate/nothing", "--quick", code=2, says=("'basket-gate/nothing'", "--list"))
        self.error("claim", "querys-avoided", "--quick", code=2, says="did you mean basket-gate/queries-avoided?")
        self.error("claim", "queries-avoided", "--seed", str(2**64 - 1), "--seeds", "2", code=2, says="--seeds")
        self.error("claim", "nobody/queries-avoided", code=2, says=("'nobody'", *self.names()))
        self.error("claim", "queries-avoided", "--seeds", "0", code=2, says="--seeds")
        self.error("lab", "nobody", code=2, says=("'nobody'", *self.names()))
        self.error("lab", "--data", "missing", "--list", code=2, says=("--data", "'missing'"))
        self.error("lab", "--quick=1", code=2, says="takes no value")
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_folder_that_cannot_be_written_is_refused_at_once(self):
        self.write("file", b"x")
        self.error("lab", "--out", "file", code=4, says=("file", "--out"))
        self.error("lab", "--out", "file/below", code=4, says=("file/below", "--out"))
        self.assertEqual(self.read("file"), b"x")

    def test_ctrl_c_leaves_no_torn_file(self):
        process = subprocess.Popen([MANKAI, "lab", "--out", "out"], cwd=self.dir, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=default_signals)
        self.addCleanup(self._end_of, process)
        deadline = time.monotonic() + harness.PATIENCE
        while not (self.dir / "out").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, -signal.SIGINT)
        left = [name for name in os.listdir(self.dir / "out") if not name.startswith(".mankai-lab-")]
        self.assertEqual(left, [], "nothing is written before everything is measured")

    @staticmethod
    def _end_of(process):
        if process.poll() is None:
            process.kill()
        process.communicate()


if __name__ == "__main__":
    main()
