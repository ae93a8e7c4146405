"""Runs the built command in a folder of its own, for the suites beside this file.

Usage: SUITE_test.py MANKAI SHARE_FOLDER SHARED_DATA_FOLDER [unittest arguments...]
"""
import array
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MANKAI, SHARE, SHARED = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
PATIENCE = 60  # seconds: more than any sanitizer needs


class CommandTest(unittest.TestCase):
    """A temporary folder as the working directory of every command."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.dir = pathlib.Path(self._folder.name)

    def run_mankai(self, *arguments, stdin=b"", code=0, **options):
        """Runs the command, checks its exit code and returns (standard output, standard error) as bytes."""
        done = subprocess.run([MANKAI, *arguments], input=stdin, capture_output=True, cwd=self.dir, check=False,
                              timeout=PATIENCE, **options)
        self.assertEqual(done.returncode, code,
                         f"mankai {' '.join(map(str, arguments))}: {done.stderr.decode(errors='replace')}")
        return done.stdout, done.stderr

    def out(self, *arguments, **options):
        return self.run_mankai(*arguments, **options)[0]

    def error(self, *arguments, code, says=(), **options):
        """Runs a command that must fail with one line on standard error that names what is wrong."""
        stdout, stderr = self.run_mankai(*arguments, code=code, **options)
        text = stderr.decode()
        self.assertRegex(text, r"\Amankai: [^\n]+\n\Z", "an error is one line")
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, text)
        self.assertNotIn("/tmp-", text)
        return stdout

    def start(self, *arguments, **options):
        process = subprocess.Popen([MANKAI, *arguments], cwd=self.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **options)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                stream.close()
            except OSError:
                pass
        process.wait()

    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        return path

    def read(self, name):
        return (self.dir / name).read_bytes()

    def new_filter(self, name="f.mk", keys="1000", *more):
        self.run_mankai("create", name, "--keys", keys, *more)
        return self.dir / name

    def assert_no_temporaries(self):
        left = [path.name for path in self.dir.iterdir() if ".tmp-" in path.name]
        self.assertEqual(left, [], "temporary files were left behind")


def read_line(stream, seconds=10):
    """Reads one line from a pipe that must deliver it soon."""
    os.set_blocking(stream.fileno(), False)
    deadline = time.monotonic() + seconds
    line = b""
    while not line.endswith(b"\n"):
        line += stream.read(1) or b""
        if time.monotonic() > deadline:
            raise AssertionError(f"no line within {seconds} s, only {line!r}")
        time.sleep(0 if line else 0.005)
    os.set_blocking(stream.fileno(), True)
    return line


def wait_until_read(process):
    """Waits until the pipe to the command is empty."""
    for _ in range(2000):
        left = array.array("i", [0])
        fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, left)
        if left[0] == 0:
            time.sleep(0.1)  # from the pipe into the filter
            return
        time.sleep(0.005)
    raise AssertionError("the command does not read its input")


def default_signals():
    """For children: Python ignores SIGPIPE, and so would they."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
