#!/usr/bin/env python3
"""create, add, check, info, plan, merge, clear, verify, gen, demo, help and every error, on the built command."""
import bz2
import fcntl
import gzip
import json
import lzma
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tarfile
import time
import unittest

from harness import MANKAI, PATIENCE, SHARE, CommandTest, default_signals, main, read_line, wait_until_read


class Help(CommandTest):
    COMMANDS = "create add check info plan merge clear verify recover journal dedup gen lab claim demo".split()

    def test_overview_lists_every_command(self):
        text = self.out("--help").decode()
        for command in self.COMMANDS:
            self.assertRegex(text, rf"\n  {command} +\w")
        self.assertEqual(self.out("help"), self.out("-h"))

    def test_exit_codes_are_those_of_the_documentation(self):
        page = pathlib.Path(__file__).parent.parent.parent / "docs" / "cli.md"
        table = page.read_text().split("\n## Exit codes\n")[1].split("\n\n")[0]
        rows = [row.strip("| ").split(" | ") for row in table.replace("`", "").splitlines()[2:]]
        text = self.out("--help").decode().split("\nExit codes:\n")[1]
        self.assertEqual(" ".join(text.split()), " ".join(f"{code} {meaning}" for code, meaning in rows))

    def test_every_command_explains_itself_with_examples(self):
        for command in self.COMMANDS:
            text = self.out(command, "--help").decode()
            self.assertIn(f"Usage: mankai {command}", text)
            self.assertIn("Examples:\n  ", text)
            self.assertEqual(self.out("help", command).decode(), text)
            self.assertLessEqual(max(map(len, text.split("\n"))), 100)

    def test_version(self):
        self.assertRegex(self.out("--version").decode(), r"\Amankai \d+\.\d+\.\d+\n\Z")

    def test_wrong_usage_suggests_what_was_meant(self):
        self.error(code=2, says="--help")
        self.error("dedpu", code=2, says="did you mean dedup?")
        self.error("frobnicate", code=2, says="unknown command frobnicate")
        self.error("--frobnicate", code=2, says="unknown option")
        self.error("create", "f", "--kyes", "3", code=2, says="did you mean --keys?")
        self.error("create", "f", "--keys", code=2, says="--keys needs a value")
        self.error("create", "f", "--keys=", "3", code=2, says="--keys needs a value")
        self.error("create", "f", "--json=", "--keys", "3", code=2, says="--json takes no value")
        self.error("hot", "--match", "--keys=", "none.log", code=4, says="none.log")
        self.error("hot", "--match", "", "log", code=2, says="--match needs a value")
        self.error("hot", "--keys", "-", code=2, says="standard input")
        self.error("create", "f", "--keys", "1", "--keys", "2", code=2, says="--keys was given more than once")
        self.error("create", "f", "g", "--keys", "1", code=2, says="'g'")
        self.error("create", code=2, says="FILE is missing")
        self.error("info", "", code=2, says="FILE")
        self.error("merge", "only-target", code=2, says="SOURCE is missing")
        self.error("info", "f", "--json=1", code=2, says="--json")


class Addresses(CommandTest):
    """An address of a server in place of a file."""

    SAYS = ("must be a file, not an address of a server", "add, check, remove, count, info, dedup --state and hot --state")
    # Each command with an address for each of its files.
    FILES = ("create ADDRESS --keys 9", "create f --like ADDRESS", "recall ADDRESS k", "advance ADDRESS", "merge ADDRESS f",
             "merge f ADDRESS", "clear ADDRESS", "verify ADDRESS", "verify f ADDRESS", "recover ADDRESS", "journal ADDRESS",
             "import dablooms ADDRESS", "import dablooms f -o ADDRESS", "dedup ADDRESS", "dedup --confirm ADDRESS",
             "hot ADDRESS", "hot --keys ADDRESS", "add f --input ADDRESS", "check ADDRESS --input ADDRESS",
             "guard build ADDRESS f", "guard build f ADDRESS", "guard build f g --allow ADDRESS", "guard check ADDRESS u",
             "guard add ADDRESS u", "guard remove ADDRESS u", "guard allow ADDRESS u", "guard disallow ADDRESS u",
             "guard compact ADDRESS", "guard info ADDRESS", "guard serve ADDRESS",
             "gate build ADDRESS", "gate check ADDRESS k", "gate sync ADDRESS", "gate status ADDRESS", "gate drop ADDRESS", "takeover check ADDRESS")

    def test_where_only_files_are_taken_it_is_an_error(self):
        for address in ("redis://bot:secret@127.0.0.1:1/key?shards=2", "rediss://h/secret", "unix:/run/secret?key=k"):
            for line in self.FILES:
                with self.subTest(line, address=address):
                    stdout, stderr = self.run_mankai(*line.replace("ADDRESS", address).split(), code=2)
                    self.assertEqual(stdout, b"")
                    for words in self.SAYS:
                        self.assertIn(words, stderr.decode())
                    self.assertNotIn(b"secret", stderr)
                    self.assertEqual(list(self.dir.iterdir()), [])

    def test_one_too_many_is_not_repeated(self):
        self.error("info", "f", "redis://bot:secret@h/k", code=2, says="an address of a server: too many arguments")

    def test_the_error_names_the_commands_that_take_addresses(self):
        takers = []
        for name in re.findall(r"\n  ([a-z]+) ", self.out("--help").decode()):
            text = " ".join(self.out(name, "--help").decode().split())
            if "Or a filter in a Redis server" in text:
                takers.append(name + (" --state" if "--state" in text else ""))
        self.assertEqual(sorted(takers), sorted(re.split(", | and ", self.SAYS[1])))


