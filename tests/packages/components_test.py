"""Every installed file belongs to one component, which is a Debian package, and to the expected one.

Usage: components_test.py BUILD_DIR
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1])
# Each pattern must match a file; `*` does not match a slash, `**` does.
EXPECTED = {
    "mankai": [
        "bin/mankai", "etc/mankai/guard.conf", "lib/systemd/system/mankai-guard.service",
        "lib/systemd/system/mankai-guard-update.service", "lib/systemd/system/mankai-guard-update.timer",
        "lib/systemd/system/mankai-gate@.service", "lib/systemd/system/mankai-hot@.service", "share/man/man1/mankai.1",
        "share/man/man1/mankai-*.1", "share/bash-completion/completions/mankai", "share/zsh/site-functions/_mankai",
        "share/fish/vendor_completions.d/mankai.fish", "share/doc/mankai/LICENSE", "share/doc/mankai/README.md",
        "share/doc/mankai/CHANGELOG.md", "share/doc/mankai/**.md",
    ],
    "mankai-lab": ["bin/mankai-lab", "share/man/man1/mankai-lab.1", "share/man/man1/mankai-gen.1", "share/man/man1/mankai-claim.1",
                   "share/man/man1/mankai-demo.1"],
    "libmankai0": ["lib/libmankai.so.0", "lib/libmankai.so.0.*", "lib/libmankai_dablooms.so.0", "lib/libmankai_dablooms.so.0.*"],
    "libmankai-dev": [
        "include/mankai/**.hpp", "include/mankai/c/*.h", "lib/libmankai.a", "lib/libmankai_input.a", "lib/libmankai_database.a",
        "lib/libmankai.so", "lib/libmankai_dablooms.so", "lib/cmake/mankai/*.cmake", "lib/pkgconfig/*.pc",
    ],
    "python3-mankai": ["lib/python3/dist-packages/mankai/*.py", "lib/python3/dist-packages/mankai/_core.pyi",
                       "lib/python3/dist-packages/mankai/py.typed", "lib/python3/dist-packages/mankai/_core.abi3.so"],
    "mankai-sqlite": ["lib/mankai/mankai_sqlite.so"],
    "mankai-lua": ["share/mankai/lua/mankai.lua"],
    "mankai-redis": ["lib/mankai/mankai-redis.so", "etc/mankai/redis.conf"],
}


def install(*options):
    """Returns the installed paths, relative to the prefix, and the text of units and settings."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/mankai", *options], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": root})
        prefix = pathlib.Path(root, "opt/mankai")
        files = [path for path in pathlib.Path(root).rglob("*") if path.is_symlink() or path.is_file()]
        texts = {path.name: path.read_text() for path in files if path.suffix in (".service", ".timer", ".conf")}
        return sorted(str(path.relative_to(prefix)) for path in files), texts


def matches(path, pattern):
    """The multiarch folder of lib/ is not part of the comparison."""
    path = re.sub(r"^lib(64)?/(\w+-linux-\w+/)?", "lib/", path)
    regex = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(regex, path) is not None


class ComponentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config = (BUILD / "CPackConfig.cmake").read_text()
        cls.components = re.search(r'set\(CPACK_COMPONENTS_ALL "(.*?)"\)', config)[1].split(";")
        cls.files = {component: install("--component", component)[0] for component in cls.components}

    def test_each_file_is_in_one_component(self):
        everything, _ = install()
        # Only a package knows the folder of Debian's Python.
        in_components = sorted(path for component, files in self.files.items() if component != "python3-mankai" for path in files)
        self.assertEqual(in_components, everything)

    def test_each_component_has_what_is_expected(self):
        for component, patterns in EXPECTED.items():
            with self.subTest(component):
                if component not in self.files:  # its language is missing on this machine
                    self.assertIn(component, ("python3-mankai", "mankai-sqlite", "mankai-lua"))
                    continue
                unmatched = [path for path in self.files[component] if not any(matches(path, one) for one in patterns)]
                self.assertEqual(unmatched, [])
                missing = [one for one in patterns if not any(matches(path, one) for path in self.files[component])]
                self.assertEqual(missing, [])

    def test_every_component_is_a_package(self):
        packages = (BUILD / "CPackConfig.cmake").read_text()
        for component in self.components:
            self.assertIn(f'set(CPACK_DEBIAN_{component.upper()}_PACKAGE_NAME "{component}")', packages)

    def test_pages_of_the_lab_are_not_in_the_command_s_package(self):
        pages = [path for path in self.files["mankai"] if re.search(r"mankai-(lab|gen|demo)", path)]
        self.assertEqual(pages, [])

    def test_units_and_settings_name_the_installed_folders(self):
        _, texts = install()
        for name, text in texts.items():
            self.assertNotIn("@MANKAI", text, name)
            for command in re.findall(r"^ExecStart=(.*mankai) (?:guard|gate|hot) ", text, re.MULTILINE):
                self.assertEqual(command, "/opt/mankai/bin/mankai")
        self.assertIn("loadmodule /opt/mankai/lib/mankai/mankai-redis.so\n", texts["redis.conf"])
        self.assertIn("EnvironmentFile=-/opt/mankai/etc/mankai/guard.conf\n", texts["mankai-guard.service"])

    def test_settings_are_kept(self):
        with tempfile.TemporaryDirectory() as root:
            kept = pathlib.Path(root, "etc/mankai/guard.conf")
            kept.parent.mkdir(parents=True)
            kept.write_text("mine\n")
            subprocess.run(["cmake", "--install", BUILD, "--prefix", root, "--component", "mankai"], check=True,
                           stdout=subprocess.DEVNULL)
            self.assertEqual(kept.read_text(), "mine\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
