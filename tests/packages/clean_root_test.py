"""The packages in a clean root: installed, used, upgraded over the version before, and purged.

Usage: clean_root_test.py PACKAGES_DIR

Needs root, mmdebstrap and the mirror of the machine's apt; otherwise it says so and exits with 77. The root has what the packages depend
on before the test begins, so dpkg alone installs them and needs no network. Nothing is started by systemd: the test runs the commands of
the units as another user.
"""
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

PACKAGES = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
OLDER = "0.0.1"
NOBODY = "65534:65534"
# For the test: servers, a compiler for libmankai-dev, and systemd's checks of units.
TOOLS = ["redis-server", "redis-tools", "g++", "pkg-config", "procps", "systemd"]


def skip(why):
    print(f"SKIPPED: {why}: the packages were NOT installed in a clean root", file=sys.stderr)
    sys.exit(77)


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def field(deb, name):
    return run("dpkg-deb", "--field", deb, name).strip()


def dependencies(debs):
    ours = {field(deb, "Package") for deb in debs}
    names = set()
    for deb in debs:
        for one in field(deb, "Depends").split(","):
            names.add(one.split("|")[0].split("(")[0].strip())
    return sorted(names - ours - {""})


def make_root(folder, include):
    """A minimal Debian from the sources that the machine's apt has."""
    sources = [path for path in (pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list"))
               if path.exists() and path.stat().st_size > 0]
    codename = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
    proxies = [f"--aptopt={line}" for line in run("apt-config", "dump").splitlines() if line.startswith("Acquire::http")]
    done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(include)}", *proxies,
                           codename, folder, *map(str, sources[:1])], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        skip(f"mmdebstrap failed: {done.stderr.strip()[-500:]}")