class Create(CommandTest):
    def test_makes_a_file_and_prints_nothing_on_stdout(self):
        stdout, stderr = self.run_mankai("create", "f.mk", "--keys", "10k", "--fpr", "0.1%")
        self.assertEqual(stdout, b"")
        self.assertRegex(stderr, rb"\Amankai: f.mk: .*10,000 keys")

    def test_a_link_that_leads_nowhere_is_no_file(self):
        (self.dir / "link.mk").symlink_to("nowhere.mk")
        for force in ((), ("--force",)):
            self.error("create", "link.mk", "--keys", "10", *force, code=4, says="symbolic link")
        self.error("dedup", "--state", "link.mk", code=4, says="symbolic link")
        self.assertEqual([path.name for path in self.dir.iterdir()], ["link.mk"])

    def test_refuses_to_overwrite_without_force(self):
        path = self.new_filter()
        before = path.read_bytes()
        self.error("create", "f.mk", "--keys", "10", code=2, says=["f.mk", "--force"])
        self.assertEqual(path.read_bytes(), before)
        self.run_mankai("create", "f.mk", "--keys", "10", "--force")
        self.assertNotEqual(path.read_bytes(), before)
        self.assert_no_temporaries()

    def test_says_which_argument_is_wrong(self):
        for arguments, says in [
            (["--kind", "quotient"], ["--kind", "quotient", "blocked-bloom"]),
            (["--keys", "many"], ["--keys", "many"]), (["--keys", "0"], "--keys: '0' is too small"), (["--keys", "-3"], "--keys"),
            (["--keys", "1e30"], "--keys"),
            (["--fpr", "1"], ["--fpr", "between 0 and 1"]), (["--fpr", "0"], "--fpr"), (["--fpr", "nan"], "--fpr"),
            (["--hash", "md5"], ["--hash", "nh-siphash"]), (["--seed", "xyz"], "--seed"),
            (["--k", "0", "--kind", "bloom"], "--k"), (["--k", "3"], "kind bloom"),
            (["--addressing", "odd"], "--addressing"),
            (["--spec", "bloom:keys"], ["--spec", "name=value"]), (["--spec", "quotient:keys=3"], "quotient"),
            (["--spec", "bloom:color=red"], "color"), (["--spec", "bloom:keys=1e6,fpr=2"], "rate"),
            (["--spec", "blocked-bloom:keys=9,k=3"], "valid for kind bloom"),
            (["--keys", "200T", "--fpr", "1e-9"], "2^48"),
        ]:
            with self.subTest(arguments=arguments):
                more = [] if "--keys" in arguments else ["--keys", "100"]
                self.error("create", "f.mk", *arguments, *more, code=2, says=says)
                self.assertFalse((self.dir / "f.mk").exists())
        self.error("create", "f.mk", code=2, says="--keys")

    def test_a_filter_that_does_not_fit_into_memory_is_a_clear_error(self):
        self.error("create", "f.mk", "--keys", "20T", code=4, says="memory")
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_spec_and_options_combine(self):
        self.run_mankai("create", "f.mk", "--spec", "bloom:keys=1e4,fpr=1e-3,hash=siphash,addressing=fields", "--k", "5")
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertEqual((info["kind"], info["capacity_keys"], info["hash"], info["phase"], info["addressing"]),
                         ("bloom", 10000, "siphash", 5, "fields"))

    def test_like_makes_filters_that_merge(self):
        for arguments in (["--hash", "siphash"], ["--kind", "bloom", "--k", "3"],
                          ["--kind", "bloom", "--addressing", "fields"]):
            with self.subTest(arguments=arguments):
                self.new_filter("a.mk", "1000", "--force", *arguments)
                self.run_mankai("create", "b.mk", "--like", "a.mk", "--force")
                self.run_mankai("add", "a.mk", "one")
                self.run_mankai("add", "b.mk", "two")
                self.run_mankai("merge", "a.mk", "b.mk")
                self.assertEqual(self.out("check", "a.mk", "one", "two", "three"), b"yes\tone\nyes\ttwo\nno\tthree\n")
        self.error("create", "c.mk", "--like", "a.mk", "--keys", "3", code=2, says="--like")
        self.error("create", "c.mk", "--like", "none.mk", code=4, says="none.mk")

    def test_json_is_what_info_says(self):
        self.assertEqual(json.loads(self.out("create", "f.mk", "--keys", "100", "--json")),
                         json.loads(self.out("info", "f.mk", "--json")))

    def test_into_a_folder_that_is_not_there(self):
        self.error("create", "no/such/f.mk", "--keys", "10", code=4, says="no/such/f.mk")


