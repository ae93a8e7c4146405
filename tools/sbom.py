#!/usr/bin/env python3
"""Writes the bill of materials of the Debian packages in a folder, in SPDX 2.3, into that folder.

Usage: tools/sbom.py BUILD_DIR PACKAGES_DIR

What is linked and compiled in comes from the packages' own files (readelf, ldd) and from the build (ninja); versions come from dpkg, and
licenses from docs/dependencies.md. A library that is linked and has no row there is an error.
"""
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Their headers declare what the C library and the kernel do; the library itself is linked dynamically.
INTERFACES = {"glibc", "linux"}
Debian = collections.namedtuple("Debian", "name version architecture source source_version")


def output(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def licenses():
    """Returns {source package: license} of the tables of docs/dependencies.md that have a column for source packages."""
    found, columns = {}, []
    for line in (ROOT / "docs/dependencies.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if "source package" in cells:
            columns = cells
        elif not cells:
            columns = []
        elif columns and not cells[0].startswith("---"):
            row = dict(zip(columns, cells))
            found[row["source package"].strip("`")] = row["license"]
    return found


class Dpkg:
    """Who owns a file of this machine."""

    def __init__(self):
        # dpkg-query --search reads all of its lists for each call, and there are thousands of files to ask for.
        self.owners = {path: file.stem.split(":")[0] for file in pathlib.Path("/var/lib/dpkg/info").glob("*.list")
                       for path in file.read_text().splitlines()}
        self.packages = {}

    def owner(self, path):
        """Returns the name of the package that installed a file, under either name of a merged /usr."""
        path = os.path.normpath(path)
        for name in (path, path.removeprefix("/usr"), "/usr" + path):
            if name in self.owners:
                return self.owners[name]
        sys.exit(f"sbom: {path}: belongs to no Debian package")

    def describe(self, name):
        if name not in self.packages:
            fields = output("dpkg-query", "--show", "--showformat",
                            "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}", name)
            self.packages[name] = Debian(*fields.split("\t"))
        return self.packages[name]


class Build:
    """Which system headers and archives a file of the build was made from."""

    def __init__(self, folder):
        self.folder = folder
        self.headers = {}
        name = None
        for line in output("ninja", "-C", folder, "-t", "deps").splitlines():
            if line.startswith("    "):
                self.headers[name].add(line.strip())
            elif line:
                name = line.split(": #deps")[0]
                self.headers[name] = set()
        targets = output("ninja", "-C", folder, "-t", "targets", "all").splitlines()
        self.targets = {os.path.basename(line.split(": ")[0]): line.split(": ")[0] for line in targets
                        if not line.endswith(": phony")}
        cache = (folder / "CMakeCache.txt").read_text()
        self.archives = {f"static/lib{name}.a": path
                         for name, path in re.findall(r"^MANKAI_STATIC_(\w+):FILEPATH=(.*)$", cache, re.MULTILINE)}

    def ingredients(self, file):
        """Returns the paths of system headers and of archives, and of the shared libraries that the linker could take."""
        target = self.targets.get(file)
        if target is None:
            sys.exit(f"sbom: {file}: is packed, and the build does not make it")
        found, shared = set(), set()
        for made_from in output("ninja", "-C", self.folder, "-t", "inputs", target).splitlines():
            relative = os.path.relpath(made_from, self.folder) if made_from.startswith(str(self.folder)) else made_from
            found |= {path for path in self.headers.get(relative, ()) if path.startswith("/usr/")}
            found |= {self.archives[relative]} if relative in self.archives else set()
            shared |= {made_from} if re.match(r"/usr/.*\.so(\.|$)", made_from) else set()
        return found, shared


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", path))


def libraries(path, own):
    """Returns {soname: path} of all that the loader would load for a file."""
    lines = output("ldd", path, env={**os.environ, "LD_LIBRARY_PATH": own})
    if "not found" in lines:
        sys.exit(f"sbom: {path}: {lines}")
    found = dict(re.findall(r"^\s*(\S+) => (\S+) \(", lines, re.MULTILINE))
    return found | {os.path.basename(loader): loader for loader in re.findall(r"^\s*(/\S+) \(", lines, re.MULTILINE)}


class Bill:
    def __init__(self, build, unpacked):
        self.build = build
        self.unpacked = unpacked
        self.own_libraries = ":".join(sorted({str(path.parent) for path in unpacked.glob("libmankai0/usr/lib/*/*.so.*")}))
        self.dpkg = Dpkg()
        self.licenses = licenses()
        self.packages = {}
        self.relationships = set()

    def relate(self, first, what, second):
        if first != second:
            self.relationships.add((first, what, second))

    def own(self, deb, fields):
        """Adds one of our packages."""
        name = fields["Package"]
        self.packages[name] = self.entry(
            name, fields["Version"], "Apache-2.0", supplier="NOASSERTION",
            checksums=[{"algorithm": "SHA256", "checksumValue": hashlib.sha256(deb.read_bytes()).hexdigest()}],
            packageFileName=deb.name)
        declared = re.findall(r"[\w.+-]+", re.sub(r"\([^)]*\)", "", fields.get("Depends", "")))
        if name.endswith("-dev"):  # the others' dependencies are read from their files
            for other in declared:
                self.relate(name, "DEPENDS_ON", other if other in fields["ours"] else self.debian(other))
        offered = declared + re.findall(r"[\w.+-]+", fields.get("Recommends", ""))
        sources = {self.dpkg.describe(other).source for other in offered if other.endswith("-dev") and "mankai" not in other}
        for path in sorted((self.unpacked / name).rglob("*")):
            if path.is_file() and not path.is_symlink():
                self.file(name, path, sources)

    @staticmethod
    def entry(name, version, license_text, **others):
        is_unlicensed = license_text == "public domain"
        declared = "LicenseRef-public-domain" if is_unlicensed else license_text
        return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": declared,
                "licenseDeclared": declared, "copyrightText": "NOASSERTION", **others}

    def debian(self, name, is_linked_by_us=True):
        """Adds a package of Debian; returns its name."""
        package = self.dpkg.describe(name)
        name = package.name
        license_text = self.licenses.get(package.source)
        if license_text is None and is_linked_by_us:
            sys.exit(f"sbom: {name}: its source package {package.source} has no row in docs/dependencies.md")
        if name not in self.packages:
            self.packages[name] = self.entry(
                name, package.version, license_text or "NOASSERTION", supplier="Organization: Debian",
                sourceInfo=f"{package.source} {package.source_version}; notices: /usr/share/doc/{name}/copyright",
                externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                               "referenceLocator": f"pkg:deb/debian/{name}@{package.version.replace('+', '%2B')}"
                                                   f"?arch={package.architecture}&distro=bookworm"}])
        return name

    def package_of(self, path, is_linked_by_us):
        path = pathlib.Path(path)
        if path.is_relative_to(self.unpacked):
            return path.relative_to(self.unpacked).parts[0]
        return self.debian(self.dpkg.owner(str(path)), is_linked_by_us)

    def file(self, package, path, offered_sources):
        with open(path, "rb") as file:
            magic = file.read(8)
        is_linked = magic.startswith(b"\x7fELF")
        if not is_linked and magic != b"!<arch>\n":
            return
        loaded = libraries(path, self.own_libraries) if is_linked else {}
        for soname in needed(path) if is_linked else []:
            self.relate(package, "DYNAMIC_LINK", self.package_of(loaded[soname], is_linked_by_us=True))
        for library in loaded.values():
            if not library.startswith("/"):
                continue
            first = self.package_of(library, is_linked_by_us=False)
            for soname in needed(library):
                self.relate(first, "DYNAMIC_LINK", self.package_of(loaded[soname], is_linked_by_us=False))
        found, shared = self.build.ingredients(path.name)
        # A shared library that the linker could take is loaded, or unused: its headers are declarations.
        elsewhere = offered_sources | INTERFACES | {self.dpkg.describe(self.dpkg.owner(library)).source for library in shared}
        if not is_linked or "libstdc++.so.6" in loaded:
            elsewhere |= {self.dpkg.describe("libstdc++6").source}
        # One package of each source is enough: libstdc++-12-dev stands for libgcc-12-dev too.
        owners = {self.dpkg.describe(owner).source: owner for owner in sorted({self.dpkg.owner(one) for one in found})}
        for source, owner in owners.items():
            if source not in elsewhere:
                self.relate(package, "STATIC_LINK", self.debian(owner))

    def document(self, version, ours):
        created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
        packages = [self.packages[name] for name in sorted(self.packages)]
        digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
        ids = {name: package["SPDXID"] for name, package in self.packages.items()}
        related = [("SPDXRef-DOCUMENT", "DESCRIBES", ids[name]) for name in sorted(ours)]
        related += [(ids[first], what, ids[second]) for first, what, second in sorted(self.relationships)]
        return {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"mankai-{version}",
            "documentNamespace": f"https://localhost.invalid/spdx/mankai-{version}-{digest[:16]}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: mankai-sbom"]},
            "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "name": "public domain",
                                            "extractedText": "The authors have placed this work in the public domain."}],
            "packages": packages,
            "relationships": [{"spdxElementId": first, "relationshipType": what, "relatedSpdxElement": second}
                              for first, what, second in related]}


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    debs = sorted(folder.glob("*.deb"))
    with tempfile.TemporaryDirectory() as scratch:
        fields = {}
        for deb in debs:
            fields[deb] = dict(line.split(": ", 1) for line in output("dpkg-deb", "--field", deb).splitlines() if ": " in line)
            output("dpkg-deb", "--extract", deb, pathlib.Path(scratch, fields[deb]["Package"]))
        ours = {one["Package"] for one in fields.values()}
        bill = Bill(Build(build), pathlib.Path(scratch))
        for deb in debs:
            bill.own(deb, {**fields[deb], "ours": ours})
        version = fields[debs[0]]["Version"]
        path = folder / f"mankai_{version}.spdx.json"
        path.write_text(json.dumps(bill.document(version, ours), indent=1) + "\n")


if __name__ == "__main__":
    main()
