#!/usr/bin/env python3
"""mankai guard, on the built command: lists in, answers out, changes between, and what goes wrong."""
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from harness import MANKAI, CommandTest, main, read_line

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "guard"))
import spellings  # noqa: E402


class Guard(CommandTest):
    def write(self, name, text):
        (self.dir / name).write_bytes(text.encode())
        return name

    def out(self, *words, **how):
        """With a seed, so that a URL that no rule covers is not blocked in one run of a hundred."""
        seed = ("--seed", "1") if words[:2] == ("guard", "build") else ()
        return super().out(*words[:2], *seed, *words[2:], **how)

    def build(self, *lists, options=()):
        self.out("guard", "build", "--quiet", "--force", *options, "b.mkg", *lists)

    def check(self, *urls, options=()):
        """The answers, each as (answer, url, rule or reason or nothing)."""
        lines = self.out("guard", "check", *options, "b.mkg", "--", *urls).decode().split("\n")
        self.assertEqual(lines.pop(), "")
        return [tuple(line.split("\t")) for line in lines]

    def answers(self, *urls):
        return [answer[0] for answer in self.check(*urls)]


class Lists(Guard):
    def test_several_formats_make_one_file(self):
        self.write("hosts", "# ads\n0.0.0.0 ads.example track.example\n127.0.0.1 localhost\n")
        self.write("domains", "bad.example\nworse.example\n")
        self.write("easy.txt", "[Adblock Plus 2.0]\n||evil.example^\n||x.example/ads/$third-party\n@@||good.evil.example^\n"
                               "##.banner\n||path.example/foo^\n")
        self.write("urls.csv", 'id,url,threat\n1,"http://1.2.3.4:81/bin.sh",malware\n2,http://u.example/a?b=1,x\n')
        text = self.out("guard", "build", "b.mkg", "hosts", "domains", "easy.txt", "urls.csv").decode()
        self.assertIn("easy.txt: adblock: 6 lines, 2 rules, 1 exception, 0 duplicates", text)
        self.assertIn("skipped 1: hides elements of a page", text)
        self.assertEqual(self.answers("ads.example/x", "http://a.track.example/", "localhost", "bad.example",
                                      "evil.example", "www.good.evil.example", "path.example/foo/x",
                                      "path.example/foobar", "1.2.3.4/bin.sh", "u.example/a?b=1", "x.example/ads/"),
                         ["blocked", "blocked", "ok", "blocked", "blocked", "ok", "blocked", "ok", "blocked", "blocked",
                          "ok"])

    def test_counts_are_there_for_programs(self):
        self.write("list", "||a.example^\n||b.example^\n||a.example^\n##.x\n")
        facts = json.loads(self.out("guard", "build", "--json", "--format", "adblock", "b.mkg", "list"))
        self.assertEqual(facts["base_rules"], 2)
        self.assertEqual((facts["lists"][0]["rules"], facts["lists"][0]["repeated"]), (3, 1))
        self.assertEqual([skip["count"] for skip in facts["lists"][0]["skips"]], [1])

    def test_lists_may_be_packed_piped_and_of_exceptions(self):
        (self.dir / "packed").write_bytes(gzip.compress(b"a.example\nb.example\n"))
        self.write("own", "good.a.example\n")
        self.out("guard", "build", "--quiet", "b.mkg", "packed", "-", "--allow", "own", stdin=b"c.example\n")
        self.assertEqual(self.answers("a.example", "b.example", "c.example", "good.a.example"),
                         ["blocked", "blocked", "blocked", "ok"])

    def test_a_column_is_chosen_by_name(self):
        self.write("l.csv", "a,b\nx.example,y.example\n")
        self.build("l.csv", options=("--format", "csv", "--column", "b"))
        self.assertEqual(self.answers("x.example", "y.example"), ["ok", "blocked"])
        self.error("guard", "build", "c.mkg", "l.csv", "--format", "csv", "--column", "z", code=2, says="z")
        self.assertFalse((self.dir / "c.mkg").exists())

    def test_a_column_is_one_of_csv_only(self):
        self.write("urlhaus.csv", "# id,dateadded,url\n1,2025-04-21,http://bad.example/x\n2,2025-04-21,http://good.example/x\n")
        self.write("own.txt", "good.example\n")
        self.write("hosts", "0.0.0.0 host.example\n")
        for column in ("url", "3"):
            self.build("urlhaus.csv", "hosts", options=("--column", column, "--allow", "own.txt"))
            self.assertEqual(self.answers("bad.example/x", "host.example", "good.example/x"), ["blocked", "blocked", "ok"])
            self.error("guard", "build", "c.mkg", "hosts", "--column", column, code=2, says=f"column '{column}'")
        self.build("urlhaus.csv", options=("--format", "csv", "--column", "url", "--allow", "own.txt"))
        self.assertEqual(self.answers("bad.example/x", "good.example/x"), ["blocked", "ok"])

    def test_exceptions_are_not_widened(self):
        self.write("list", "||ads.example^\n@@||ads.example:8080^\n||b.example^\n@@|http://b.example/x|\n@@||good.b.example^\n")
        text = self.out("guard", "build", "--allow-skipped=50%", "b.mkg", "list").decode()
        self.assertIn("skipped 2: is an exception that would allow more than it says", text)
        self.assertEqual(self.answers("ads.example/x", "b.example/x/y", "good.b.example"), ["blocked", "blocked", "ok"])

    def test_an_exception_with_an_escaped_port_is_skipped(self):
        self.write("list", "ads.example\n" * 20 + "@@||ads.example%3A81^\n")
        facts = json.loads(self.out("guard", "build", "--json", "b.mkg", "list"))
        self.assertEqual((facts["lists"][0]["exceptions"], facts["lists"][0]["skipped"]), (0, 1))
        self.assertEqual(self.answers("http://ads.example:81/"), ["blocked"])

    def test_networks_are_no_rules(self):
        self.write("list", "1.2.3.4\n5.6.7.0/24\n2001:db8::1\n")
        facts = json.loads(self.out("guard", "build", "--json", "--allow-skipped", "b.mkg", "list"))
        self.assertEqual(facts["lists"][0]["skips"],
                         [{"reason": "is a network, not an address", "count": 1, "out_of_scope": False}])
        self.assertEqual(self.answers("1.2.3.4/x", "http://[2001:db8::1]/x", "5.6.7.0/24"), ["blocked", "blocked", "ok"])

    def test_a_list_may_mix_lines_of_every_kind(self):
        self.write("list", "0.0.0.0 a.example\nb.example\n||c.example^\n||d.example/x^$all\n192.0.2.7\nhttp://e.example/x\n")
        self.out("guard", "build", "b.mkg", "list")
        self.assertEqual(self.answers("a.example", "b.example", "c.example", "d.example/x", "192.0.2.7", "e.example/x/y"),
                         ["blocked"] * 6)

    def test_a_list_of_which_much_is_skipped_replaces_no_guard(self):
        self.write("list", "".join(f"{i}.example\n" for i in range(90)) + "/x\n" * 9 + "||d.example^$document\n")
        self.build("list")
        before = (self.dir / "b.mkg").read_bytes()
        self.write("more", "".join(f"{i}.example\n" for i in range(89)) + "\x1b[2J/\n" + "/x\n" * 9 + "||d.example^$document\n")
        for options in ((), ("--allow-skipped=10%",), ("--allow-skipped=0.05",)):
            self.error("guard", "build", "--force", "b.mkg", "more", *options, code=3,
                       says=["more: skipped 11 of its 100 rules", '"matches anywhere in a URL" 10, "has options that guards do not support" 1;',
                             "--explain-skipped", "--allow-skipped"])
            self.assertEqual((self.dir / "b.mkg").read_bytes(), before)
        text, error = self.run_mankai("guard", "build", "--force", "--explain-skipped", "--quiet", "b.mkg", "more", code=3)[:2]
        self.assertIn(b"  skipped 10: matches anywhere in a URL\n    line 90: \\x1b[2J/\n    line 91: /x\n    line 92: /x\n", text)
        self.assertIn(b"options: $document 1\n    line 100: ||d.example^$document\n", text)
        text = self.run_mankai("guard", "build", "--force", "--explain-skipped", "--json", "b.mkg", "more", code=3)[0]
        options = [skip["options"] for skip in json.loads(text)["lists"][0]["skips"] if "options" in skip]
        self.assertEqual(options, [[{"name": "document", "count": 1}]])
        for allowed in ("--allow-skipped", "--allow-skipped=0.11", "--allow-skipped=1"):
            self.build("more", options=(allowed,))
            self.assertEqual(self.answers("88.example", "89.example"), ["blocked", "ok"])
        self.error("guard", "build", "--force", "b.mkg", "more", "--allow-skipped=2", code=2, says="--allow-skipped")
        # What no guard can hold has no part in the share.
        self.write("easy", "||a.example^\n" + "##.ad\n" * 5 + "||b.example^$script,domain=c.example\n" * 5)
        self.build("easy")

    def test_lines_in_quotes_of_a_csv_are_no_rules(self):
        self.write("l.csv", 'id,why,url\n1,"hello\r\nhttp://victim.example/,"\r\n2,"hello\r\n||victim.example^\r\n",http://a.example/\n'
                            '3,"hello\r\nhttp://victim.example/,",http://b.example/\n')
        self.build("l.csv", options=("--allow-skipped",))
        self.assertEqual(self.answers("victim.example", "a.example", "b.example"), ["ok", "blocked", "blocked"])
        self.write("l.csv", 'url,why\n' + 'http://a.example/,x\n' * 30 + 'http://b.example/,"x\nhttp://c.example/,x\n')
        text = self.out("guard", "build", "--force", "--explain-skipped", "b.mkg", "l.csv").decode()
        self.assertIn("skipped 1: has quotes that do not close in their place\n    line 32: http://b.example/", text)
        self.assertEqual(self.answers("a.example", "b.example", "c.example"), ["blocked", "ok", "blocked"])
        self.write("l.csv", 'url,why\nhttp://b.example/,"x\n' + 'http://c.example/,xxxxxxxxxxxxxxxxxxxxxxxxxxx\n' * 30000)
        self.error("guard", "build", "--force", "b.mkg", "l.csv", code=3, says=["l.csv: 1 quoted field does not end", "--allow-skipped"])
        self.build("l.csv", options=("--allow-skipped",))
        self.assertEqual(self.answers("c.example"), ["blocked"])

    def test_a_list_that_gives_no_rule_replaces_no_guard(self):
        self.write("list", "a.example\n")
        self.build("list")
        before = (self.dir / "b.mkg").read_bytes()
        self.write("empty", "")
        self.write("page.html", "<html>\n<body>Not found: try again later\n</html>\n")
        self.write("own.txt", "# nothing yet\n")
        for lists in (("empty",), ("list", "page.html"), ("/dev/null",), ("list", "--allow", "own.txt"), ("list", "--format", "csv", "--column", "9")):
            self.error("guard", "build", "--force", "b.mkg", *lists, code=3, says=["contains no rules", "--allow-empty"])
            self.assertEqual((self.dir / "b.mkg").read_bytes(), before)
        self.error("guard", "build", "--force", "b.mkg", "-", code=3, says="standard input: contains no rules")
        self.build("list", "empty", options=("--allow-empty", "--allow", "own.txt"))
        self.assertEqual(self.answers("a.example"), ["blocked"])

    def test_json_is_refused(self):
        self.write("list.json", '["a.example","b.example"]\n')
        self.error("guard", "build", "b.mkg", "list.json", code=2, says=["list.json: is JSON", "jq", "nothing was written"])
        self.assertFalse((self.dir / "b.mkg").exists())

    def test_comments_are_no_sign_of_a_format(self):
        self.write("list", "# c\n" * 300 + "0.0.0.0 l2.example\n0.0.0.0 l3.example\n")
        self.write("late", "! c\n\n" * 300 + "||late.example^\n")
        self.build("list", "late")
        self.assertEqual(self.answers("l2.example", "late.example"), ["blocked", "blocked"])

    def test_what_is_no_guard_is_not_replaced(self):
        self.write("list", "a.example\n")
        self.error("guard", "build", "--force", "list", "list", code=2, says="one of the lists")
        self.error("guard", "build", "--force", "./list", "-", code=2, says="not a guard")
        self.error("guard", "build", "--force", "/dev/null", "list", code=4, says="/dev/null")
        self.assertEqual((self.dir / "list").read_bytes(), b"a.example\n")
        self.write("b.mkg", "")
        self.build("list")
        os.truncate(self.dir / "b.mkg", 300)
        self.build("list")
        self.error("guard", "build", "--force", "b.mkg", "list", "--allow", "b.mkg", code=2, says="one of the lists")

    def test_a_file_that_exists_stays(self):
        self.write("list", "a.example\n")
        self.build("list")
        self.error("guard", "build", "b.mkg", "list", code=2, says=["b.mkg", "--force"])
        self.error("guard", "build", "c.mkg", "list", "none", code=4, says="mankai: none: cannot open")
        self.error("guard", "build", "c.mkg", code=2, says="LIST is missing")
        self.error("guard", "build", "c.mkg", "list", "--fpr", "2", code=2, says="--fpr")
        self.error("guard", "build", "c.mkg", "list", "--exact", "--no-rules", code=2, says="exact")
        self.assertFalse((self.dir / "c.mkg").exists())


