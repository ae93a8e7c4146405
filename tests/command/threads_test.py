#!/usr/bin/env python3
"""--threads, on the built command: the same bytes, errors and manners as one thread, for any number of them."""
import gzip
import json
import lzma
import os
import signal
import subprocess

from harness import PATIENCE, CommandTest, default_signals, main, read_line

SEED = "00112233445566778899aabbccddeeff"
THREADS = ("1", "2", "8")


def zstd(text):
    return subprocess.run(["zstd", "-c"], input=text, capture_output=True, check=True).stdout


def urls(first, count):
    """A third of the lines repeat those of the file before."""
    return b"".join(b"https://site%d.example/a/%d/page\n" % (n % 97, n) for n in range(first, first + count))


def log(first, count):
    lines = [b'10.0.0.%d - - [01/Jul/2026:%02d:%02d:%02d +0000] "GET /page/%d?q=%d HTTP/1.1" 200 512 "-" "-"\n'
             % (n % 250, n // 3600 % 24, n // 60 % 60, n % 60, n * n % 211, n) for n in range(first, first + count)]
    return b"".join(lines)


class SameBytes(CommandTest):
    def each(self, *arguments, **options):
        """Runs the command with each number of threads; returns what all of them printed."""
        results = {threads: self.run_mankai(*arguments, "--threads", threads, **options) for threads in THREADS}
        for threads in THREADS:
            self.assertEqual(results[threads], results["1"], threads)
        return results["1"]

    def inputs(self, make, size):
        """Plain, compressed and empty inputs, more than there are threads, one of them standard input."""
        texts = [make(index * size * 2 // 3, size) for index in range(12)]
        names = []
        for index, text in enumerate(texts):
            self.write(f"{index}", (bytes, gzip.compress, zstd, lzma.compress)[index % 4](text))
            names += [f"{index}", "empty"]
        self.write("empty", b"")
        names[10] = "-"
        return names, texts[5], b"".join(texts)

    def test_dedup(self):
        names, stdin, text = self.inputs(urls, 4000)
        for options in ([], ["--canonical"], ["--repeats"], ["--label"], ["--field", "4", "--delimiter", "/"],
                        ["--forget", "1h"]):
            with self.subTest(options):
                out, _ = self.each("dedup", "--seed", SEED, *options, *names, stdin=stdin)
                if not options:
                    self.assertEqual(out, self.out("dedup", "--seed", SEED, "--threads", "1", stdin=text))
                    self.assertGreater(len(out), len(text) // 2)

    def test_lines_of_every_shape(self):
        lines = [b"%d %s" % (n % 5000, b"x" * (n * n % 90)) for n in range(9000)]
        text = b"\n".join(lines)  # the last one without a line feed
        self.write("crlf", text.replace(b"\n", b"\r\n"))
        self.write("nul", text.replace(b"x", b"\0\xff") + b"\n\n\n")
        self.write("long", b"\n".join([b"y" * 700_000, b"short", b"z" * 3_000_000, b"", b"w" * 262_143, b"v" * 262_144]))
        self.write("gap", b"")
        for compress in (bytes, gzip.compress, zstd, lzma.compress):
            for name in ("crlf", "nul", "long"):
                self.write("c" + name, compress(self.read(name)))
            out = self.each("dedup", "--seed", SEED, "crlf", "gap", "cnul", "clong", "cnul", "long", "-", stdin=text)[0]
            self.assertGreater(len(out), 5_000_000)
            self.assertTrue(b"\n" + b"z" * 3_000_000 + b"\n" in out)  # a failed assertIn would print it

    def test_summaries_and_the_exact_log(self):
        names, stdin, _ = self.inputs(urls, 1500)
        results = []
        for threads in THREADS:
            log = ("--confirm", f"{threads}.log", "--seed", SEED, "--threads", threads)
            out, error = self.run_mankai("dedup", "--label", "--json", *log, *names, stdin=stdin)
            summary = json.loads(error)
            del summary["seconds"]
            results.append((out, summary, self.read(f"{threads}.log")))
        self.assertEqual(results, [results[0]] * len(THREADS))

    def test_dedup_of_archives(self):
        record = b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nContent-Length: 4\r\n\r\nbody\r\n\r\n"
        for name in "ab":
            self.write(name, b"".join(gzip.compress(record % (kind, b"http://%s.example/%d" % (name.encode(), n % 900)))
                                      for n in range(1000) for kind in (b"request", b"response")))
        self.write("c", b" CDX N b a\n" + b"".join(b"x 2026 http://c.example/%d\n" % n for n in range(3000)))
        self.write("d", b" CDX N b a\nx 2026 http://d.example/\n")
        self.write("e", b"".join(b'com,e)/%d 2026 {"url": "http://e.example/\\u0041%d"}\n' % (n, n) for n in range(3000)))
        self.write("f", b"".join(b"x 2026 http://f.example/%d\n" % n + b" CDX a b N\n" * (n == 1500) for n in range(3000)))
        out, _ = self.each("dedup", "--seed", SEED, "a", "b", "c", "d", "e", "--format", "auto")
        self.assertEqual(out.count(b"CDX"), 1)
        self.each("dedup", "--seed", SEED, "c", "f", "e", "--format", "cdx")
        self.write("requests", gzip.compress(record % (b"request", b"http://r.example/")) * 3000)
        self.write("text", urls(0, 3000))
        for options in ([], ["--label"], ["--repeats"]):
            for before in ("c", "text"):
                out, _ = self.each("dedup", "--seed", SEED, *options, before, "requests", before, "requests")
                self.assertNotIn(b"r.example", out)

    def test_state(self):
        names, stdin, text = self.inputs(urls, 2000)
        printed = []
        for threads in THREADS:
            state = ("--threads", threads, "--state", f"{threads}.mk")
            printed.append(self.out("dedup", "--seed", SEED, *state, *names, stdin=stdin))
            self.assertEqual(self.out("dedup", *state, stdin=text), b"")
        self.assertEqual(printed, [printed[0]] * len(THREADS))

    def test_counts_in_a_state(self):
        names, stdin, _ = self.inputs(log, 1500)
        for threads in THREADS:
            self.out("hot", "--seed", SEED, "--threads", threads, "--state", f"{threads}.mk", "--position", "p1", *names,
                     stdin=stdin)
            self.assertEqual(self.out("hot", "--json", "--state", f"{threads}.mk"), self.out("hot", "--json", "--state", "1.mk"))

    def test_hot(self):
        names, stdin, _ = self.inputs(log, 4000)
        self.write("w3c", b"#Fields: date time cs-uri-stem\n2026-07-02 00:00:00 /w3c\n#Fields: cs-uri-stem date time\n" +
                   b"".join(b"/w%d 2026-07-02 00:00:01\n" % (n % 7) for n in range(3000)))
        self.write("json", b"".join(b'{"time":"2026-07-03T00:00:00Z","uri":"/j\\u0041%d"}\n' % (n % 5) for n in range(3000)))
        self.write("keys", b"a key\nanother\n" * 700)
        self.write("odd", b'10.0.0.1 - - [31/Feb/2026:00:00:00 +0000] "GET /x HTTP/1.1" 200 1\n' + log(0, 700) + b"junk\n")
        for options in (["--json"], ["--by", "url"], ["--match", "page/([0-9]+)"], ["--every", "10m", "--top", "3"],
                        ["--exact"], ["--all-time", "--by", "client"]):
            with self.subTest(options):
                self.each("hot", "--seed", SEED, *options, *names, "w3c", "json", "keys", "odd", "keys", stdin=stdin)

    def test_guard_check(self):
        self.write("rules", b"site1.example\nsite2.example/a/99/\n")
        self.out("guard", "build", "g.mkg", "rules")
        names, stdin, _ = self.inputs(urls, 3000)
        inputs = [word for name in names for word in ("-i", name)]
        for options in ([], ["--json"], ["--blocked"], ["--ok"]):
            with self.subTest(options):
                self.assertNotEqual(self.each("guard", "check", "g.mkg", *options, *inputs, stdin=stdin)[0], b"")
        self.assertEqual(self.each("guard", "check", "g.mkg", "--quiet", *inputs, stdin=stdin, code=1), (b"", b""))

    def test_many_empty_inputs(self):
        self.write("x", b"x\n")
        self.write("empty", b"")
        for names in (["empty"] * 300 + ["x"], ["x"] + ["empty"] * 300 + ["x"]):
            for _ in range(10):
                self.assertEqual(self.each("dedup", *names)[0], b"x\n")

    def test_errors_come_in_the_order_of_the_inputs(self):
        good = urls(0, 4000)
        self.write("good", good)
        self.write("cut.gz", gzip.compress(urls(4000, 9000))[:-900])
        self.write("bad.gz", gzip.compress(good)[:200] + b"\0" * 200)
        self.write("rest.gz", gzip.compress(b"one\n") + b"rest")
        out, error = self.each("dedup", "--seed", SEED, "good", "rest.gz", "cut.gz", code=3)
        self.assertEqual(out, good + b"one\n")
        self.assertIn(b"rest.gz: the gzip data ends at compressed byte 24, and other bytes follow", error)
        out, error = self.each("dedup", "--seed", SEED, "good", "cut.gz", "bad.gz", "good", code=3)
        self.assertTrue(out.startswith(good))
        self.assertIn(b"cut.gz", error)
        self.assertNotIn(b"bad.gz", error)
        for compress in (zstd, lzma.compress):
            self.write("cut", compress(urls(4000, 9000))[:-200])
            out, error = self.each("dedup", "--seed", SEED, "good", "cut", "bad.gz", code=3)
            self.assertTrue(out.startswith(good))
            self.assertIn(b"cut", error)
        self.assertIn(b"missing", self.each("hot", "good", "missing", code=4)[1])
        self.assertIn(b"good", self.each("dedup", "--max-line", "8", "good", code=4)[1])

    def test_the_number_is_checked(self):
        for number in ("0", "65", "two"):
            self.error("dedup", "--threads", number, code=2, says="--threads")


class Streams(CommandTest):
    def test_lines_of_a_pipe_are_answered_as_they_come(self):
        self.write("rules", b"bad.example\n")
        self.out("guard", "build", "g.mkg", "rules")
        self.write("before.gz", gzip.compress(b"http://first.example/\n"))
        for command, line, answer in ((["dedup", "before.gz", "-"], b"http://a.example/%d\n", b"http://a.example/%d\n"),
                                      (["guard", "check", "g.mkg", "-i", "before.gz", "-i", "-"],
                                       b"http://bad.example/%d\n", b"blocked\thttp://bad.example/%d\tbad.example\n")):
            for threads in THREADS:
                with self.subTest(command=command, threads=threads):
                    process = self.start(*command, "--threads", threads)
                    self.assertIn(b"first.example", read_line(process.stdout))
                    for number in range(3):
                        process.stdin.write(line % number)
                        process.stdin.flush()
                        self.assertEqual(read_line(process.stdout), answer % number)
                    process.stdin.close()
                    self.assertEqual(process.wait(), 0)

    def test_standard_input_twice_and_named_pipes(self):
        text = urls(0, 5000)
        for threads in THREADS:
            self.assertEqual(self.out("dedup", "--seed", SEED, "--threads", threads, "-", "-", stdin=text),
                             self.out("dedup", "--seed", SEED, "--threads", "1", stdin=text))
        os.mkfifo(self.dir / "a")
        os.mkfifo(self.dir / "b")
        self.write("first", b"first\n")
        for threads in THREADS:
            process = self.start("dedup", "--threads", threads, "first", "a", "b")
            self.assertEqual(read_line(process.stdout), b"first\n")  # before the pipe has a writer
            for name in "ab":  # opened when its turn comes
                (self.dir / name).write_bytes(b"%s\n" % name.encode())
            self.assertEqual(process.communicate()[0], b"a\nb\n")

    def test_a_reader_that_has_had_enough_is_no_error(self):
        self.write("many.gz", gzip.compress(urls(0, 60000)))
        for threads in THREADS:
            process = self.start("dedup", "--threads", threads, *["many.gz"] * 4, "-")
            self.assertIn(b"example", read_line(process.stdout))
            process.stdout.close()
            self.assertEqual(process.wait(), 0)

    def test_an_answer_that_decides_ends_the_command(self):
        self.write("rules", b"bad.example\n")
        self.out("guard", "build", "g.mkg", "rules")
        for threads in THREADS:
            process = self.start("guard", "check", "--quiet", "--threads", threads, "g.mkg")
            process.stdin.write(b"http://bad.example/\n")
            process.stdin.flush()  # and not closed
            self.assertEqual(process.wait(PATIENCE), 1, threads)

    def test_stops_when_asked_while_a_thread_waits(self):
        self.write("first.gz", gzip.compress(b"one\n"))
        os.mkfifo(self.dir / "pipe")
        for last in ("-", "pipe"):
            for threads in THREADS:
                with self.subTest(last=last, threads=threads):
                    state = f"{last}{threads}.mk"
                    process = self.start("dedup", "--threads", threads, "--state", state, "first.gz", last,
                                         preexec_fn=default_signals)
                    self.assertEqual(read_line(process.stdout), b"one\n")
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(), 128 + signal.SIGTERM)
                    self.assertEqual(self.out("dedup", "--state", state, "first.gz"), b"")

    def test_a_signal_just_before_a_pipe_is_opened_is_not_lost(self):
        self.write("first", b"one\n")
        os.mkfifo(self.dir / "pipe")
        for threads in THREADS:
            for _ in range(20):
                process = self.start("dedup", "--threads", threads, "first", "pipe", preexec_fn=default_signals)
                self.assertEqual(process.stdout.read(1), b"o")
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
