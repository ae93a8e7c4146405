"""The module's file needs no library but those of every Linux system, and offers the engine one function.

Usage: linked_test.py MODULE
"""
import re
import subprocess
import sys
import unittest

MODULE = sys.argv[1]
SYSTEM = re.compile(r"libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.\d")


def lines_of(*words):
    return subprocess.run([*words, MODULE], capture_output=True, text=True, check=True).stdout.splitlines()


class LinkedTest(unittest.TestCase):
    def test_it_needs_libraries_of_the_system_only(self):
        dynamic = lines_of("readelf", "--dynamic", "--wide")
        needed = [re.search(r"\[(.*)\]", line)[1] for line in dynamic if "(NEEDED)" in line]
        self.assertIn("libc.so.6", needed)
        self.assertEqual([name for name in needed if not SYSTEM.fullmatch(name)], [])
        self.assertFalse(any("(TEXTREL)" in line for line in dynamic), "code that the loader must change")

    def test_it_defines_one_symbol_for_others(self):
        names = [line.split()[-1] for line in lines_of("nm", "--dynamic", "--defined-only")]
        self.assertEqual(names, ["RedisModule_OnLoad"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