class AddAndCheck(CommandTest):
    def test_answers_in_input_order(self):
        self.new_filter()
        self.run_mankai("add", "f.mk", "b", "d")
        self.assertEqual(self.out("check", "f.mk", "d", "c", "b", "a"), b"yes\td\nno\tc\nyes\tb\nno\ta\n")
        self.assertEqual(self.out("check", "f.mk", stdin=b"d\nc\nb\na"), b"yes\td\nno\tc\nyes\tb\nno\ta\n")
        self.assertEqual(self.out("check", "f.mk", "--present", stdin=b"d\nc\nb\n"), b"d\nb\n")
        self.assertEqual(self.out("check", "--absent", "f.mk", stdin=b"d\nc\nb\n"), b"c\n")
        many = [b"%d" % i for i in range(5000)]
        lines = self.out("check", "f.mk", stdin=b"\n".join(many)).split(b"\n")
        self.assertEqual([line.split(b"\t")[1] for line in lines[:-1]], many)

    def test_quiet_answers_by_exit_code(self):
        self.new_filter()
        self.run_mankai("add", "f.mk", "a", "b")
        self.assertEqual(self.run_mankai("check", "-q", "f.mk", "a", "b"), (b"", b""))
        self.assertEqual(self.run_mankai("check", "--quiet", "f.mk", "a", "x", "b", code=1), (b"", b""))
        self.run_mankai("check", "-q", "f.mk", stdin=b"")
        self.error("check", "-q", "--present", "f.mk", code=2, says="cannot be combined")

    def test_keys_are_bytes(self):
        keys = [b"[a,b]", b"-x", b"--", b"{}", b"add", b"\xff\xfe", b"two words", b"", b"'", b"/a", b"a=b", b"%s"]
        self.new_filter()
        self.run_mankai("add", "f.mk", "--", *keys)
        self.assertEqual(self.out("check", "f.mk", "--present", "--", *keys), b"\n".join(keys) + b"\n")
        self.assertEqual(self.out("check", "f.mk", stdin=b"[a\nb]\n"), b"no\t[a\nno\tb]\n")
        self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["keys_inserted"], len(keys))
        self.run_mankai("add", "f.mk", stdin=b"nul\0here\ncrlf\r\n" + b"x" * (1 << 20) + b"\n")
        self.assertEqual(self.out("check", "f.mk", "--present", stdin=b"nul\0here\nnul\ncrlf\n" + b"x" * (1 << 20)),
                         b"nul\0here\ncrlf\n" + b"x" * (1 << 20) + b"\n")
        self.error("add", "f.mk", "-x", code=2, says="--")

    def test_inputs_may_be_compressed_and_several(self):
        self.new_filter()
        self.write("a.gz", gzip.compress(b"one\ntwo\n"))
        self.write("b", lzma.compress(b"three\n"))
        self.write("c.txt", subprocess.run(["zstd", "-c"], input=b"four", capture_output=True, check=True).stdout)
        _, summary = self.run_mankai("add", "f.mk", "-i", "a.gz", "--input", "b", "--input=c.txt", "-i", "-", "--json",
                                     stdin=b"five\n")
        self.assertEqual(json.loads(summary), {"keys_read": 5, "keys_new": 5, "keys_inserted": 5, "capacity_keys": 1000})
        self.assertEqual(self.out("check", "f.mk", "-i", "b", "-i", "a.gz"), b"yes\tthree\nyes\tone\nyes\ttwo\n")
        self.error("add", "f.mk", "key", "-i", "b", code=2, says="--input")

    def test_what_follows_compressed_data_is_an_error_and_padding_is_not(self):
        self.new_filter()
        packed = gzip.compress(b"six\n")
        self.write("padded.gz", packed + bytes(512) + gzip.compress(b"seven\n") + bytes(512))
        self.assertEqual(self.out("dedup", "padded.gz"), b"six\nseven\n")
        self.write("d.gz", packed + b"rubbish")
        self.error("add", "f.mk", "-i", "d.gz", code=3, says=[
            f"d.gz: the gzip data ends at compressed byte {len(packed)}, and other bytes follow",
            "; it was read up to line 1; the first key is in f.mk"])
        self.assertEqual(self.out("check", "f.mk", "six"), b"yes\tsix\n")

    def test_an_error_in_one_of_several_inputs_says_what_became_of_all(self):
        lines = {name: b"".join(b"%s%d.example\n" % (name, i) for i in range(20000)) for name in (b"a", b"b", b"c")}
        packed = gzip.compress(lines[b"b"])
        for name, data in (("a", lines[b"a"]), ("b", packed[: len(packed) // 2]), ("c", lines[b"c"]),
                           ("a.log", b"/a\n" * 100), ("c.log", b"/c\n" * 100)):
            self.write(name, data)
        for name, kind in (("f.mk", "blocked-bloom"), ("g.mk", "counting-bloom")):
            self.new_filter(name, "100k", "--kind", kind)
        self.run_mankai("guard", "build", "g.mkg", "a")
        guard = self.read("g.mkg")
        inputs = ["-i", "a", "-i", "b", "-i", "c"]
        not_used = "b: the gzip data is truncated at compressed byte "
        for command, says in (
                (["dedup", "a", "b", "c"], "not used\n"),
                (["dedup", "--threads", "1", "a", "b", "c"], "not used\n"),
                (["dedup", "--state", "s.mk", "a", "b", "c"], "not used; the lines before are in s.mk\n"),
                (["dedup", "--confirm", "s.log", "a", "b", "c"], "not used; the lines before are in s.log\n"),
                (["hot", "--format", "keys", "a.log", "b", "c.log"], "not used\n"),
                (["hot", "--format", "keys", "--state", "h.mk", "a.log", "b", "c.log"], "not used; h.mk is unchanged\n"),
                (["check", "f.mk", *inputs], "not used\n"),
                (["add", "f.mk", "--position", "x", *inputs], "not used; f.mk is unchanged\n"),
                (["add", "f.mk", *inputs], " keys are in f.mk\n"),
                (["remove", "--quiet", "g.mk", *inputs], " keys are removed from g.mk\n"),
                (["guard", "check", "g.mkg", *inputs], "not used\n"),
                (["guard", "add", "g.mkg", *inputs], "not used; g.mkg is unchanged\n"),
                (["guard", "build", "--force", "g.mkg", "a", "b", "c"], "; nothing was written\n")):
            with self.subTest(command=command):
                self.error(*command, code=3, says=[
                    not_used, says, "" if "build" in command else "; inputs after it were not used"])
        self.assertEqual(self.read("g.mkg"), guard)
        printed = self.error("dedup", "--state", "t.mk", "a", "b", "c", code=3)
        self.assertNotIn(b"c1.example", printed)
        self.assertEqual(self.out("check", "--absent", "t.mk", stdin=printed), b"")
        # Keys that are refused are printed before the error, too.
        refused, stderr = self.run_mankai("remove", "g.mk", *inputs, code=3)
        known = int(re.search(rb"the first (\d+) keys are removed from g.mk", stderr).group(1))
        self.assertGreater(known, 20000)
        self.assertEqual(refused.count(b"absent\t"), known)
        # Of the last input nothing is left out, and the system's words come first.
        _, stderr = self.run_mankai("dedup", "a", "c", "b", code=3)
        self.assertNotIn(b"not used", stderr)
        self.error("add", "f.mk", "-i", "none", code=4, says="none: cannot open: No such file or directory; f.mk is unchanged")
        self.write("other.mk", b"no filter")
        self.error("merge", "f.mk", "other.mk", code=3, says=["other.mk", "; f.mk is unchanged\n"])

    def test_formats_that_are_not_read_are_refused(self):
        self.new_filter()
        self.write("one", b"one\n")
        self.write("a", bz2.compress(b"one\n"))
        self.write("b", bz2.compress(b""))
        with tarfile.open(self.dir / "c.tgz", "w:gz") as tar:
            tar.add(self.dir / "one", "one")
        for name in ("a", "b", "c.tgz"):
            for command in (["add", "f.mk", "-i"], ["check", "f.mk", "-i"], ["dedup"], ["hot"], ["guard", "build", "g.mkg"]):
                self.error(*command, name, code=3, says=[name, "tar -xOf FILE" if name == "c.tgz" else "bzip2 -dc FILE"])
        self.write("text", b"BZh91AY is how bzip2 begins\n")
        self.assertEqual(self.out("dedup", "text"), b"BZh91AY is how bzip2 begins\n")

    def test_past_the_capacity_is_a_warning(self):
        self.new_filter("f.mk", "10")
        _, stderr = self.run_mankai("add", "f.mk", *map(str, range(30)))
        self.assertIn(b"warning", stderr)
        self.assertEqual(self.out("check", "f.mk", "--present", *map(str, range(30))).count(b"\n"), 30)
        self.assertTrue(json.loads(self.out("info", "--json", "f.mk"))["over_capacity"])
        self.run_mankai("create", "w.mk", "--spec", "rotating-bloom:keys=3000,window=3h")  # a third for each hour
        at = ["--at", "2026-01-01T00:00:00Z"]
        _, stderr = self.run_mankai("add", "w.mk", *at, stdin=b"".join(b"%d\n" % i for i in range(1050)))
        self.assertEqual(stderr, b"", "the other hours are empty")
        _, stderr = self.run_mankai("add", "w.mk", *at, stdin=b"".join(b"%d\n" % i for i in range(2900)))
        self.assertRegex(stderr.decode(), r"warning: w\.mk: 2,\d\d\d keys within 1h in a filter for 1,000: the false-positive")

    def test_bad_input_ends_the_run_and_says_what_is_in(self):
        before = self.new_filter().read_bytes()
        packed = gzip.compress(b"".join(b"%d\n" % i for i in range(100000)))
        self.write("cut.gz", packed[: len(packed) // 2])
        self.write("long.txt", b"short\n" + b"x" * 5000)
        self.error("add", "f.mk", "-i", "none.txt", code=4, says=["none.txt", "f.mk is unchanged"])
        self.error("add", "f.mk", "-i", ".", code=4, says="directory")
        self.error("add", "f.mk", "-i", "long.txt", "-i", "none.txt", code=4, says="none.txt")
        for bad in (["cut.gz"], ["long.txt", "--max-line", "1000"]):
            self.error("add", "f.mk", "--position", "all of it", "-i", *bad, code=3 if bad == ["cut.gz"] else 4,
                       says="f.mk is unchanged")
        self.assertEqual(self.read("f.mk"), before)
        self.error("add", "f.mk", "-i", "long.txt", "--max-line", "1000", code=4,
                   says=["long.txt", "line 2", "byte 6", "the first key is in f.mk"])
        self.assertEqual(self.out("check", "f.mk", "short"), b"yes\tshort\n")
        self.new_filter("g.mk", "100k")
        _, stderr = self.run_mankai("add", "g.mk", "-i", "cut.gz", code=3)
        known = int(re.search(rb"the first (\d+) keys are in g.mk", stderr).group(1))
        self.assertGreater(known, 1000)
        self.assertEqual(self.out("check", "g.mk", "--absent", stdin=b"".join(b"%d\n" % i for i in range(known))), b"")
        self.assertEqual(json.loads(self.out("info", "--json", "g.mk"))["sequence"], known)
        self.assert_no_temporaries()

    @unittest.skipIf(os.geteuid() == 0, "SKIPPED: root may read and write everything")
    def test_permissions(self):
        path = self.new_filter()
        path.chmod(0)
        self.error("info", "f.mk", code=4, says=["f.mk", "Permission"])

    def test_answers_come_while_the_input_waits(self):
        self.new_filter()
        self.run_mankai("add", "f.mk", "a")
        process = self.start("check", "f.mk")
        for key, answer in [(b"a\n", b"yes\ta\n"), (b"b\nunfinished", b"no\tb\n"), (b" line\n", b"no\tunfinished line\n")]:
            process.stdin.write(key)
            process.stdin.flush()
            self.assertEqual(read_line(process.stdout), answer)

    def test_two_writers_lock_each_other_out(self):
        path = self.new_filter()
        self.run_mankai("create", "g.mk", "--like", "f.mk")
        with open(path, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            for arguments in (["add", "f.mk", "a"], ["clear", "f.mk"], ["merge", "f.mk", "g.mk"],
                              ["dedup", "--state", "f.mk"]):
                self.error(*arguments, code=4, says=["f.mk", f"process {os.getpid()} is changing it"])
            self.assertEqual(self.out("check", "f.mk", "a"), b"no\ta\n")  # readers need no lock
        self.run_mankai("add", "f.mk", "a")

    def test_signals_save_what_was_read(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(signal=number):
                self.new_filter("f.mk", "1000", "--force")
                process = self.start("add", "f.mk", preexec_fn=default_signals)
                process.stdin.write(b"first\nsecond\nunfinish")
                process.stdin.flush()
                wait_until_read(process)
                process.send_signal(number)
                self.assertEqual(process.wait(20), code, process.stderr.read())
                self.assertEqual(self.out("check", "f.mk", "first", "second", "unfinish"),
                                 b"yes\tfirst\nyes\tsecond\nno\tunfinish\n")
                self.assert_no_temporaries()

    def test_fast_opens_what_checked_refuses(self):
        path = self.new_filter("f.mk", "1M")
        data = bytearray(path.read_bytes())
        data[5000] ^= 1
        path.write_bytes(data)
        self.error("check", "f.mk", "a", code=3, says=["f.mk", "offset"])
        self.out("check", "--fast", "f.mk", "a")


class InfoAndPlan(CommandTest):
    def test_info_has_every_field(self):
        for kind in ("bloom", "blocked-bloom"):
            self.new_filter("f.mk", "1000", "--kind", kind, "--seed", "123456789", "--force")
            self.run_mankai("add", "f.mk", *map(str, range(500)))
            text = self.out("info", "f.mk", "--json").decode()
            info = json.loads(text)
            self.assertEqual((info["kind"], info["capacity_keys"], info["hash"], info["format_version"]),
                             (kind, 1000, "nh-siphash", 1))
            self.assertAlmostEqual(info["keys_inserted"], 500, delta=5)
            self.assertAlmostEqual(info["keys_estimate"], 500, delta=50)
            self.assertTrue(0 < info["fpr_estimate"] < 0.01 and 0 < info["fill_ratio"] < 0.5)
            self.assertEqual(info["file_bytes"], (self.dir / "f.mk").stat().st_size)
            self.assertLess(info["bytes"], info["file_bytes"])
            self.assertIn("fpr_formula", info)
            self.assertNotIn("seed", info)
            human = self.out("info", "f.mk").decode()
            self.assertNotIn("123456789", text + human)
            self.assertEqual("saturation" in human and "phase" in human, kind == "bloom")

    def test_plan_compares_kinds(self):
        rows = json.loads(self.out("plan", "--keys", "1M", "--fpr", "1%", "--json"))
        self.assertEqual([(row["kind"], row.get("addressing") or row.get("layout")) for row in rows],
                         [("blocked-bloom", None), ("bloom", "range"), ("bloom", "fields"), ("scalable-bloom", None),
                          ("counting-bloom", "blocked"), ("counting-bloom", "partitioned"),
                          ("scalable-counting-bloom", "blocked"), ("scalable-counting-bloom", "partitioned"),
                          ("rotating-bloom", None), ("fading-fingerprints", None), ("time-decaying-counts", None),
                          *[("cuckoo", None)] * 6])
        self.assertEqual([row["kind"] for row in rows if row["can_grow"] and not row["can_remove"]], ["scalable-bloom", "cuckoo"])
        for row in rows:
            self.assertLessEqual(row["fpr"], 0.01)
        cuckoo = {row["spec"]: row for row in rows if row["kind"] == "cuckoo"}
        self.assertEqual([spec for spec, row in cuckoo.items() if not row["can_remove"]],
                         [spec for spec in cuckoo if "max-ttl" in spec])
        self.assertEqual([spec for spec, row in cuckoo.items() if not row["can_grow"]],
                         [spec for spec in cuckoo if "growth=0" in spec])
        self.assertLess(rows[0]["bits_per_key"], 10.15)
        self.assertEqual(rows[0]["lines_per_key"], 1)
        table = self.out("plan", "--keys", "1M", "--fpr", "1%").decode()
        self.assertEqual(len({len(line) for line in table.rstrip("\n").split("\n")}), 1, "a table has straight edges")
        for row in json.loads(self.out("plan", "--keys", "1M", "--bytes", "2MiB", "--json")):
            self.assertLessEqual(row["bytes"], 2 << 20)
            if row["kind"] == "cuckoo":
                self.run_mankai("create", "f.mk", "--spec", row["spec"], "--force")
                self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["bytes"], row["bytes"], row["spec"])

    def test_plan_is_what_create_makes(self):
        for row in json.loads(self.out("plan", "--keys", "12345", "--fpr", "0.003", "--json")):
            more = [word for name in ("addressing", "layout", "bound") if name in row for word in ("--" + name, row[name])]
            self.run_mankai("create", "f.mk", "--keys", "12345", "--fpr", "0.003", "--kind", row["kind"], "--force", *more)
            if row["kind"] != "cuckoo":  # whose rows differ in numbers
                self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["bytes"], row["bytes"])
            self.run_mankai("create", "f.mk", "--spec", row["spec"], "--force")
            self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["bytes"], row["bytes"])

    def test_plan_refuses_nonsense(self):
        self.error("plan", code=2, says="--keys")
        self.error("plan", "--keys", "10", code=2, says="--bytes")
        self.error("plan", "--keys", "10", "--fpr", "1%", "--bytes", "1M", code=2, says="either")
        self.error("plan", "--keys", "0", "--fpr", "1%", code=2, says="--keys: '0' is too small")
        self.error("plan", "--keys", "10", "--bytes", "3", code=2, says="smallest")
        self.error("plan", "--keys", "10", "--bytes", "3XiB", code=2, says="--bytes")


class MergeClearVerify(CommandTest):
    def test_merge_is_all_or_nothing(self):
        self.new_filter("t.mk")
        self.run_mankai("create", "a.mk", "--like", "t.mk")
        self.run_mankai("add", "a.mk", "x")
        self.new_filter("other.mk")  # another seed
        before = self.read("t.mk")
        self.error("merge", "t.mk", "a.mk", "other.mk", code=2, says="other.mk")
        self.error("merge", "t.mk", "a.mk", "none.mk", code=4, says="none.mk")
        self.assertEqual(self.read("t.mk"), before)
        self.new_filter("kind.mk", "1000", "--kind", "bloom")
        self.error("merge", "t.mk", "kind.mk", code=2, says="kind.mk")
        self.run_mankai("merge", "t.mk", "a.mk", "a.mk")
        self.assertEqual(self.out("check", "t.mk", "x"), b"yes\tx\n")

    def test_clear_forgets_and_keeps_the_shape(self):
        fresh = self.new_filter().read_bytes()
        image = json.loads(self.out("info", "--json", "f.mk"))["bytes"]
        self.run_mankai("add", "f.mk", "x")
        self.assertNotEqual(self.read("f.mk")[:image], fresh[:image])
        self.run_mankai("clear", "f.mk")
        self.assertEqual(self.read("f.mk")[:image], fresh[:image])
        self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["sequence"], 2)

    def test_verify_names_the_damage(self):
        good = self.new_filter("good.mk", "1M").read_bytes()
        image = json.loads(self.out("info", "--json", "good.mk"))["bytes"]
        newer = bytearray(good)
        newer[8] = 99  # the format version stands behind the magic
        cases = {"cut.mk": good[:-100], "short.mk": good[:20], "empty.mk": b"", "magic.mk": b"GIF89a" + good[6:],
                 "cell.mk": good[:70000] + b"\1" + good[70001:], "header.mk": good[:20] + b"\xff" + good[21:],
                 "trailer.mk": good[:image - 1] + bytes([good[image - 1] ^ 1]) + good[image:],
                 "long.mk": good + b"x"}
        for name, data in cases.items():
            with self.subTest(name):
                self.write(name, data)
                for command in (["verify", name], ["info", name], ["check", name, "a"], ["add", name, "a"],
                                ["merge", name, "good.mk"], ["clear", name], ["create", "x.mk", "--like", "cut.mk"],
                                ["dedup", "--state", name]):
                    self.error(*command, code=3, says="offset" if name == "cell.mk" and command[0] != "create" else ".mk")
                self.assertEqual(self.read(name), data, "a damaged file is left as it is")
        self.write("newer.mk", bytes(newer))
        self.error("verify", "newer.mk", code=3, says=["newer.mk", "99"])
        stdout, stderr = self.run_mankai("verify", "good.mk", "cut.mk", "none.mk", "good.mk", code=3)
        self.assertEqual(stdout.count(b"good.mk: ok"), 2)
        self.assertEqual(stderr.count(b"\n"), 2)
        self.error("verify", "good.mk", "none.mk", code=4, says="none.mk")
        report = json.loads(self.out("verify", "good.mk", "cut.mk", "--json", code=3))
        self.assertEqual([(row["file"], row["ok"], row.get("error")) for row in report],
                         [("good.mk", True, None), ("cut.mk", False, "corrupt")])
        self.assert_no_temporaries()

    def test_things_that_are_no_files(self):
        for path in (".", "/dev/null"):
            for command in (["info", path], ["check", path, "a"], ["verify", path], ["add", path, "a"],
                            ["dedup", "--state", path]):
                with self.subTest(command):
                    self.error(*command, code=4, says=self.dir.name if path == "." else path)


class GenAndDemo(CommandTest):
    def test_gen_is_reproducible_and_says_what_it_cannot_do(self):
        a = self.out("gen", "urls", "--count", "1000", "--seed", "7")
        self.assertEqual(a.count(b"\n"), 1000)
        self.assertEqual(self.out("gen", "urls", "--count", "2k", "--seed", "0x7")[: len(a)], a)
        self.assertNotEqual(self.out("gen", "urls", "--count", "1000", "--seed", "8"), a)
        lines = self.out("gen", "urls", "--count", "10000", "--repeat", "50%", "--hosts", "3", "--zipf", "0.5").split()
        self.assertAlmostEqual(len(set(lines)), 5000, delta=300)
        self.assertEqual(len({line.split(b"/")[2] for line in lines}), 3)
        self.assertEqual(self.out("gen", "urls", "--count", "0"), b"")
        self.error("gen", "cats", code=2, says=["cats", "urls"])
        self.error("gen", code=2, says="WHAT")
        for arguments in (["--hosts", "0"], ["--repeat", "1.5"], ["--zipf", "x"], ["--count", "-1"], ["--seed", "-"]):
            self.error("gen", "urls", *arguments, code=2, says=arguments[0].strip("-"))

    def test_gen_log_is_reproducible_in_each_format(self):
        for name in "combined common squid w3c json keys".split():
            log = self.out("gen", "log", "--format", name, "--count", "300", "--seed", "7")
            longer = self.out("gen", "log", "--format", name, "--count", "600", "--seed", "7")
            self.assertEqual(longer[: len(log)], log)
            self.assertEqual(log.count(b"\n"), 304 if name == "w3c" else 300)
            self.assertIn(b"2024" if name != "squid" else b"17040", log)
        lines = self.out("gen", "log", "--start", "2016-03-28T12:00:00Z", "--rate", "1", "--paths", "1", "--drift", "0",
                         "--clients", "1", "--count", "1k", "--late", "10%", "--late-by", "2m").splitlines()
        self.assertTrue(lines[0].split(b"[")[1].startswith(b"28/Mar/2016:1"))
        self.assertEqual(len({line.split(b" ")[0] for line in lines}), 1)
        self.assertEqual(len({line.split(b" ")[6].split(b"?")[0] for line in lines}), 1)
        spoilt = self.out("gen", "log", "--malformed", "100%", "--count", "50").splitlines()
        self.assertTrue(all(len(line) < 20 for line in spoilt))
        for arguments in (["--format", "apache"], ["--rate", "0"], ["--start", "soon"], ["--drift", "1us"],
                          ["--late-by", "0"], ["--late", "2"], ["--hosts", "3"], ["--repeat", "0.1"]):
            self.error("gen", "log", *arguments, code=2, says=arguments[0].strip("-").split("-")[0])
        self.error("gen", "urls", "--format", "json", code=2, says=["--format", "urls"])

    def test_gen_traffic_is_a_day_in_each_format(self):
        lines = self.out("gen", "traffic", "--count", "5k", "--seed", "7").decode().splitlines()
        rows = [line.split("\t") for line in lines]
        self.assertEqual({len(row) for row in rows}, {4})
        self.assertEqual({row[1] for row in rows}, {"page", "basket", "redirect", "fetch"})
        self.assertEqual([row[0] for row in rows], sorted(row[0] for row in rows))
        self.assertTrue(all(row[0].startswith("2024-01-01T") for row in rows))
        for row, line in zip(rows, self.out("gen", "traffic", "--count", "5k", "--seed", "7", "--format", "json")
                             .decode().splitlines(), strict=True):
            event = json.loads(line)
            who, what = {"page": ("cookie", "path"), "basket": ("cookie", "items"), "redirect": ("code", "url"),
                         "fetch": ("", "url")}[row[1]]
            self.assertEqual([event["time"], event["event"], event.get(who, "-"), str(event[what])], row)
        log = self.out("gen", "traffic", "--count", "5k", "--seed", "7", "--format", "combined")
        self.assertEqual(log.count(b"\n"), sum(row[1] in ("page", "redirect") for row in rows))
        hot = self.out("hot", "--top", "3", stdin=log)
        self.assertIn(b"/", hot)
        for arguments in (["--zipf", "1"], ["--format", "squid"], ["--count", "10"], ["--rules", "0"]):
            self.error("gen", "traffic", *arguments, code=2, says=arguments[0].strip("-") if arguments[1] != "10" else "events")

    def test_gen_blocklist_is_the_list_of_the_day(self):
        rules = self.out("gen", "blocklist", "--count", "1000", "--seed", "7").split()
        self.assertEqual(len(set(rules)), 1000)
        self.assertEqual(self.out("gen", "blocklist", "--count", "2k", "--seed", "7").split()[:1000], rules)
        hosts = {rule.decode() for rule in rules if b"/" not in rule}
        day = self.out("gen", "traffic", "--count", "20k", "--seed", "7", "--rules", "1k").decode().splitlines()
        targets = [line.split("\t")[3].split("/")[2] for line in day if "\tredirect\t" in line]
        blocked = [host for host in targets if any(host == rule or host.endswith("." + rule) for rule in hosts)]
        self.assertTrue(len(targets) * 0.005 < len(blocked) < len(targets) * 0.1, len(blocked))
        self.error("gen", "blocklist", "--rules", "1", code=2, says="--rules")

    def test_demo_keeps_its_promises(self):
        stdout, stderr = self.run_mankai("demo", "--events", "50k", "--json")
        self.assertEqual(stderr, b"", "progress is for terminals")
        report = json.loads(stdout)
        self.assertEqual((report["seed"], report["page"]), (1, "demo-out/index.html"))
        self.assertAlmostEqual(report["events"], 50000, delta=2500)
        rows = {row["question"]: row for row in report["questions"]}
        self.assertEqual(list(rows), ["seen", "seen-recently", "hot", "guard", "gate"])
        for name, row in rows.items():
            self.assertGreater(row["asked"], 0, name)
            right = row["really_yes"] - row["false_negatives"] + row["false_positives"]
            # In the fading memory what is older than its half-life may be told either way.
            (self.assertGreaterEqual if name == "seen-recently" else self.assertEqual)(row["answered_yes"], right, name)
            self.assertGreater(row["really_yes"], 0, name)
            for key in ("exact_memory_bytes", "ns_per_question", "exact_ns_per_question"):
                self.assertGreater(row[key], 0, (name, key))
        for name in ("seen", "guard", "gate"):
            self.assertEqual(rows[name]["false_negatives"], 0, name)
            self.assertLess(rows[name]["false_positive_rate"], rows[name]["promised_rate"], name)
        self.assertLess(rows["seen-recently"]["false_negatives"] * 5, rows["seen-recently"]["really_yes"])
        self.assertLess(rows["hot"]["false_negatives"] * 20, rows["hot"]["really_yes"])
        self.assert_no_temporaries()

    def test_demo_says_what_to_do_when_a_process_fails(self):
        def little_room(at_the_limit):
            signal.signal(signal.SIGXFSZ, at_the_limit)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        for at_the_limit in (signal.SIG_IGN, signal.SIG_DFL):  # it says what failed, or is killed
            self.error("demo", "--events", "2k", code=4, says="fewer --events",
                       preexec_fn=lambda: little_room(at_the_limit))
            self.assertEqual(os.listdir(self.dir / "demo-out"), [])

    def test_demo_leaves_no_page_after_ctrl_c(self):
        process = self.start("demo", "--events", "3M", start_new_session=True, preexec_fn=default_signals)
        deadline = time.monotonic() + PATIENCE
        while not (self.dir / "demo-out").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE), -signal.SIGINT)
        self.assertEqual([name for name in os.listdir(self.dir / "demo-out") if "index" in name], [])

    def test_demo_is_the_same_for_the_same_seed(self):
        clocked = {"memory_bytes", "exact_memory_bytes", "memory_ratio", "ns_per_question", "exact_ns_per_question",
                   "time_ratio"}

        def answers(*arguments):
            report = json.loads(self.out("demo", "--events", "5k", "--json", *arguments))
            return [{key: row[key] for key in row.keys() - clocked} for row in report["questions"]]
        self.assertEqual(answers("--seed", "7"), answers("--seed", "7", "--out", "other"))
        self.assertNotEqual(answers("--seed", "8"), answers("--seed", "7"))

    def test_demo_shows_a_table_and_writes_its_page_only_over_its_own(self):
        text = self.out("demo", "--events", "5k", "--out", "a/b").decode()
        for word in ("really", "negatives", "positives", "ratio", "Seen?", "Seen recently?", "Hot?", "Blocked?", "Worth fetching?", "page: a/b/index.html", "Try next"):
            self.assertIn(word, text)
        self.assertLess(max(map(len, text.splitlines())), 130)
        page = self.read("a/b/index.html")
        self.assertTrue(page.startswith(b"<!doctype html>") and page.endswith(b"</html>\n"))
        self.run_mankai("demo", "--events", "6k", "--out", "a/b")
        self.assertNotEqual(self.read("a/b/index.html"), page, "its own page is replaced")
        self.write("a/b/index.html", b"<html>somebody's own</html>")
        self.error("demo", "--events", "5k", "--out", "a/b", code=2, says=("a/b/index.html", "--force", "--out"))
        self.assertEqual(self.read("a/b/index.html"), b"<html>somebody's own</html>")
        self.run_mankai("demo", "--events", "5k", "--out", "a/b", "--force")
        self.assertIn(b"mankai demo", self.read("a/b/index.html"))

    def test_demo_refuses_what_it_cannot_do_at_once(self):
        self.error("demo", "--events", "10", code=2, says="events")
        self.error("demo", "--seed", "x", code=2, says="--seed")
        self.write("file", b"x")
        self.error("demo", "--out", "file", code=4, says=("file", "--out"))
        self.assertEqual(self.read("file"), b"x")
        self.error("demo", "--out", "", code=2, says=("--out", "a folder's name"))

    def test_demo_names_the_page_that_cannot_be_written_once(self):
        (self.dir / "full" / "index.html").mkdir(parents=True)
        _, stderr = self.run_mankai("demo", "--events", "1000", "--out", "full", "--force", code=4)
        self.assertEqual(stderr.count(b"full/index.html"), 1, stderr)


