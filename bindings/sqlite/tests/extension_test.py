"""The extension in SQLite itself, by Python's sqlite3.

Usage: extension_test.py EXTENSION LIBRARY    (mankai_sqlite.so; libmankai.so, which makes the files)
"""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "support"))
from library_files import LibraryFiles  # noqa: E402

MOST_FILES = 16  # that a connection keeps open
SKIPPED = 77  # what ctest takes for "skipped"
DEBIAN_PYTHON = "/usr/bin/python3"
EXTENSION, LIBRARY = sys.argv[1:3]
SYSTEM = re.compile(r"libc\.so\.6|libm\.so\.6|ld-linux-[\w-]+\.so\.\d")


def connect(path=":memory:"):
    database = sqlite3.connect(path)
    database.enable_load_extension(True)
    database.load_extension(EXTENSION)
    database.enable_load_extension(False)
    return database


class ExtensionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mankai-sqlite-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.files = LibraryFiles(LIBRARY)
        self.database = connect()
        self.addCleanup(self.database.close)
        self.path = str(self.folder / "seen.mk")
        self.guard_path = str(self.folder / "blocked.mkg")

    def one(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchone()[0]

    def contains(self, key, path=None):
        return self.one("SELECT mankai_contains(?, ?)", path or self.path, key)

    def refused(self, sql, *arguments):
        with self.assertRaises(sqlite3.OperationalError) as caught:
            self.database.execute(sql, arguments).fetchall()
        return str(caught.exception)


class FunctionsTest(ExtensionTest):
    def test_keys_are_text_blobs_and_integers(self):
        self.files.filter(self.path, ["a", "ä", b"\xff\x00", b"", (42).to_bytes(8, "little"), (-1).to_bytes(8, "little", signed=True)])
        for key in ("a", b"a", "ä", "ä".encode(), b"\xff\x00", "", b"", 42, -1, (42).to_bytes(8, "little")):
            self.assertEqual(self.contains(key), 1, key)
        for key in ("b", "42", 43, -2, b"\xff"):
            self.assertEqual(self.contains(key), 0, key)

    def test_zero_bytes_in_texts_count(self):
        self.files.filter(self.path, [b"a\0b"])
        self.assertEqual((self.contains("a\0b"), self.contains("a")), (1, 0))

    def test_a_database_in_utf16_gives_the_same_keys(self):
        self.files.filter(self.path, ["ä"])
        self.database.executescript("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (key); INSERT INTO t VALUES ('ä'), ('ö'), ('')")
        found = self.database.execute("SELECT mankai_contains(?, key) FROM t", (self.path,)).fetchall()
        self.assertEqual(found, [(1,), (0,), (0,)])

    def test_null_gives_null(self):
        for call in ("mankai_contains(NULL, 'a')", "mankai_contains('missing.mk', NULL)", "mankai_blocked(NULL, 'a')",
                     "mankai_blocked('missing.mkg', NULL)", "mankai_canonical(NULL)", "mankai_registrable_domain(NULL)"):
            self.assertIsNone(self.one(f"SELECT {call}"), call)

    def test_blocked_urls(self):
        self.files.guard(self.guard_path, ["evil.example", "shop.example/cart"])
        for url, outcome in (("http://cdn.EVIL.example/a", 1), (b"http://evil.example", 1), ("http://shop.example/", 0),
                             ("http://shop.example/%63art/1", 1), ("http://a.example/", 0), ("", 1), ("http://", 1)):
            self.assertEqual(self.one("SELECT mankai_blocked(?, ?)", self.guard_path, url), outcome, url)

    def test_canonical_urls(self):
        for url, text in (("HTTP://Example.ORG:80/a/../b", "http://example.org/b"), ("", None), ("http://", None),
                          (b"http://example.org", "http://example.org/")):
            self.assertEqual(self.one("SELECT mankai_canonical(?)", url), text, url)
        long = "http://example.org/" + "a" * 5000
        self.assertEqual(self.one("SELECT mankai_canonical(?)", long), long)

    def test_registrable_domains(self):
        for url, domain in (("https://a.b.example.co.uk:8080/x?y", "example.co.uk"), ("http://example.org/", "example.org"),
                            ("http://192.0.2.1/", None), ("http://[::1]/", None), ("http://co.uk/", None), ("", None)):
            self.assertEqual(self.one("SELECT mankai_registrable_domain(?)", url), domain, url)

    def test_other_types_are_refused(self):
        self.files.filter(self.path, ["a"])
        self.files.guard(self.guard_path, ["evil.example"])
        self.assertIn("a key is TEXT, BLOB or INTEGER", self.refused("SELECT mankai_contains(?, 1.5)", self.path))
        self.assertIn("a URL is TEXT or BLOB", self.refused("SELECT mankai_blocked(?, 1)", self.guard_path))
        self.assertIn("a URL is TEXT or BLOB", self.refused("SELECT mankai_canonical(1.5)"))
        for path in (1, b"seen.mk", f"{self.path}\0"):
            self.assertIn("the path of a file is TEXT", self.refused("SELECT mankai_contains(?, 'a')", path))

    def test_errors_are_those_of_the_library(self):
        self.files.filter(self.path, ["a"])
        self.files.guard(self.guard_path, ["evil.example"])
        missing = str(self.folder / "missing.mk")
        self.assertIn(missing, self.refused("SELECT mankai_contains(?, 'a')", missing))
        self.assertIn(self.guard_path, self.refused("SELECT mankai_contains(?, 'a')", self.guard_path))
        self.assertIn(self.path, self.refused("SELECT mankai_blocked(?, 'a')", self.path))
        content = bytearray(pathlib.Path(self.path).read_bytes())
        content[len(content) // 2] ^= 1
        other = self.folder / "corrupt.mk"
        other.write_bytes(content)
        self.assertIn("corrupt", self.refused("SELECT mankai_contains(?, 'a')", str(other)))
        self.assertEqual(self.contains("a"), 1)


class FreshnessTest(ExtensionTest):
    def test_a_replaced_filter_is_read_again(self):
        self.files.filter(self.path, ["a"])
        self.assertEqual((self.contains("a"), self.contains("b")), (1, 0))
        for round_ in range(5):
            other = str(self.folder / "other.mk")
            self.files.filter(other, [f"b{round_}"])
            os.replace(other, self.path)
            self.assertEqual((self.contains("a"), self.contains(f"b{round_}")), (0, 1))

    def test_a_replaced_guard_is_read_again(self):
        for host in ("a.example", "b.example", "c.example"):
            self.files.guard(self.guard_path, [host])
            found = [self.one("SELECT mankai_blocked(?, ?)", self.guard_path, f"http://{one}.example/") for one in "abc"]
            self.assertEqual(found, [int(f"{one}.example" == host) for one in "abc"])

    def test_keys_in_the_journal_of_a_writer_are_found(self):
        writer = self.files.create(self.path, ["a"])
        self.assertEqual((self.contains("a"), self.contains("b"), self.contains("c")), (1, 0, 0))
        link = str(self.folder / "link.mk")
        os.symlink(self.path, link)
        self.assertEqual(self.one("SELECT mankai_contains(?, 'b')", link), 0)
        self.files.add(writer, ["b"])
        self.assertEqual((self.contains("a"), self.contains("b"), self.contains("c")), (1, 1, 0))
        self.assertEqual(self.one("SELECT mankai_contains(?, 'b')", link), 1)
        self.files.add(writer, ["c"])
        self.files.close(writer)
        self.assertEqual((self.contains("a"), self.contains("b"), self.contains("c")), (1, 1, 1))

    def test_a_removed_file_is_an_error(self):
        self.files.filter(self.path, ["a"])
        self.assertEqual(self.contains("a"), 1)
        os.remove(self.path)
        self.assertIn(self.path, self.refused("SELECT mankai_contains(?, 'a')", self.path))

    def test_a_statement_sees_one_content(self):
        self.files.filter(self.path, ["a"])
        running = self.database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) "
                                        "SELECT mankai_contains(?, 'a' || substr(i, 1, 0)) FROM n", (self.path,))
        self.assertEqual(running.fetchone(), (1,))
        other = str(self.folder / "other.mk")
        self.files.filter(other, ["b"])
        os.replace(other, self.path)
        self.assertEqual(self.contains("a"), 0)  # a new statement
        self.assertEqual(set(running.fetchall()), {(1,)})

    def test_more_files_than_the_connection_keeps_open(self):
        self.database.execute("CREATE TABLE files (number INTEGER, path TEXT)")
        for number in range(40):
            path = str(self.folder / f"{number}.mk")
            self.files.filter(path, [f"key{number}"])
            self.database.execute("INSERT INTO files VALUES (?, ?)", (number, path))
        for _ in range(2):
            found = self.database.execute("SELECT a.number, b.number FROM files a, files b "
                                          "WHERE mankai_contains(a.path, 'key' || b.number)").fetchall()
            self.assertEqual(sorted(found), [(number, number) for number in range(40)])
            with open("/proc/self/maps", encoding="utf-8") as maps:
                mapped = {line.split()[-1] for line in maps if str(self.folder) in line}
            self.assertLessEqual(len(mapped), MOST_FILES)

    def test_several_functions_and_connections_share_files(self):
        self.files.filter(self.path, ["a"])
        self.files.guard(self.guard_path, ["evil.example"])
        other = connect()
        for database in (self.database, other):
            row = database.execute("SELECT mankai_contains(?1, 'a'), mankai_contains(?1, 'b'), mankai_blocked(?2, 'http://evil.example')",
                                   (self.path, self.guard_path)).fetchone()
            self.assertEqual(row, (1, 0, 1))
        other.close()
        self.assertEqual(self.contains("a"), 1)