class Check(Guard):
    def setUp(self):
        super().setUp()
        self.write("list", "evil.example\npath.example/foo\n")
        self.build("list")

    def test_prints_answer_url_and_rule_in_order(self):
        self.assertEqual(self.check("HTTP://www.EVIL.example/x?y", "path.example/foo/bar", "path.example/", "mailto:x"),
                         [("blocked", "HTTP://www.EVIL.example/x?y", "evil.example"),
                          ("blocked", "path.example/foo/bar", "path.example/foo"), ("ok", "path.example/"),
                          ("invalid", "mailto:x", 'a URL of scheme mailto without "//" names no host')])

    def test_some_answers_alone(self):
        lines = b"evil.example\nok.example\nwww.evil.example\n"
        self.assertEqual(self.out("guard", "check", "--blocked", "b.mkg", stdin=lines), b"evil.example\nwww.evil.example\n")
        self.assertEqual(self.out("guard", "check", "--ok", "b.mkg", stdin=lines), b"ok.example\n")
        self.assertEqual(self.out("guard", "check", "-q", "b.mkg", "evil.example", code=1), b"")
        self.assertEqual(self.out("guard", "check", "-q", "b.mkg", "ok.example"), b"")
        self.error("guard", "check", "-q", "--ok", "b.mkg", "x", code=2, says="--quiet")

    def test_an_invalid_url_is_blocked_unless_told_otherwise(self):
        lines = b"evil.example\nmailto:x\n\nok.example\n"
        for options, blocked, ok, code in (((), b"evil.example\nmailto:x\n\n", b"ok.example\n", 1),
                                           (("--invalid", "blocked"), b"evil.example\nmailto:x\n\n", b"ok.example\n", 1),
                                           (("--invalid", "ok"), b"evil.example\n", b"mailto:x\n\nok.example\n", 0)):
            with self.subTest(options):
                self.assertEqual(self.out("guard", "check", "--blocked", *options, "b.mkg", stdin=lines), blocked)
                self.assertEqual(self.out("guard", "check", "--ok", *options, "b.mkg", stdin=lines), ok)
                self.out("guard", "check", "--quiet", *options, "b.mkg", "mailto:x", code=code)
                self.assertEqual(self.answers("mailto:x"), ["invalid"])
        self.error("guard", "check", "--invalid", "maybe", "b.mkg", "x", code=2, says="expected ok or blocked")

    def test_no_spelling_leads_around_a_rule(self):
        """As arguments, which may hold line feeds, unlike lines."""
        self.write("list", "\n".join(spellings.RULES) + "\n")
        self.write("allowed", "\n".join(spellings.EXCEPTIONS) + "\n")
        self.build("list", options=("--exact", "--allow", "allowed"))
        for urls, answer in ((spellings.BLOCKED, "blocked"), (spellings.INVALID, "invalid"), (spellings.OK, "ok")):
            for url in urls:
                with self.subTest(url):
                    out = self.out("guard", "check", "b.mkg", "--", url.encode()).decode()
                    self.assertEqual(out.split("\t")[0], answer)
                    self.out("guard", "check", "--quiet", "b.mkg", "--", url.encode(), code=int(answer != "ok"))

    def test_json_names_exceptions(self):
        self.out("guard", "allow", "b.mkg", "good.evil.example")
        lines = self.out("guard", "check", "--json", "b.mkg", "a.good.evil.example", "evil.example", "/x", "ok.example")
        answers = [json.loads(line) for line in lines.splitlines()]
        self.assertEqual([answer["answer"] for answer in answers], ["allowed", "blocked", "invalid", "ok"])
        self.assertEqual(answers[0]["rule"], "good.evil.example")
        self.assertEqual(answers[1], {"answer": "blocked", "url": "evil.example", "rule": "evil.example"})
        self.assertIn("reason", answers[2])

    def test_answers_come_while_the_input_waits(self):
        process = self.start("guard", "check", "b.mkg")
        for url, answer in ((b"evil.example\n", b"blocked\tevil.example\tevil.example\n"), (b"x.example\n", b"ok\tx.example\n")):
            process.stdin.write(url)
            process.stdin.flush()
            self.assertEqual(read_line(process.stdout), answer)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "guard", "check", "b.mkg", "x.example"], stdout=full, stderr=subprocess.PIPE,
                                  cwd=self.dir, check=False)
        self.assertEqual(done.returncode, 4)