class Root:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, inside):
        return self.folder / inside.lstrip("/")

    def run(self, *words, user="0:0", **options):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run("chroot", f"--userspec={user}", self.folder, *words, env=environment, **options)

    def start(self, *words, user=NOBODY):
        return subprocess.Popen(["chroot", f"--userspec={user}", self.folder, *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def files(self):
        """What is on the disk, but for the books of dpkg and what programs of the test leave in /tmp."""
        found = run("find", self.folder, "-xdev", "-printf", "%P %y %m %U %G\n")
        books = r"(tmp|root|dev|proc|sys|run|var/lib/dpkg|var/cache|var/log|var/lib/systemd)(/| )|var/lib( )|etc/ld.so.cache"
        return sorted(line for line in found.splitlines() if not re.match(books, line))

    def command_of(self, unit, instance="", **settings):
        """The words of a unit's ExecStart, with the settings in place of those of its Environment."""
        text = self.path(f"usr/lib/systemd/system/{unit}").read_text().replace("%i", instance)
        for line in re.findall(r"^Environment=(.*)$", text, re.MULTILINE):
            for name, value in re.findall(r'"?(\w+)=((?:(?<=")[^"]*|\S*))', line):
                settings.setdefault(name, value)
        start = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1]
        words = []
        for word in start.split():
            name = word.strip("${}") if word.startswith("$") else None
            words += [word] if name is None else [settings[name]] if word.startswith("${") else settings[name].split()
        return words


def older_version(debs, folder):
    """Packs the packages again with a lower version and older settings."""
    packed = []
    for deb in debs:
        tree = pathlib.Path(folder, field(deb, "Package"))
        version = field(deb, "Version")
        run("dpkg-deb", "--raw-extract", deb, tree)
        for control in ("control", "shlibs"):
            file = tree / "DEBIAN" / control
            if file.exists():
                file.write_text(file.read_text().replace(version, OLDER))
        for settings in (tree / "etc").rglob("*.conf"):
            settings.write_text("# of the version before\n" + settings.read_text())
        (tree / "DEBIAN/md5sums").unlink()
        packed.append(pathlib.Path(folder, f"{tree.name}_{OLDER}.deb"))
        run("dpkg-deb", "--build", "-Znone", tree, packed[-1])
    return packed


class CleanRootTest(unittest.TestCase):
    """One story: the methods run in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.debs = sorted(PACKAGES.glob("*.deb"))
        cls.scratch = tempfile.mkdtemp(prefix="mankai-root-")
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.root = Root(f"{cls.scratch}/root")
        make_root(cls.root.folder, dependencies(cls.debs) + TOOLS)
        cls.names = [field(deb, "Package") for deb in cls.debs]
        cls.before = cls.root.files()

    def install(self, debs):
        for deb in debs:
            shutil.copy(deb, self.root.path("/tmp"))
        self.root.run("dpkg", "--force-confdef", "--force-confold", "--install", *[f"/tmp/{deb.name}" for deb in debs])

    def versions(self):
        return {self.root.run("dpkg-query", "--show", "--showformat", "${Version}", name) for name in self.names}

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, text)
        return text

    def wait_for_line(self, process, pattern):
        lines = []
        for line in process.stdout:
            lines.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"no line has {pattern}: {lines}")

    def test_1_install_the_version_before(self):
        self.install(older_version(self.debs, self.scratch))
        self.assertEqual(self.versions(), {OLDER})
        self.root.run("mankai", "--version")
        self.root.path("/etc/mankai/redis.conf").write_text("# edited\nloadmodule /usr/lib/mankai/mankai-redis.so\n")

    def test_2_upgrade(self):
        self.install(self.debs)
        self.assertEqual(self.versions(), {field(self.debs[0], "Version")})
        self.assertNotIn("version before", self.root.path("/etc/mankai/guard.conf").read_text())
        self.assertTrue(self.root.path("/etc/mankai/redis.conf").read_text().startswith("# edited\n"))
        # Only the edited settings differ from what the packages have.
        self.assertEqual(self.root.run("sh", "-c", "dpkg --verify " + " ".join(self.names)).split(),
                         ["??5??????", "c", "/etc/mankai/redis.conf"])

    def test_3_commands_and_their_pages(self):
        self.assertIn(field(self.debs[0], "Version"), self.root.run("mankai", "--version"))
        self.assertEqual(self.root.run("mankai", "dedup", "-", input="a\nb\na\n", user=NOBODY), "a\nb\n")
        self.assertEqual(len(self.root.run("mankai", "gen", "urls", "--count", "5", user=NOBODY).splitlines()), 5)
        help_text = self.root.run("mankai", "--help")
        commands = re.findall(r"^  ([a-z]+) ", help_text, re.MULTILINE)
        self.assertIn("dedup", commands)
        for command in commands:
            self.assertTrue(self.root.path(f"/usr/share/man/man1/mankai-{command}.1.gz").exists(), command)
        self.root.run("bash", "-n", "/usr/share/bash-completion/completions/mankai")

    def test_4_units_are_valid(self):
        units = sorted(self.root.path("/usr/lib/systemd/system").glob("mankai-*"))
        self.assertGreaterEqual(len(units), 3)
        for unit in units:
            name = unit.name.replace("@.", "@example.")
            shutil.copy(unit, self.root.path(f"/tmp/{name}"))
            said = self.root.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"/tmp/{name}")
            self.assertEqual(said, "", name)
            if unit.suffix != ".service":
                continue
            exposure = self.root.run("systemd-analyze", "security", "--offline=true", "--no-pager", f"/tmp/{name}")
            level = float(re.search(r"exposure level for \S+: ([\d.]+)", exposure)[1])
            print(f"{name}: exposure level {level}")
            self.assertLess(level, 3.0, name)

    def test_5_guard_serves(self):
        self.root.path("/tmp/hosts").write_text("0.0.0.0 evil.example\n")
        self.root.run("mankai", "guard", "build", "--mode", "0644", "/var/lib/mankai/blocked.mkg", "/tmp/hosts")
        command = self.root.command_of("mankai-guard.service", GUARD_OPTIONS="--listen 127.0.0.1:0")
        process = self.root.start(*command)
        address = re.search(r"http://\S+", self.wait_for_line(process, "http://"))[0]
        url = urllib.parse.quote("http://evil.example/a", safe="")
        with urllib.request.urlopen(f"{address}/check?url={url}", timeout=60) as answer:
            self.assertIn('"blocked"', answer.read().decode())
        self.stop(process)

    def test_6_gate_syncs(self):
        folder = self.root.path("/var/lib/mankai-gate/shop")
        folder.mkdir(parents=True)
        with sqlite3.connect(folder / "shop.db") as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE baskets (cookie TEXT PRIMARY KEY, items INTEGER)")
            database.execute("INSERT INTO baskets VALUES ('old', 1)")
        database.close()
        inside = "/var/lib/mankai-gate/shop"
        self.root.run("mankai", "gate", "build", f"{inside}/gate.mk", "--from", f"sqlite:{inside}/shop.db", "--table", "baskets",
                      "--key", "cookie", "--where", "items > 0", "--install-triggers")
        self.root.run("chown", "-R", NOBODY, inside)
        process = self.root.start(*self.root.command_of("mankai-gate@.service", "shop"))
        with sqlite3.connect(folder / "shop.db") as database:
            database.execute("INSERT INTO baskets VALUES ('new', 1)")
        database.close()
        while not self.root.run("mankai", "gate", "check", f"{inside}/gate.mk", "new", user=NOBODY).startswith("maybe"):
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        self.stop(process)

    def test_7_hot_follows(self):
        folder = self.root.path("/var/lib/mankai-hot/web")
        folder.mkdir(parents=True)
        os.chown(folder, *map(int, NOBODY.split(":")))
        log = self.root.path("/var/log/web/access.log")
        log.parent.mkdir()
        log.write_text('192.0.2.1 - - [20/May/2025:10:00:00 +0000] "GET /hot HTTP/1.1" 200 5\n' * 3)
        command = self.root.command_of("mankai-hot@.service", "web", HOT_OPTIONS="--half-life 1h")
        process = self.root.start(*command)
        while not (folder / "hot.mk").exists() or '"keys_inserted":3' not in self.root.run(
                "mankai", "info", "--json", "/var/lib/mankai-hot/web/hot.mk"):
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        self.assertIn("/hot", self.stop(process))
        self.assertIn("decayed-top", self.root.run("mankai", "info", "/var/lib/mankai-hot/web/hot.mk"))

    def test_8_module_and_libraries(self):
        self.root.path("/tmp/redis.conf").write_text(
            "include /etc/mankai/redis.conf\nport 0\nunixsocket /tmp/redis.sock\ndir /tmp\nsave \"\"\n")
        server = self.root.start("/usr/bin/redis-server", "/tmp/redis.conf")
        self.wait_for_line(server, "accept connections at")
        self.assertEqual(self.root.run("redis-cli", "-s", "/tmp/redis.sock", "BF.ADD", "seen", "a").strip(), "1")
        self.stop(server)
        page = (SOURCE / "docs/c.md").read_text()
        self.root.path("/tmp/seen.c").write_text(re.search(r"```c\n(.*?)```", page, re.DOTALL)[1])
        shutil.copy(SOURCE / "tests/consumer/consumer.cpp", self.root.path("/tmp"))
        self.root.run("sh", "-ec", "cd /tmp; cc seen.c -o seen $(pkg-config --cflags --libs mankai-c)\n"
                                   "g++ -std=c++23 consumer.cpp -o consumer $(pkg-config --cflags --libs mankai)")
        self.assertEqual(self.root.run("/tmp/seen", "/tmp/seen.mk", input="a\nb\na\n"), "a\nb\n")
        self.root.run("/tmp/consumer")

    def test_9_purge_leaves_nothing(self):
        shutil.rmtree(self.root.path("/var/log/web"))
        self.root.path("/var/log/private/mankai").mkdir(parents=True)
        self.root.path("/var/log/mankai").symlink_to("private/mankai")
        self.root.path("/etc/mankai/gate-shop.conf").write_text("PGPASSWORD=secret\n")
        wants = self.root.path("/etc/systemd/system/multi-user.target.wants/mankai-guard.service")
        wants.symlink_to("/lib/systemd/system/mankai-guard.service")
        self.root.run("dpkg", "--remove", *self.names)
        self.assertTrue(self.root.path("/etc/mankai/guard.conf").exists())
        self.root.run("dpkg", "--purge", *self.names)
        self.assertEqual(self.root.files(), self.before)
        self.assertFalse(os.path.lexists(self.root.path("/var/log/mankai")))
        self.assertFalse(self.root.path("/var/log/private/mankai").exists())


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("this is not root")
    if shutil.which("mmdebstrap") is None:
        skip("mmdebstrap is missing")
    unittest.main(argv=sys.argv[:1], verbosity=2, failfast=True)
