"""What examples/redis shows runs, and does what it says."""
import os
import pathlib
import subprocess
import sys
import unittest

from harness import RedisTest, main, needs_module

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "redis"


def has_redis_py(python):
    try:
        return subprocess.run([python, "-c", "import redis"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


# The packages of Debian belong to Debian's Python, which need not be the one that runs this.
PYTHON = next(filter(has_redis_py, (sys.executable, "/usr/bin/python3")), None)


@needs_module
class ExamplesTest(RedisTest):
    def setUp(self):
        self.server = self.start(tcp=True)

    def run_example(self, words, text="", **environment):
        done = subprocess.run(list(map(str, words)), input=text, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment}, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_fresh_lines(self):
        urls = self.server.folder / "urls.txt"
        lines = [f"https://example.org/{number}?q='a b'" for number in range(2500)]
        environment = {"REDIS_CLI": f"redis-cli -p {self.server.port}"}
        seen = []
        for some in (lines[:2000], lines[1000:], lines):
            urls.write_text("\n".join(some).replace("'", "%27").replace(" ", "+") + "\n")
            seen.append(self.run_example([EXAMPLES / "fresh.sh", urls], **environment).split("\n")[:-1])
        self.assertGreater(len(seen[0]), 1950)
        self.assertTrue(450 < len(seen[1]) <= 500 + 2000 - len(seen[0]), len(seen[1]))
        self.assertTrue(all(line in urls.read_text() for line in seen[1]))
        self.assertEqual(seen[2], [])

    def test_fresh_lines_says_what_went_wrong(self):
        lines = self.server.folder / "lines.txt"
        lines.write_text("".join(f"line{number}\n" for number in range(3000)))
        client = self.server.client()
        client.must("SET", "wrong", "x")
        client.must("BF.RESERVE", "small", "0.01", 3, "NONSCALING")
        for key, printed, error in (("wrong", 0, "WRONGTYPE"), ("small", 3, "filter is full")):
            done = subprocess.run([EXAMPLES / "fresh.sh", lines], capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, "KEY": key, "REDIS_CLI": f"redis-cli -p {self.server.port}"})
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stdout.splitlines()), printed)
            self.assertIn(error, done.stderr)

    @unittest.skipUnless(PYTHON, "SKIPPED: there is no redis-py. tools/install_dependencies.sh test installs it.")
    def test_visitors(self):
        log = "".join(f"2026-11-{20 + number // 1500} cookie:{number % 1100}\n" for number in range(3000))
        words = [PYTHON, EXAMPLES / "visitors.py", "--port", self.server.port]
        counts = [dict(line.split() for line in self.run_example(words, log).strip().split("\n")) for _ in range(2)]
        for day in ("2026-11-20", "2026-11-21"):
            self.assertTrue(1090 <= int(counts[0][day]) <= 1100, counts)
            self.assertEqual(counts[1][day], "0")
            self.assertGreater(self.server.client().must("TTL", f"visitors:{{{day}}}"), 86400)


if __name__ == "__main__":
    if PYTHON is None:
        print("examples_test: redis-py is missing: its example is not run", file=sys.stderr)
    main()