class Changes(Guard):
    def setUp(self):
        super().setUp()
        self.write("list", "evil.example\nold.example\n")

    def test_are_in_force_at_once_and_stay_when_compacted(self):
        for options in ((), ("--exact",)):
            self.build("list", options=options)
            self.out("guard", "add", "b.mkg", "new.example", "evil.example")
            self.assertEqual(self.out("guard", "remove", "b.mkg", "old.example", "none.example"), b"not-found\tnone.example\n")
            self.out("guard", "allow", "b.mkg", stdin=b"good.new.example\n\n")
            urls = ("new.example", "old.example", "good.new.example", "evil.example")
            right = ["blocked", "ok", "ok", "blocked"]
            self.assertEqual(self.answers(*urls), right)
            self.out("guard", "compact", "b.mkg")
            self.assertEqual(self.answers(*urls), right)
            facts = json.loads(self.out("guard", "info", "--json", "b.mkg"))
            self.assertEqual((facts["base_rules"], facts["added_rules"], facts["exceptions"]), (2, 0, 1))
            self.out("guard", "disallow", "b.mkg", "good.new.example")
            self.assertEqual(self.answers("good.new.example"), ["blocked"])

    def test_are_held_by_ids(self):
        self.build("list")
        for number in ("7", "8"):
            self.out("guard", "add", "b.mkg", "--id", number, "new.example", "evil.example")
        self.assertEqual(self.out("guard", "remove", "b.mkg", "--id", "7", "new.example", "evil.example"),
                         b"still-held\tnew.example\nstill-held\tevil.example\n")
        self.out("guard", "compact", "b.mkg")
        self.assertEqual(self.out("guard", "remove", "b.mkg", "--id", "8", "new.example", "evil.example"),
                         b"still-held\tevil.example\n")
        self.assertEqual(self.answers("new.example", "evil.example"), ["ok", "blocked"])

    def test_one_wrong_rule_changes_nothing(self):
        self.build("list")
        before = (self.dir / "b.mkg").read_bytes()
        self.error("guard", "add", "b.mkg", "new.example", "/path", code=2, says=["b.mkg", "/path"])
        self.assertEqual((self.dir / "b.mkg").read_bytes(), before)

    def test_rules_are_read_as_in_lists(self):
        self.build("list")
        self.out("guard", "add", "b.mkg", stdin=b"# new\n\n*.ads.example\n.dots.example  # why\n! old\n2001:db8::1\n")
        self.out("guard", "add", "b.mkg", "*.more.example")
        self.assertEqual(self.answers("x.ads.example", "ads.example", "dots.example", "[2001:db8::1]", "more.example"),
                         ["blocked"] * 5)
        before = (self.dir / "b.mkg").read_bytes()
        for rule, why in (("http://big.example/#!/page", "fragment"), ("||adb.example^", "not a host"),
                          ("0.0.0.0 hosts.example", "not a host"), ("@@||z.example^", "not a host"),
                          ("a.example,b.example", "not a host"), ("p.example/*", "wildcard"), ("ads.*", "wildcard"),
                          ("5.6.7.0/24", "network"), ("/path", "no host"), ("mailto:a@b.example", "")):
            for command in ("add", "allow", "remove", "disallow"):
                self.error("guard", command, "b.mkg", rule, code=2, says=["b.mkg: '" + rule + "'", why])
                self.error("guard", command, "b.mkg", stdin=f"good.example\n# c\n{rule}\n".encode(), code=2,
                           says=[f"line 3: '{rule}'", why])
        self.error("guard", "add", "b.mkg", "# c", code=2, says="# c")
        self.assertEqual((self.dir / "b.mkg").read_bytes(), before)

    def test_texts_from_outside_are_shown_in_part_and_without_control_bytes(self):
        self.build("list")
        error = self.run_mankai("guard", "add", "b.mkg", "\x1b[31m " + "x" * 10000, code=2)[1]
        self.assertIn(b"\\x1b[31m", error)
        self.assertNotIn(b"\x1b", error)
        self.assertLess(len(error), 300)

    def test_the_file_is_free_while_rules_are_awaited(self):
        self.build("list")
        waiting = self.start("guard", "add", "b.mkg")
        waiting.stdin.write(b"slow.example\n")
        waiting.stdin.flush()
        self.out("guard", "add", "b.mkg", "quick.example")
        waiting.stdin.close()
        self.assertEqual(waiting.wait(60), 0)
        self.assertEqual(self.answers("slow.example", "quick.example"), ["blocked", "blocked"])
        self.error("guard", "add", "list", "x.example", code=3, says="not a guard")

    def test_ids_have_64_bits(self):
        self.build("list")
        largest = str(2**64 - 1)
        self.out("guard", "add", "b.mkg", "--id", largest, "evil.example")
        self.assertEqual(self.out("guard", "remove", "b.mkg", "evil.example", "--id", largest), b"still-held\tevil.example\n")
        self.error("guard", "add", "b.mkg", "--id", str(2**64), "evil.example", code=2, says="2^64")

    def test_what_was_no_exception_is_said(self):
        self.build("list")
        self.out("guard", "allow", "b.mkg", "good.example")
        self.assertEqual(self.out("guard", "disallow", "b.mkg", "good.example", "none.example"), b"not-found\tnone.example\n")
        self.assertEqual(self.out("guard", "disallow", "--quiet", "b.mkg", "none.example"), b"")

    def test_rules_of_one_label_are_told_apart_from_added_ones(self):
        self.write("zip", "zip\nevil.example\n")
        self.build("zip")
        facts = json.loads(self.out("guard", "info", "--json", "b.mkg"))
        self.assertEqual((facts["base_rules"], facts["added_rules"], facts["exact_rules"]), (1, 0, 1))

    def test_files_that_are_none_or_have_no_rules(self):
        self.build("list", options=("--no-rules",))
        self.error("guard", "compact", "b.mkg", code=2, says="build it again from its lists")
        self.out("guard", "remove", "b.mkg", "evil.example")
        self.assertEqual(self.answers("evil.example", "old.example"), ["ok", "blocked"])
        self.error("guard", "info", "none", code=4, says="none")
        self.error("guard", "check", "list", "x", code=3, says="list")
        os.truncate(self.dir / "b.mkg", 300)
        self.error("guard", "check", "b.mkg", "x", code=3, says=["b.mkg", "truncated: 300 of"])


class Help(Guard):
    def test_the_group_and_each_command_explain_themselves(self):
        text = self.out("guard", "--help").decode()
        self.assertEqual(self.out("help", "guard").decode(), text)
        for command in "build check add remove allow disallow compact info".split():
            self.assertRegex(text, rf"\n  {command} +\w")
            one = self.out("guard", command, "--help").decode()
            self.assertIn(f"Usage: mankai guard {command} ", one)
            self.assertIn("Examples:\n  ", one)
            self.assertEqual(self.out("help", "guard", command).decode(), one)
        self.error("guard", code=2, says="mankai guard --help")
        self.error("guard", "chekc", code=2, says="did you mean check?")
        self.error("guard", "check", "--jsn", code=2, says=["--json", "mankai guard check --help"])

    def test_metrics(self):
        self.write("list", "evil.example\n")
        self.build("list")
        text = self.out("guard", "info", "--prometheus", "b.mkg").decode()
        self.assertIn('mankai_guard_rules{part="filter"} 1\n', text)


if __name__ == "__main__":
    main()
