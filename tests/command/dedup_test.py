#!/usr/bin/env python3
"""mankai dedup, on the built command: against an exact model, with state, signals, pipes and odd bytes."""
import fcntl
import gzip
import json
import lzma
import os
import random
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import MANKAI, SHARED, CommandTest, default_signals, main, read_line


# Of each byte one that no line ends with.
PRINTABLE = bytes(32 + byte % 95 for byte in range(256))


def exact(lines, key=lambda line: line):
    """What awk '!seen[$0]++' prints."""
    seen = set()
    return [line for line in lines if not (key(line) in seen or seen.add(key(line)))]


def lost(printed, wanted):
    """Returns how many of the wanted lines are missing; fails unless what is there is in order and nothing else."""
    position = 0
    missing = 0
    for line in printed:
        while position < len(wanted) and wanted[position] != line:
            position += 1
            missing += 1
        if position == len(wanted):
            raise AssertionError(f"{line!r} is a repeat, out of order or changed")
        position += 1
    return missing + len(wanted) - position


class Lines(CommandTest):
    def test_prints_each_line_the_first_time(self):
        self.assertEqual(self.out("dedup", stdin=b"a\nb\na\nc\nb\n"), b"a\nb\nc\n")
        self.assertEqual(self.out("dedup", "--repeats", stdin=b"a\nb\na\nc\nb\na\n"), b"a\nb\na\n")
        self.assertEqual(self.out("dedup", stdin=b""), b"")
        self.assertEqual(self.out("dedup", stdin=b"\n\n\n"), b"\n")

    def test_bytes_are_kept(self):
        self.assertEqual(self.out("dedup", stdin=b"nul\0byte\n\xff\xfe\n \t\nnul\0byte\nnul\n"), b"nul\0byte\n\xff\xfe\n \t\nnul\n")
        self.assertEqual(self.out("dedup", stdin=b"crlf\r\ncrlf\ncr\rin\r\r\nlast"), b"crlf\ncr\rin\r\nlast\n")
        self.assertEqual(self.out("dedup", stdin=b"a\r\nb\nc\r\nd\r\na\n"), b"a\nb\nc\nd\n")
        self.assertEqual(self.out("dedup", stdin=b"last\r"), b"last\r\n")
        long = os.urandom(1 << 20).replace(b"\n", b"x").replace(b"\r", b"x")
        self.assertEqual(self.out("dedup", stdin=long + b"\n" + long[:-1] + b"\n" + long), long + b"\n" + long[:-1] + b"\n")

    def test_inputs_in_order_and_compressed(self):
        self.write("plain", b"1\n2")
        self.write("a", gzip.compress(b"2\n3\n"))
        self.write("b", lzma.compress(b"4\n"))
        self.write("c", subprocess.run(["zstd", "-c"], input=b"1\n5\n", capture_output=True, check=True).stdout)
        self.assertEqual(self.out("dedup", "plain", "a", "b", "-", "c", stdin=b"9\n3\n"), b"1\n2\n3\n4\n9\n5\n")
        self.assertEqual(self.out("dedup", "a", "a"), b"2\n3\n")
        os.mkfifo(self.dir / "pipe")
        process = self.start("dedup", "pipe", "plain")
        with open(self.dir / "pipe", "wb") as pipe:
            pipe.write(b"7\n1\n")
        self.assertEqual(process.communicate(timeout=20)[0], b"7\n1\n2\n")

    def test_fields(self):
        table = b"1\tx\tA\n2\ty\tB\n3\tx\tC\nheader\n4\tz\nheader\nx\n5\t\tD\n6\t\tE\n"
        self.assertEqual(self.out("dedup", "--field", "2", stdin=table), b"1\tx\tA\n2\ty\tB\nheader\n4\tz\nx\n5\t\tD\n")
        _, stderr = self.run_mankai("dedup", "--field", "2", stdin=table)
        self.assertIn(b"3 lines have no field 2", stderr)
        self.assertEqual(self.out("dedup", "--field", "1", "--delimiter", ",", stdin=b"a,1\na,2\nb\na\n"), b"a,1\nb\n")
        self.assertEqual(self.out("dedup", "--field=2", "--delimiter=\\t", stdin=b"1\ta\r\n2\ta\n"), b"1\ta\n")
        self.error("dedup", "--field", "0", code=2, says="--field")
        self.error("dedup", "--delimiter", ",", code=2, says="--field")
        self.error("dedup", "--field", "1", "--delimiter", "ab", code=2, says="--delimiter")

    def test_summary(self):
        stdout, stderr = self.run_mankai("dedup", "--json", "--keys", "100", stdin=b"a\nb\na\n")
        report = json.loads(stderr)
        self.assertEqual((stdout, report["lines"], report["unique"], report["repeats"], report["capacity_keys"],
                          report["over_capacity"]), (b"a\nb\n", 3, 2, 1, 100, False))
        _, stderr = self.run_mankai("dedup", "--count", stdin=b"a\nb\na\n")
        self.assertRegex(stderr, rb"(?m)^unique +2$")
        self.assertRegex(stderr, rb"(?m)^repeats +1$")
        self.assertNotIn(b"compressed", stderr)
        _, stderr = self.run_mankai("dedup", "--count", stdin=gzip.compress(b"a\n"))
        self.assertRegex(stderr, rb"(?m)^read .* compressed$")
        _, stderr = self.run_mankai("dedup", "--repeats", "--json", stdin=b"a\nb\na\n")
        self.assertEqual(json.loads(stderr)["unique"], 2)

    def test_beyond_the_capacity_warns_once_and_at_the_end(self):
        text = b"".join(b"%d\n" % i for i in range(15000))
        stdout, stderr = self.run_mankai("dedup", "--keys", "10000", "--seed", "1", stdin=text)
        self.assertEqual(stderr.count(b"\n"), 2)
        self.assertEqual(stderr.count(b"warning"), 2)
        self.assertLess(stdout.count(b"\n"), 15000)
        _, stderr = self.run_mankai("dedup", "--keys", "10000", "--seed", "1", "--count", stdin=text)
        self.assertIn(b"over capacity", stderr)

    def test_more_than_twice_the_capacity_is_an_exit_code_of_its_own(self):
        text = b"".join(b"%d\n" % i for i in range(50000))
        stdout, stderr = self.run_mankai("dedup", "--keys", "10000", "--seed", "1", stdin=text, code=5)
        self.assertGreater(stdout.count(b"\n"), 20000)
        self.assertIn(b"more than twice the capacity", stderr.splitlines()[-1])
        self.assertIn(b"without --keys", stderr.splitlines()[-1])
        # What was printed is in the state, and the next run says it again.
        kept = self.run_mankai("dedup", "--state", "s.mk", "--keys", "10000", "--seed", "1", stdin=text, code=5)[0]
        self.assertEqual(kept, stdout)
        again, stderr = self.run_mankai("dedup", "--state", "s.mk", "--json", stdin=text, code=5)
        self.assertEqual(again, b"")
        self.assertIn(b"s.mk: more than twice", stderr)
        # Of a window, in the part in which they came; the parts before and after are not too full.
        times = b"".join(b"%d\t%d\n" % (1_700_000_000 + i // 10, i) for i in range(50000))
        for keys, code in (("1M", 0), ("1000", 5)):
            self.run_mankai("dedup", "--forget", "1h", "--time-field", "1", "--field", "2", "--keys", keys, stdin=times, code=code)

    def test_without_keys_it_grows(self):
        count = 1_300_000
        text = b"".join(b"%d\n" % i for i in range(count))
        stdout, stderr = self.run_mankai("dedup", "--json", "--seed", "1", stdin=text)
        report = json.loads(stderr)
        self.assertEqual(report["over_capacity"], False)
        self.assertGreater(report["capacity_keys"], count)
        self.assertGreater(stdout.count(b"\n"), 0.999 * count)

    def test_a_state_keeps_its_kind(self):
        self.out("dedup", "--state", "new.mk", stdin=b"a\n")
        self.assertEqual(json.loads(self.out("info", "--json", "new.mk"))["kind"], "scalable-bloom")
        self.out("dedup", "--state", "sized.mk", "--keys", "1000", stdin=b"a\n")
        self.assertEqual(self.out("dedup", "--state", "sized.mk", stdin=b"a\nb\n"), b"b\n")
        self.assertEqual(json.loads(self.out("info", "--json", "sized.mk"))["kind"], "blocked-bloom")
        self.out("dedup", "--state", "window.mk", "--forget", "1h", stdin=b"a\n")
        self.assertEqual(json.loads(self.out("info", "--json", "window.mk"))["kind"], "rotating-bloom")

    def test_a_window_remembers_no_more_than_was_printed(self):
        chance = random.Random(1)
        text = b"".join(b"%d\tk%d\n" % (1_700_000_000 + 10 * i, chance.randrange(50000)) for i in range(200_000))
        report = json.loads(self.run_mankai("dedup", "--forget", "6h", "--field", "2", "--time-field", "1", "--keys", "20k",
                                            "--json", stdin=text)[1])
        self.assertLessEqual(report["keys_inserted"], report["unique"])
        self.assertLess(report["keys_inserted"], 5000)  # of 8 hours, with a record every ten seconds


class Model(CommandTest):
    def test_equals_awk_but_for_lost_first_occurrences(self):
        for seed in range(12):
            chance = random.Random(seed)
            alphabet = [chance.randbytes(chance.choice([0, 1, 5, 60, 3000])).translate(PRINTABLE) for _ in
                        range(chance.choice([1, 10, 3000]))]
            lines = chance.choices(alphabet, k=chance.choice([1, 1023, 1024, 1025, 8000]))
            ends = chance.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
            text = b"".join(line + chance.choice(ends) for line in lines)
            kind = chance.choice(["bloom", "blocked-bloom"])
            with self.subTest(seed=seed):
                printed = self.out("dedup", "--kind", kind, "--keys", "10k", "--fpr", "1e-6", "--seed", str(seed), stdin=text)
                self.assertEqual(lost(printed.split(b"\n")[:-1], exact(lines)), 0)
                again = self.out("dedup", "--kind", kind, "--keys", "10k", "--fpr", "1e-6", "--seed", str(seed),
                                 "--repeats", stdin=text)
                self.assertEqual(printed.count(b"\n") + again.count(b"\n"), len(lines))

    def test_loses_no_more_than_promised(self):
        text = self.out("gen", "urls", "--count", "200k")
        wanted = exact(text.split(b"\n")[:-1])
        printed = self.out("dedup", "--keys", str(len(wanted)), "--fpr", "0.01", "--seed", "3", stdin=text)
        self.assertLess(lost(printed.split(b"\n")[:-1], wanted), 0.01 * len(wanted))

    def test_real_urls(self):
        path = SHARED / "data/urls/reddit-links-a.tsv.zst"
        if not path.exists():
            self.skipTest(f"SKIPPED: the shared data set {path} is not on this machine")
        rows = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
        lines = [line.removesuffix(b"\r") for line in rows.removesuffix(b"\n").split(b"\n")]

        def url(line):
            columns = line.split(b"\t")
            return columns[2] if len(columns) > 2 else b"\n" + line

        wanted = exact(lines, url)
        printed = self.out("dedup", "--field", "3", "--fpr", "0.001", "--keys", str(len(wanted)), "--seed", "1", str(path))
        urls = [url(line) for line in printed.split(b"\n")[:-1]]
        self.assertEqual(len(urls), len(set(urls)), "a repeat was printed")
        missing = lost(printed.split(b"\n")[:-1], wanted)
        self.assertLessEqual(missing, 0.001 * len(wanted))
        print(f"real URLs: {len(lines)} lines, {len(wanted)} unique, {missing} first occurrences lost")


class State(CommandTest):
    def test_remembers_between_runs(self):
        self.assertEqual(self.out("dedup", "--state", "s.mk", "--keys", "1000", stdin=b"a\nb\n"), b"a\nb\n")
        self.assertEqual(self.out("dedup", "--state", "s.mk", stdin=b"b\nc\na\n"), b"c\n")
        self.assertEqual(self.out("dedup", "--state", "s.mk", "--keys", "1000", stdin=b"c\nd\n"), b"d\n")
        self.assertEqual(self.out("check", "s.mk", "a", "d", "e"), b"yes\ta\nyes\td\nno\te\n")
        self.assert_no_temporaries()

    def test_made_with_other_options_is_an_error_that_says_so(self):
        self.run_mankai("dedup", "--state", "s.mk", "--keys", "1000", "--fpr", "1%", stdin=b"a\n")
        before = self.read("s.mk")
        for arguments in (["--keys", "2000"], ["--fpr", "0.5"], ["--kind", "bloom"], ["--hash", "siphash"], ["--seed", "1"]):
            with self.subTest(arguments):
                stdout = self.error("dedup", "--state", "s.mk", *arguments, code=2, says=["s.mk", "was created as", "keys=1000"],
                                    stdin=b"b\n")
                self.assertEqual(stdout, b"")
        self.assertEqual(self.read("s.mk"), before)

    def test_signals_save_what_was_printed(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(signal=number):
                name = f"{number}.mk"
                process = self.start("dedup", "--state", name, "--keys", "1000", preexec_fn=default_signals)
                process.stdin.write(b"one\ntwo\nunfinish")
                process.stdin.flush()
                self.assertEqual((read_line(process.stdout), read_line(process.stdout)), (b"one\n", b"two\n"))
                process.send_signal(number)
                self.assertEqual(process.wait(20), code, process.stderr.read())
                self.assertEqual(process.stdout.read(), b"")
                self.assertEqual(self.out("dedup", "--state", name, stdin=b"one\ntwo\nunfinish\nthree"), b"unfinish\nthree\n")
                self.assert_no_temporaries()

    def test_a_signal_that_comes_twice_saves_what_was_printed(self):
        # As timeout(1) sends it. The full pipe keeps the command from ending before it is read. A slow machine may delay
        # the second one for so long that it is another request, but not every time.
        self.write("big", b"".join(b"line %d\n" % i for i in range(50_000)))
        codes = []
        while len(codes) < 10 and 143 not in codes:
            process = self.start("dedup", "--state", f"{len(codes)}.mk", "big", preexec_fn=default_signals)
            filled, before = 0, -1
            while filled == 0 or filled != before:
                time.sleep(0.05)
                filled, before = struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0], filled
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            printed = process.stdout.read()
            codes.append(process.wait(20))
        self.assertEqual(codes[-1], 143, codes)
        rest = self.out("dedup", "--state", f"{len(codes) - 1}.mk", "big")
        self.assertEqual(printed + rest, self.read("big"))

    def test_signal_in_the_middle_of_a_file_remembers_exactly_what_was_printed(self):
        self.write("big", b"".join(b"line %d\n" % i for i in range(300_000)))
        # A seed, so that whether an absent key is reported as a repeat is the same in every run: here none is.
        process = self.start("dedup", "--state", "s.mk", "--kind", "bloom", "--fpr", "1e-9", "--keys", "400k", "--seed",
                             "1", "big", preexec_fn=default_signals)
        printed = process.stdout.read(100000)
        process.send_signal(signal.SIGTERM)
        printed += process.stdout.read()
        self.assertEqual(process.wait(20), 143)
        self.assertLess(printed.count(b"\n"), 300_000)
        rest = self.out("dedup", "--state", "s.mk", "big")
        self.assertEqual(lost((printed + rest).split(b"\n")[:-1], self.read("big").split(b"\n")[:-1]), 0)

    def test_killed_remembers_what_was_printed(self):
        self.run_mankai("dedup", "--state", "s.mk", "--keys", "1000", stdin=b"a\n")
        process = self.start("dedup", "--state", "s.mk")
        for line in (b"b\n", b"c\n"):
            process.stdin.write(line)
            process.stdin.flush()
            self.assertEqual(read_line(process.stdout), line)
        process.kill()
        process.wait(20)
        # The last line may have been printed and not yet noted.
        self.assertIn(self.out("dedup", "--state", "s.mk", stdin=b"a\nb\nc\nd\n"), (b"d\n", b"c\nd\n"))

    def test_what_was_not_written_is_not_remembered(self):
        self.run_mankai("dedup", "--state", "s.mk", "--keys", "1M", stdin=b"a\n")
        before = self.read("s.mk")[:-4608]  # without the footer, which names the last journal
        self.write("big", b"".join(b"line %d\n" % i for i in range(200000)))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "dedup", "--state", "s.mk", "big"], cwd=self.dir, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"s.mk does not contain the lines that were not written", done.stderr)
        self.assertEqual(self.read("s.mk")[:-4608], before)
        self.assertEqual(json.loads(self.out("info", "--json", "s.mk"))["sequence"], 1)
        self.assertFalse((self.dir / "s.mk-journal").exists())
        done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" dedup --state s.mk big | head -n 1', MANKAI],
                              cwd=self.dir, capture_output=True, check=False, preexec_fn=default_signals)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"s.mk does not contain the lines that were not written", done.stderr)
        self.assertFalse((self.dir / "s.mk-journal").exists())
        # What was written and what comes now are all lines, none of them lost.
        known = json.loads(self.out("info", "--json", "s.mk"))["sequence"] - 1
        self.assertLess(known, 200000)
        rest = self.out("dedup", "--state", "s.mk", "big").split(b"\n")[:-1]
        self.assertEqual(rest[-1], b"line 199999")
        self.assertLess(lost(rest, [b"line %d" % i for i in range(known, 200000)]), 0.01 * 200000)
        self.assert_no_temporaries()

    def test_an_unreadable_input_keeps_what_was_printed(self):
        packed = gzip.compress(b"".join(b"%d\n" % i for i in range(100000)))
        self.write("cut.gz", packed[: len(packed) // 2])
        stdout = self.error("dedup", "--state", "s.mk", "--keys", "1M", "cut.gz", code=3, says="cut.gz")
        self.assertGreater(stdout.count(b"\n"), 1000)
        self.assertEqual(self.out("dedup", "--state", "s.mk", "--repeats", stdin=stdout), stdout)

    def test_a_misspelled_input_is_found_before_anything_is_printed(self):
        self.write("good", b"a\n")
        for bad in ("none.txt", "."):
            self.assertEqual(self.error("dedup", "--state", "s.mk", "--keys", "1000", "good", bad, code=4, says=bad), b"")
        self.assertEqual(self.out("dedup", "--state", "s.mk", "good"), b"a\n")

    def test_an_endless_line_is_an_error_with_its_place(self):
        self.error("dedup", "--max-line", "1000", code=4, says=["standard input", "line 2", "byte 6", "give a larger --max-line"],
                   stdin=b"short\n" + b"x" * 2000)

    def test_folder_that_is_not_there(self):
        self.error("dedup", "--state", "no/such/s.mk", code=4, says="no/such/s.mk", stdin=b"a\n")


class Live(CommandTest):
    def test_a_line_comes_out_at_once(self):
        process = self.start("dedup")
        for sent, comes in ((b"a\n", b"a\n"), (b"a\nb\nhalf", b"b\n"), (b" line\n", b"half line\n")):
            process.stdin.write(sent)
            process.stdin.flush()
            started = time.monotonic()
            self.assertEqual(read_line(process.stdout), comes)
            self.assertLess(time.monotonic() - started, 5)
        process.stdin.close()
        self.assertEqual(process.wait(20), 0)

    def test_compressed_pipes_too(self):
        process = self.start("dedup")
        packer = subprocess.Popen(["gzip", "-c"], stdin=subprocess.PIPE, stdout=process.stdin)
        packer.communicate(b"x\ny\nx\n")
        self.assertEqual((read_line(process.stdout), read_line(process.stdout)), (b"x\n", b"y\n"))


if __name__ == "__main__":
    main()
