#!/usr/bin/env python3
"""mankai dedup for crawls, on the built command: WARC and CDX files, recrawls, and an exact log that confirms."""
import gzip
import json
import resource
import signal
import subprocess
import time
import unittest

from harness import MANKAI, SHARED, CommandTest, default_signals, main, read_line


def record(kind, uri, block=b"", date="2016-09-19T18:03:53Z", version="1.0", length=None):
    lines = [f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Date: {date}",
             f"Content-Length: {len(block) if length is None else length}"]
    if uri:
        lines.append(f"WARC-Target-URI: {uri}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def crawl():
    return [record("warcinfo", "", b"software: x\r\n"),
            record("request", "http://a.example/", b"GET / HTTP/1.1\r\n\r\n"),
            record("response", "http://a.example/", b"HTTP/1.1 200 OK\r\n\r\nWARC/1.0\r\n\r\n" + b"x" * 300_000),
            record("resource", "<http://b.example/>", version="1.1"),
            record("revisit", "http://a.example/"),
            record("metadata", "http://c.example/")]


CDX = b""" CDX N b a m s k r M S V g
com,example)/ 20160919180353 http://example.com/ text/html 200 A - - 1 2 a.warc.gz
com,example)/ 20160920180353 http://example.com/ text/html 200 B - - 1 2 a.warc.gz
com,example)/x 20160919180353 http://example.com/x text/html 200 C - - 1 2 a.warc.gz
com,example)/y -
"""


def urls_of(stdout):
    return stdout.decode().splitlines()


class Records(CommandTest):
    def test_captures_of_a_warc_file_however_it_is_packed(self):
        plain = b"".join(crawl())
        self.write("plain.warc", plain)
        self.write("members.warc.gz", b"".join(gzip.compress(one) for one in crawl()))
        self.write("whole.warc.zst", subprocess.run(["zstd", "-c"], input=plain, capture_output=True, check=True).stdout)
        for name in ("plain.warc", "members.warc.gz", "whole.warc.zst"):
            with self.subTest(name):
                self.assertEqual(urls_of(self.out("dedup", name)), ["http://a.example/", "http://b.example/"])
        self.assertEqual(urls_of(self.out("dedup", "--format", "warc", stdin=plain)), ["http://a.example/", "http://b.example/"])
        self.assertEqual(urls_of(self.out("dedup", "--repeats", "members.warc.gz", "plain.warc")),
                         ["http://a.example/"] * 2 + ["http://b.example/", "http://a.example/"])
        _, stderr = self.run_mankai("dedup", "--json", "plain.warc")
        report = json.loads(stderr)
        self.assertEqual([report[name] for name in ("lines", "unique", "records", "other_records", "without_uri")],
                         [3, 2, 6, 3, 0])

    def test_other_types_when_asked_for(self):
        self.write("a.warc", b"".join(crawl()))
        self.assertEqual(urls_of(self.out("dedup", "--records", "metadata", "a.warc")), ["http://c.example/"])
        self.assertEqual(len(urls_of(self.out("dedup", "--records", "all", "a.warc"))), 3)
        stdout, stderr = self.run_mankai("dedup", "--records", "conversion", "a.warc")
        self.assertEqual(stdout, b"")
        self.assertIn(b"none of 6 WARC records", stderr)
        self.error("dedup", "--records", "answers", "a.warc", code=2, says=["--records", "'answers'"])
        self.error("dedup", "--records", "all", "--format", "lines", code=2, says="--records")
        self.error("dedup", "--field", "2", "--format", "warc", code=2, says="--field")

    def test_broken_warc_files_are_errors_with_their_place(self):
        whole = b"".join(crawl())
        packed = b"".join(gzip.compress(one) for one in crawl())
        self.write("cut.warc", whole[:-30])
        self.write("cut.warc.gz", packed[:-30])
        self.write("short.warc", record("response", "http://a.example/", b"12345", length=3) + whole)
        for name, says in (("cut.warc", "byte"), ("cut.warc.gz", "cut.warc.gz"), ("short.warc", "no record begins here")):
            with self.subTest(name):
                stdout = self.error("dedup", "--state", name + ".mk", name, code=3, says=[name, says])
                self.assertEqual(stdout[:18], b"http://a.example/\n")
                self.assertEqual(self.out("dedup", "--state", name + ".mk", stdin=stdout), b"")
        self.error("dedup", "--format", "warc", code=3, says="no record begins here", stdin=b"http://a.example/\n")

    def test_lines_of_an_index_are_compared_by_their_url(self):
        lines = CDX.splitlines(keepends=True)
        stdout, stderr = self.run_mankai("dedup", stdin=CDX)
        self.assertEqual(stdout, lines[0] + lines[1] + lines[3] + lines[4])
        self.assertIn(b"1 line has no URL and was compared as a whole", stderr)
        self.assertEqual(self.run_mankai("dedup", stdin=b"".join(lines[1:]))[0], lines[1] + lines[3] + lines[4], "no legend")
        self.write("a.cdx", CDX)
        self.write("b.cdx.gz", gzip.compress(CDX))
        self.assertEqual(self.out("dedup", "a.cdx", "b.cdx.gz"), stdout)
        cdxj = (b'!OpenWayback-CDXJ 1.0\n'
                b'com,example)/ 20160919180353 {"url": "http:\\/\\/example.com/", "status": "200"}\n'
                b'com,example)/ 20170919180353 {"status": "200", "url": "http://example.com/"}\n')
        self.assertEqual(self.out("dedup", stdin=cdxj), b"\n".join(cdxj.split(b"\n")[:2]) + b"\n")
        self.assertEqual(self.out("dedup", "--format", "lines", stdin=cdxj), cdxj)

    def test_a_live_pipe_of_records_is_not_held_back(self):
        process = self.start("dedup")
        process.stdin.write(record("response", "http://a.example/", b"x"))
        process.stdin.flush()
        self.assertEqual(read_line(process.stdout), b"http://a.example/\n")
        process.stdin.write(record("response", "http://b.example/", b"x")[:60])
        process.stdin.close()
        self.assertEqual(process.wait(20), 3)


class Forgetting(CommandTest):
    def test_a_url_is_new_again_after_the_window(self):
        days = [("a", 1), ("b", 1), ("a", 5), ("a", 7), ("b", 20), ("a", 20), ("a", 21)]
        text = "".join(f"{url}\t2024-03-{day:02}T00:00:00Z\n" for url, day in days).encode()
        arguments = ["--forget", "7d", "--field", "1", "--time-field", "2"]
        wanted = ["a\t2024-03-01T00:00:00Z", "b\t2024-03-01T00:00:00Z", "b\t2024-03-20T00:00:00Z", "a\t2024-03-20T00:00:00Z"]
        self.assertEqual(urls_of(self.out("dedup", *arguments, stdin=text)), wanted)
        # In two runs, the second without the window: it is the state's.
        lines = text.splitlines(keepends=True)
        first = self.out("dedup", "--state", "s.mk", "--keys", "1000", *arguments, stdin=b"".join(lines[:3]))
        second = self.out("dedup", "--state", "s.mk", "--field", "1", "--time-field", "2", stdin=b"".join(lines[3:]))
        self.assertEqual(urls_of(first + second), wanted)
        self.error("dedup", "--state", "s.mk", "--forget", "8d", code=2, says=["s.mk", "was created as", "window=1w"])

    def test_what_is_seen_every_day_is_printed_once_a_window(self):
        text = "".join(f"a\t{1_700_000_000 + 86400 * day}\n" for day in range(60)).encode()
        printed = urls_of(self.out("dedup", "--forget", "7d", "--field", "1", "--time-field", "2", stdin=text))
        days = [(int(line.split("\t")[1]) - 1_700_000_000) // 86400 for line in printed]
        for before, after in zip(days, days[1:]):
            self.assertGreaterEqual(after - before, 7)
            self.assertLessEqual(after - before, 10)

    def test_records_say_when_they_were(self):
        warc = b"".join(record("response", "http://a.example/", date=f"2016-09-{day:02}T00:00:00Z") for day in (1, 5, 20))
        self.assertEqual(len(urls_of(self.out("dedup", "--forget", "7d", stdin=warc))), 2)
        cdx = CDX.replace(b"20160920", b"20161120")
        self.assertEqual(self.out("dedup", "--forget", "7d", stdin=cdx), cdx)

    def test_the_clock_where_nothing_else_does(self):
        _, stderr = self.run_mankai("dedup", "--forget", "7d", "--state", "s.mk", "--keys", "1000", "--json", stdin=b"a\na\n")
        report = json.loads(stderr)
        self.assertEqual((report["unique"], report["window_seconds"], report["forgets_after_seconds"], report["without_time"]),
                         (1, 7 * 86400, 28 * 86400 / 3, 2))
        at = json.loads(self.out("info", "--json", "s.mk"))
        self.assertEqual(at["kind"], "rotating-bloom")
        self.assertEqual(self.out("dedup", "--state", "s.mk", stdin=b"a\nb\n"), b"b\n")

    def test_times_of_the_far_future_are_left_out(self):
        text = b"a\t2024-03-01\nb\t2224-03-01\na\t2024-03-02\n"
        stdout, stderr = self.run_mankai("dedup", "--forget", "7d", "--field", "1", "--time-field", "2", stdin=text)
        self.assertEqual(stdout, b"a\t2024-03-01\nb\t2224-03-01\n")
        self.assertIn(b"1 line has a timestamp in the future", stderr)

    def test_options_that_do_not_go_together(self):
        for arguments, says in ((["--forget", "7d", "--grow"], "--grow"), (["--forget", "7d", "--kind", "bloom"], "kind bloom"),
                                (["--time-field", "2"], "--time-field"), (["--forget", "0s"], "--forget"),
                                (["--forget", "7d", "--time-field", "0"], "the first field is 1")):
            self.error("dedup", *arguments, code=2, says=says)


class Confirming(CommandTest):
    def lines(self, count, kinds):
        return b"".join(b"http://example.org/%d\n" % (i * 2654435761 % kinds) for i in range(count))

    def test_no_new_line_is_dropped_whatever_the_filter_believes(self):
        text = self.lines(200_000, 70_001)
        exact = list(dict.fromkeys(text.split(b"\n")[:-1]))
        stdout, stderr = self.run_mankai("dedup", "--confirm", "seen.log", "--fpr", "0.3", "--keys", "1000", "--json", stdin=text)
        self.assertEqual(stdout.split(b"\n")[:-1], exact)
        report = json.loads(stderr)
        self.assertEqual((report["unique"], report["log_keys"]), (70_001, 70_001))
        self.assertGreater(report["rescued"], 1000)
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", stdin=text + b"one more\n"), b"one more\n")

    def test_labels(self):
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", "--label", stdin=b"a\nb\na\n"), b"new\ta\nnew\tb\nrepeat\ta\n")
        self.assertEqual(self.out("dedup", "--label", stdin=b"a\nb\na\n"), b"new\ta\nnew\tb\nmaybe\ta\n")
        text = self.lines(20_000, 9_001)
        seen = set()
        labels = set()
        for line in self.out("dedup", "--confirm", "other.log", "--label", "--fpr", "0.4", "--keys", "1k", stdin=text).splitlines():
            label, url = line.split(b"\t")
            self.assertEqual(label == b"repeat", url in seen)
            seen.add(url)
            labels.add(label)
        self.assertEqual(labels, {b"new", b"repeat", b"rescued"})
        self.error("dedup", "--label", "--repeats", code=2, says="--label")

    def test_options_that_do_not_go_together(self):
        for arguments in (["--state", "s.mk"], ["--forget", "7d"], ["--grow"], ["--kind", "bloom"]):
            self.error("dedup", "--confirm", "seen.log", *arguments, code=2, says=["--confirm", arguments[0]])
        self.run_mankai("dedup", "--confirm", "seen.log", stdin=b"a\n")
        self.error("dedup", "--confirm", "seen.log", "--canonical", code=2, says=["seen.log", "was created with"])
        self.write("text", b"a\n" * 5000)
        self.error("dedup", "--confirm", "text", code=3, says=["text", "not a log of digests"], stdin=b"a\n")
        self.assertEqual(self.read("text"), b"a\n" * 5000)

    def test_spellings_of_a_url(self):
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", "--canonical", stdin=b"http://A.example\na.example/\n"),
                         b"http://A.example\n")

    def test_killed_at_any_moment_no_line_is_lost(self):
        text = self.lines(600_000, 300_001)  # more than are kept in memory
        self.write("urls", text)
        printed = b""
        for wait in (0.02, 0.05, 0.1):
            with open(self.dir / "out", "wb") as out:
                process = subprocess.Popen([MANKAI, "dedup", "--confirm", "seen.log", "urls"], cwd=self.dir, stdout=out)
                time.sleep(wait)
                process.kill()
                process.wait()
            printed += self.read("out")[: self.read("out").rfind(b"\n") + 1]
        printed += self.out("dedup", "--confirm", "seen.log", "urls")
        self.assertEqual(set(printed.split(b"\n")), set(text.split(b"\n")))
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", "urls"), b"")

    def test_a_signal_ends_it_with_what_was_printed(self):
        process = self.start("dedup", "--confirm", "seen.log", preexec_fn=default_signals)
        process.stdin.write(b"one\ntwo\nunfinish")
        process.stdin.flush()
        self.assertEqual((read_line(process.stdout), read_line(process.stdout)), (b"one\n", b"two\n"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 143)
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", stdin=b"one\ntwo\nunfinish\n"), b"unfinish\n")

    def test_what_was_not_written_is_not_in_the_log(self):
        self.write("urls", self.lines(100_000, 50_001))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "dedup", "--confirm", "seen.log", "urls"], cwd=self.dir, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"seen.log does not contain the lines that were not written", done.stderr)
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", "urls").count(b"\n"), 50_001)

    def test_a_log_that_cannot_grow_is_an_error_that_loses_nothing(self):
        text = self.lines(300_000, 290_001)
        self.write("urls", text)

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

        stdout, stderr = self.run_mankai("dedup", "--confirm", "seen.log", "urls", code=4, preexec_fn=little_room)
        self.assertIn(b"seen.log", stderr)
        rest = self.out("dedup", "--confirm", "seen.log", "urls")
        self.assertEqual(set((stdout + rest).split(b"\n")), set(text.split(b"\n")))
        self.assertLess(len(rest.split(b"\n")), 200_000)

    def test_no_line_is_so_short(self):
        self.error("dedup", "--max-line", "0", code=2, says=["--max-line", "at least 1"], stdin=b"a\n")

    def test_a_cut_log_is_refused(self):
        text = self.lines(20_000, 20_000)
        self.run_mankai("dedup", "--confirm", "seen.log", stdin=text)
        whole = self.read("seen.log")
        for size in (len(whole) - 1, 300_000, 4096, 100, 0):
            self.write("seen.log", whole[:size])
            self.error("dedup", "--confirm", "seen.log", code=3, says=["seen.log"], stdin=text)
            self.assertEqual(self.read("seen.log"), whole[:size])

    def test_a_torn_end_is_dropped_and_told(self):
        self.run_mankai("dedup", "--confirm", "seen.log", stdin=b"a\nb\n")
        self.write("seen.log", self.read("seen.log") + b"half a batch")
        stdout, stderr = self.run_mankai("dedup", "--confirm", "seen.log", stdin=b"a\n")
        self.assertEqual(stdout, b"")
        self.assertIn(b"dropped an incomplete batch", stderr)

    def test_the_runs_of_a_log_that_was_moved_are_left_to_it(self):
        text = self.lines(300_000, 290_001)
        self.run_mankai("dedup", "--confirm", "big.log", stdin=text)
        run = self.read("big.log-run-1")
        (self.dir / "big.log").rename(self.dir / "moved")
        self.error("dedup", "--confirm", "big.log", code=2, says=["big.log-run-1", "move it", "another name"], stdin=text)
        self.assertEqual(self.read("big.log-run-1"), run)
        (self.dir / "moved").rename(self.dir / "big.log")
        self.assertEqual(self.out("dedup", "--confirm", "big.log", stdin=text), b"")

    def test_a_damaged_log_is_an_error_that_changes_nothing(self):
        text = self.lines(20_000, 20_000)
        self.run_mankai("dedup", "--confirm", "seen.log", stdin=text)
        whole = self.read("seen.log")
        for place in (5000, len(whole) // 2, len(whole) - 41):
            damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:]
            self.write("seen.log", damaged)
            self.error("dedup", "--confirm", "seen.log", code=3, says=["seen.log: is damaged at offset", "restore"], stdin=text)
            self.assertEqual(self.read("seen.log"), damaged)
        self.write("seen.log", whole)
        self.assertEqual(self.out("dedup", "--confirm", "seen.log", stdin=text), b"")

    def test_real_urls_lose_nothing(self):
        path = SHARED / "data/urls/reddit-links-a.tsv.zst"
        if not path.exists():
            self.skipTest(f"SKIPPED: the shared data set {path} is not on this machine")
        rows = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
        seen = set()
        wanted = []
        for line in rows.removesuffix(b"\n").split(b"\n"):
            line = line.removesuffix(b"\r")
            columns = line.split(b"\t")
            key = columns[2] if len(columns) > 2 else b"\n" + line
            if key not in seen:
                seen.add(key)
                wanted.append(line)
        stdout, stderr = self.run_mankai("dedup", "--confirm", "seen.log", "--field", "3", "--fpr", "0.05", "--json", path)
        self.assertEqual(stdout.split(b"\n")[:-1], wanted, "not the lines that an exact set gives")
        report = json.loads(stderr)
        self.assertGreater(report["rescued"], 0)
        print(f"real URLs: {len(wanted)} unique of {report['lines']}, {report['rescued']} rescued, none dropped")


if __name__ == "__main__":
    main()