class Streams(CommandTest):
    OUTPUTS = (["--help"], ["--version"], ["info", "f.mk"], ["info", "--json", "f.mk"], ["check", "f.mk", "a"],
               ["plan", "--keys", "10", "--fpr", "1%"], ["verify", "f.mk"], ["gen", "urls", "--count", "100k"],
               ["demo", "--events", "1000"], ["dedup", "text"])

    def setUp(self):
        super().setUp()
        self.new_filter()
        self.write("text", b"a line\n" * 3)

    def test_a_full_disk_is_noticed(self):
        for arguments in self.OUTPUTS:
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                done = subprocess.run([MANKAI, *arguments], cwd=self.dir, stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 4)
                self.assertIn(b"standard output", done.stderr)
                self.assertIn(b"No space left", done.stderr)

    def test_a_summary_that_cannot_be_written_is_noticed(self):
        self.run_mankai("create", "c.mk", "--kind", "counting-bloom", "--keys", "10")
        self.write("many", b"".join(b"%d\n" % number for number in range(3000)))
        # Where nobody reads the summary, the exit code is that without one: overfull, absent.
        for arguments, code in ((["add", "--json", "f.mk", "x"], 0), (["dedup", "--json", "--keys", "1000", "many"], 5),
                                (["dedup", "--count", "text"], 0), (["remove", "--quiet", "--json", "c.mk", "x"], 1)):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                done = subprocess.run([MANKAI, *arguments], cwd=self.dir, stdout=subprocess.PIPE, stderr=full, check=False)
                self.assertEqual(done.returncode, 4)
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([MANKAI, *arguments], cwd=self.dir, stdout=subprocess.PIPE, stderr=writer, check=False)
                os.close(writer)
                self.assertEqual(done.returncode, code)

    def test_a_closed_output_is_noticed_and_never_becomes_a_file_of_ours(self):
        for arguments in [*self.OUTPUTS, ["add", "f.mk", "x"]]:
            with self.subTest(arguments):
                done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", MANKAI, *arguments], cwd=self.dir,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 0 if arguments[0] == "add" else 4)
        self.run_mankai("verify", "f.mk")

    def test_a_closed_input_is_an_error(self):
        done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", MANKAI, "check", "f.mk"], cwd=self.dir,
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, b""))

    def test_a_reader_that_has_had_enough_is_no_error(self):
        for arguments in (["gen", "urls", "--count", "1M"], ["check", "f.mk", "-i", "big"], ["dedup", "big"]):
            self.write("big", b"".join(b"line %d\n" % i for i in range(200000)))
            with self.subTest(arguments):
                done = subprocess.run(["bash", "-c", 'set -o pipefail; "$@" | head -n 1', "bash", MANKAI, *arguments],
                                      cwd=self.dir, capture_output=True, check=False, preexec_fn=default_signals)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(done.stdout.count(b"\n"), 1)


