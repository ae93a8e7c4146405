"""The wheel: what it needs, what its types say, and that pip installs it in an empty environment.

Usage: install_test.py EXTENSION
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXTENSION = pathlib.Path(sys.argv.pop())
PACKAGE = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = re.compile(r"libc\.so\.6|libm\.so\.6|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux-[\w-]+\.so\.\d")


def output(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, **options).stdout


class InstallTest(unittest.TestCase):
    def test_the_extension_needs_libraries_of_the_system_only(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", EXTENSION))
        self.assertIn("libc.so.6", needed)
        self.assertEqual([name for name in needed if not SYSTEM.fullmatch(name)], [])
        names = [line.split()[-1] for line in output("nm", "--dynamic", "--defined-only", EXTENSION).splitlines()]
        self.assertEqual(names, ["PyInit__core"])

    def test_the_wheel_is_the_same_twice_and_pip_installs_it(self):
        with tempfile.TemporaryDirectory(prefix="mankai-wheel-") as folder:
            folder = pathlib.Path(folder)
            for name in ("first", "second"):
                output(sys.executable, "-B", PACKAGE / "wheel_backend.py", EXTENSION, folder / name)
            first, = (folder / "first").iterdir()
            self.assertEqual(first.read_bytes(), (folder / "second" / first.name).read_bytes())
            self.assertRegex(first.name, r"^mankai-[0-9.]+-cp311-abi3-(manylinux_2_\d+|linux)_\w+\.whl$")
            with zipfile.ZipFile(first) as wheel:
                self.assertIn("mankai/py.typed", wheel.namelist())
                self.assertIn("mankai/_core.pyi", wheel.namelist())
            made = subprocess.run([sys.executable, "-m", "venv", folder / "venv"], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                self.skipTest("no virtual environment: apt-get install python3-venv")
            python = folder / "venv" / "bin" / "python"
            output(python, "-m", "pip", "install", "--no-index", "--no-deps", first)
            shown = output(python, "-I", "-c", "import mankai; f = mankai.Filter.create(keys=9); f.add('a'); print('a' in f, mankai.__file__)",
                           cwd=folder)
            self.assertIn("True", shown)
            self.assertIn(str(folder), shown)

    @unittest.skipIf(shutil.which("mypy") is None, "mypy is missing: apt-get install mypy")
    def test_types(self):
        program = ("import mankai\nfrom mankai import url\n"
                   "f: mankai.Filter = mankai.Filter.create(keys=9)\n"
                   "seen: bool = mankai.Seen().observe('a')\n"
                   "verdict: mankai.Verdict = mankai.Guard().check('http://a.example')\n"
                   "text: str = url.canonical('http://a.example')\n")
        with tempfile.TemporaryDirectory(prefix="mankai-mypy-") as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(program)
            command = ["mypy", "--config-file", PACKAGE / "pyproject.toml", "--cache-dir", folder]
            output(*command, PACKAGE / "mankai", path, cwd=PACKAGE)
            path.write_text(program + "wrong: int = url.canonical('http://a.example')\n")
            failed = subprocess.run([*map(str, command), str(path)], capture_output=True, text=True, check=False, cwd=PACKAGE)
            self.assertNotEqual(failed.returncode, 0)


if __name__ == "__main__":
    unittest.main()
