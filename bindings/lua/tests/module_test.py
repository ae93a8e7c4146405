"""The module for LuaJIT: its declarations against the C header, and what it does, in luajit.

Usage: module_test.py LIBRARY C_COMPILER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from library_files import LibraryFiles  # noqa: E402

MODULE = ROOT / "bindings" / "lua" / "mankai.lua"
LIBRARY, COMPILER = sys.argv[1:3]


class DeclarationsTest(unittest.TestCase):
    def compile(self, declarations):
        source = f'#include "mankai/c/mankai.h"\n{declarations}'
        return subprocess.run([COMPILER, "-std=c11", "-fsyntax-only", "-Werror", "-I", ROOT, "-x", "c", "-"], input=source,
                              capture_output=True, text=True, check=False)

    def test_they_are_those_of_the_header(self):
        declarations = re.search(r"ffi\.cdef \[\[(.*?)\]\]", MODULE.read_text(), flags=re.DOTALL)[1]
        done = self.compile(declarations)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotEqual(self.compile(declarations.replace("uint32_t rules", "uint64_t rules")).returncode, 0)
        names = set(re.findall(r"\b(mankai_\w+)\(", declarations))
        header = (ROOT / "mankai" / "c" / "mankai.h").read_text()
        self.assertEqual([name for name in sorted(names) if f"{name}(" not in header], [])


class ModuleTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("luajit"), "SKIPPED: there is no luajit. tools/install_dependencies.sh test installs it.")
    def test_in_luajit(self):
        files = LibraryFiles(LIBRARY)
        with tempfile.TemporaryDirectory(prefix="mankai-lua-") as folder:
            files.filter(f"{folder}/old.mk", ["old"])
            files.filter(f"{folder}/new.mk", ["new"])
            files.guard(f"{folder}/old.mkg", ["evil.example", "shop.example/cart", "deep.example/" + "a" * 3000], ["good.evil.example"])
            files.guard(f"{folder}/new.mkg", ["new.example"])
            done = subprocess.run(["luajit", pathlib.Path(__file__).with_suffix(".lua"), folder], capture_output=True, text=True,
                                  timeout=300, check=False, env={**os.environ, "LUA_PATH": f"{MODULE.parent}/?.lua;;",
                                                                 "LD_LIBRARY_PATH": str(pathlib.Path(LIBRARY).parent)})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