class SafetyTest(ExtensionTest):
    def test_a_schema_cannot_read_files(self):
        self.files.filter(self.path, ["a"])
        call = f"mankai_contains('{self.path}', key)"
        self.database.executescript(f"CREATE TABLE t (key); CREATE VIEW v AS SELECT {call} FROM t; INSERT INTO t VALUES ('a');"
                                    f"CREATE TABLE d (key DEFAULT ({call.replace('key', '1')}), other);"
                                    f"CREATE TRIGGER g AFTER DELETE ON t BEGIN SELECT {call.replace('key', 'old.key')}; END")
        for statement in ("SELECT * FROM v", f"CREATE INDEX i ON t ({call})", f"CREATE TABLE c (key CHECK ({call}))", "DELETE FROM t",
                          "INSERT INTO d (other) VALUES (1)", f"CREATE TABLE e (key, found AS ({call}))"):
            self.assertIn("unsafe use of mankai_contains", self.refused(statement), statement)

    def test_temporary_views_and_triggers_are_of_the_connection(self):
        self.files.filter(self.path, ["a"])
        self.database.executescript("CREATE TABLE t (key); INSERT INTO t VALUES ('a'), ('b');"
                                    f"CREATE TEMP VIEW v AS SELECT key FROM t WHERE mankai_contains('{self.path}', key)")
        self.assertEqual(self.database.execute("SELECT * FROM v").fetchall(), [("a",)])

    def test_an_index_of_canonical_urls_is_used(self):
        self.database.executescript("PRAGMA trusted_schema = OFF; CREATE TABLE t (url); CREATE INDEX i ON t (mankai_canonical(url));"
                                    "INSERT INTO t VALUES ('HTTP://Example.org'), ('http://example.net/')")
        plan = self.database.execute("EXPLAIN QUERY PLAN SELECT url FROM t WHERE mankai_canonical(url) = 'http://example.org/'").fetchall()
        self.assertIn("INDEX i", plan[0][3])
        self.assertEqual(self.one("SELECT url FROM t WHERE mankai_canonical(url) = 'http://example.org/'"), "HTTP://Example.org")

    def test_registrable_domains_are_for_views_but_not_for_indexes(self):
        self.database.executescript("PRAGMA trusted_schema = OFF; CREATE TABLE t (url); INSERT INTO t VALUES ('http://a.example.org/');"
                                    "CREATE VIEW v AS SELECT mankai_registrable_domain(url) AS domain FROM t")
        self.assertEqual(self.one("SELECT domain FROM v"), "example.org")
        self.assertIn("non-deterministic", self.refused("CREATE INDEX i ON t (mankai_registrable_domain(url))"))

    def test_the_file_needs_libraries_of_the_system_only(self):
        def lines_of(*words):
            return subprocess.run([*words, EXTENSION], capture_output=True, text=True, check=True).stdout.splitlines()
        needed = [re.search(r"\[(.*)\]", line)[1] for line in lines_of("readelf", "--dynamic", "--wide") if "(NEEDED)" in line]
        self.assertEqual([name for name in needed if not SYSTEM.fullmatch(name)], [])
        names = [line.split()[-1] for line in lines_of("nm", "--dynamic", "--defined-only")]
        self.assertEqual(names, ["sqlite3_extension_init"])

    def test_the_shell_loads_it(self):
        shell = shutil.which("sqlite3")
        if shell is None:
            self.skipTest("SKIPPED: there is no sqlite3. tools/install_dependencies.sh test installs it.")
        self.files.filter(self.path, ["a"])
        done = subprocess.run([shell, ":memory:", f".load {EXTENSION}", f"SELECT mankai_contains('{self.path}', 'a')"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.stdout, done.stderr), ("1\n", ""))


if __name__ == "__main__":
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        if os.path.exists(DEBIAN_PYTHON) and os.path.realpath(DEBIAN_PYTHON) != os.path.realpath(sys.executable):
            os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
        print("SKIPPED: this Python's sqlite3 loads no extensions; Debian's python3 does.", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