@unittest.skipUnless((SHARE / "man/man1/mankai.1").exists(), "SKIPPED: docgen was not built")
class Documents(CommandTest):
    def test_man_pages_are_clean_and_complete(self):
        pages = sorted((SHARE / "man/man1").glob("mankai*.1"))
        overview = (SHARE / "man/man1/mankai.1").read_text()
        for command in Help.COMMANDS:
            self.assertIn(f"mankai\\-{command}(1)", overview)
            self.assertIn(SHARE / f"man/man1/mankai-{command}.1", pages)
        if shutil.which("groff") is None:
            self.skipTest("SKIPPED: no groff")
        for page in pages:
            with self.subTest(page.name):
                done = subprocess.run(["groff", "-man", "-ww", "-Tascii", page], capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))

    def complete(self, *words):
        script = f'source "{SHARE}/bash-completion/completions/mankai"\ncompopt() {{ :; }}\n' \
                 'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _mankai; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", "mankai", *words], capture_output=True, check=True, cwd=self.dir)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    def test_bash_completes(self):
        self.write("some.mk", b"")
        self.assertEqual(self.complete("ded"), ["dedup"])
        self.assertEqual(self.complete("create", "--ki"), ["--kind"])
        self.assertEqual(self.complete("create", "--kind", "bl"), ["blocked-bloom", "bloom"])
        self.assertEqual(self.complete("create", "--hash", "=", "s"), ["siphash"])
        self.assertEqual(self.complete("dedup", "--state", "so"), ["some.mk"])
        self.assertEqual(self.complete("info", ""), ["some.mk"])
        self.assertEqual(sorted(self.complete("gen", "")), ["blocklist", "log", "traffic", "urls"])
        self.assertEqual(self.complete("create", "--keys", ""), [])

    def test_scripts_have_no_syntax_errors(self):
        for shell, path in (("bash", "bash-completion/completions/mankai"), ("zsh", "zsh/site-functions/_mankai"),
                            ("fish", "fish/vendor_completions.d/mankai.fish")):
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", SHARE / path], capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""), shell)


if __name__ == "__main__":
    main()
