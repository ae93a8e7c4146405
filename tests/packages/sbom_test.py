"""The bill of materials names what the packages contain and need: compared with ldd, with dpkg, and with the packages' own notices.

Usage: sbom_test.py PACKAGES_DIR
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PACKAGES = pathlib.Path(sys.argv[1])


def output(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def owner(library):
    """The Debian package of a library, under either name of a merged /usr."""
    bare = library.removeprefix("/usr")
    found = subprocess.run(["dpkg", "-S", bare, "/usr" + bare], capture_output=True, text=True, check=False).stdout
    return found.split(":")[0]


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = json.loads(next(PACKAGES.glob("*.spdx.json")).read_text())
        cls.packages = {package["SPDXID"]: package for package in cls.document["packages"]}
        cls.ids = {package["name"]: package["SPDXID"] for package in cls.document["packages"]}
        cls.debs = {deb.name.split("_")[0]: deb for deb in PACKAGES.glob("*.deb")}
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.unpacked = pathlib.Path(scratch.name)
        for name, deb in cls.debs.items():
            output("dpkg-deb", "--extract", deb, cls.unpacked / name)

    def related(self, name, kind):
        return {self.packages[one["relatedSpdxElement"]]["name"] for one in self.document["relationships"]
                if (one["spdxElementId"], one["relationshipType"]) == (self.ids[name], kind)}

    def reachable(self, name):
        found, open_names = set(), {name}
        while open_names:
            more = set().union(*[self.related(one, "DYNAMIC_LINK") for one in open_names])
            open_names = more - found
            found |= more
        return found

    def programs(self, name):
        for path in sorted((self.unpacked / name).rglob("*")):
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                yield path

    def test_the_document_is_spdx(self):
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")
        described = {one["relatedSpdxElement"] for one in self.document["relationships"] if one["relationshipType"] == "DESCRIBES"}
        self.assertEqual(described, {self.ids[name] for name in self.debs})
        self.assertEqual(len(self.ids), len(self.packages))
        for package in self.packages.values():
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            for member in ("versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
                self.assertTrue(package[member], package["name"])
        for one in self.document["relationships"]:
            self.assertTrue({one["spdxElementId"], one["relatedSpdxElement"]} <= {*self.packages, "SPDXRef-DOCUMENT"})

    def test_checksums_are_those_of_the_packages(self):
        for name, deb in self.debs.items():
            self.assertEqual(self.packages[self.ids[name]]["checksums"][0]["checksumValue"],
                             hashlib.sha256(deb.read_bytes()).hexdigest())

    def test_linked_libraries_are_those_of_ldd(self):
        libraries = ":".join({str(path.parent) for path in self.unpacked.glob("libmankai0/usr/lib/*/*.so.*")})
        for name in self.debs:
            loaded = set()
            for path in self.programs(name):
                lines = output("ldd", path, env={**os.environ, "LD_LIBRARY_PATH": libraries})
                loaded |= {owner(library) for library in re.findall(r"(?:=> |^\s*)(/\S+) \(", lines, re.MULTILINE)
                           if not library.startswith(str(self.unpacked))}
            self.assertEqual({one for one in self.reachable(name) if one not in self.debs}, loaded, name)

    def test_the_module_lists_what_is_linked_in(self):
        inside = self.related("mankai-redis", "STATIC_LINK")
        for library in ("libsodium-dev", "libidn2-dev", "libunistring-dev", "libpsl-dev", "libhwy-dev", "libxxhash-dev"):
            self.assertIn(library, inside)
        self.assertTrue(any(one.startswith("libstdc++") for one in inside), inside)
        self.assertEqual(self.related("mankai-redis", "DYNAMIC_LINK"), {"libc6"})

    def test_packages_have_the_notices_of_what_is_linked_in(self):
        for name in self.debs:
            notices = (self.unpacked / name / "usr/share/doc" / name / "copyright").read_text()
            for inside in self.related(name, "STATIC_LINK"):
                self.assertTrue(f"--- {inside} of Debian" in notices, f"{name}: no notice of {inside}")

    def test_versions_and_licenses_of_linked_packages(self):
        for package in self.packages.values():
            if package["name"] in self.debs:
                continue
            self.assertEqual(package["versionInfo"], output("dpkg-query", "-W", "-f", "${Version}", package["name"]))
        for name in self.debs:
            for kind in ("DYNAMIC_LINK", "STATIC_LINK"):
                for other in self.related(name, kind):
                    self.assertNotEqual(self.packages[self.ids[other]]["licenseDeclared"], "NOASSERTION", other)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
