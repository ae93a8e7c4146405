"""`mankai guard load`: a whole guard in one key, while others read it, and what stays after errors.

Usage: guard_load_test.py MODULE MANKAI [unittest arguments...]
"""
import json
import os
import pathlib
import pty
import subprocess
import sys
import threading
import time

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from client import render, wait_for  # noqa: E402: the arguments are those of `harness` from here on
from harness import GOLDEN_GUARD, RedisTest, main, needs_module  # noqa: E402

OK, USAGE, BAD_DATA, INPUT_OUTPUT = 0, 2, 3, 4  # docs/cli.md
RULES = 150_000  # a file of more than two pieces


@needs_module
class GuardLoadTest(RedisTest):
    def setUp(self):
        self.server = self.start(tcp=True)
        self.client = self.server.client()

    def load(self, file, *more, key="lists", address=None, **environment):
        words = [MANKAI, "guard", "load", address or f"unix:{self.server.socket}", key, file, *more]
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, **environment})

    def built(self, name, rules):
        lines, file = self.server.folder / f"{name}.txt", self.server.folder / f"{name}.mkg"
        lines.write_text("\n".join(rules) + "\n")
        subprocess.run([MANKAI, "guard", "build", "--quiet", "--seed", "1", file, lines], check=True, timeout=120)
        return file

    def assert_only(self, *keys):
        self.assertEqual({bytes(key).decode() for key in self.client.must("KEYS", "*")}, set(keys))

    def assert_fails(self, done, code, *texts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_a_guard_is_loaded_and_told(self):
        done = self.load(GOLDEN_GUARD, "--json")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        told = json.loads(done.stdout)
        facts = self.client.must("GUARD.INFO", "lists")
        facts = {bytes(name).decode(): value for name, value in zip(facts[::2], facts[1::2])}
        self.assertEqual((told["rules"], told["exceptions"]), (facts["Rules"], facts["Exceptions"]))
        self.assertEqual((told["key"], told["bytes"]), ("lists", GOLDEN_GUARD.stat().st_size))
        self.assertEqual(render(self.client.must("GUARD.CHECK", "lists", "www.evil.example")[0]), '"evil.example"')
        self.assertEqual(self.client.must("TTL", "lists"), -1)
        image = GOLDEN_GUARD.read_bytes()
        self.client.must("GUARD.LOADCHUNK", "by hand", 0, len(image), image)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "lists", "by hand"))
        self.assert_only("lists", "by hand")

    def test_over_tcp_in_text_and_quietly(self):
        address = f"redis://127.0.0.1:{self.server.port}"
        done = self.load(GOLDEN_GUARD, address=address, key="{tag}lists")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        self.assertRegex(done.stdout, r"redis +redis://127\.0\.0\.1:\d+\nkey +\{tag\}lists\nrules +\d+\n")
        done = self.load(GOLDEN_GUARD, "--quiet", address=address)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (OK, "", ""))
        self.assert_only("{tag}lists", "lists")

    def test_readers_see_the_old_guard_until_the_new_one_is_whole(self):
        files = [self.built(name, [f"{name}.example", *(f"h{number}.{name}.test" for number in range(RULES))])
                 for name in ("old", "new")]
        self.assertGreater(files[1].stat().st_size, 2 << 20)
        self.assertEqual(self.load(files[0]).returncode, OK)
        seen, is_done = set(), threading.Event()

        def read():
            with self.server.client() as client:
                while not is_done.is_set():
                    seen.add(tuple(map(render, client.must("GUARD.CHECK", "lists", "a.old.example", "a.new.example"))))

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(6):
            self.assertEqual(self.load(files[1 - number % 2]).returncode, OK)
        is_done.set()
        reader.join()
        old, new = ('"old.example"', "$-1"), ("$-1", '"new.example"')
        self.assertLessEqual(seen, {old, new})
        self.assertEqual(seen, {old, new})
        self.assert_only("lists")

    def test_a_refused_load_leaves_the_key_as_it_was(self):
        large = self.built("large", [f"h{number}.example" for number in range(RULES)])
        self.client.must("GUARD.BLOCK", "lists", "kept.example")
        before = self.client.must("DEBUG", "DIGEST-VALUE", "lists")
        self.client.config("bf.filter-memory-limit", 1 << 20)
        self.assert_fails(self.load(large), INPUT_OUTPUT, "filter-memory-limit")
        self.client.config("bf.filter-memory-limit", 0)
        self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", "lists"), before)
        self.assert_only("lists")

    def test_a_key_of_another_type_is_not_replaced(self):
        self.client.must("SET", "lists", "a string")
        self.assert_fails(self.load(GOLDEN_GUARD), USAGE, "the key lists holds no guard", "DEL")
        self.assertEqual(self.client.must("GET", "lists"), b"a string")
        self.assert_fails(self.load(GOLDEN_GUARD, key="a}b"), USAGE, "without a {")
        self.assert_only("lists")

    def test_a_guard_that_waits_for_its_bytes_is_replaced(self):
        image = GOLDEN_GUARD.read_bytes()
        self.client.must("GUARD.LOADCHUNK", "lists", 0, len(image), image[:100])
        self.assertEqual(self.load(GOLDEN_GUARD).returncode, OK)
        self.assertEqual(render(self.client.must("GUARD.CHECK", "lists", "www.evil.example")[0]), '"evil.example"')

    def test_what_is_no_guard_and_servers_that_do_not_answer(self):
        broken = self.server.folder / "broken.mkg"
        broken.write_bytes(GOLDEN_GUARD.read_bytes()[:-1])
        self.assert_fails(self.load(broken), BAD_DATA, "broken.mkg")
        self.assert_fails(self.load(self.server.folder / "none.mkg"), INPUT_OUTPUT, "none.mkg")
        self.assert_fails(self.load(GOLDEN_GUARD, address="http://a"), USAGE, "SERVER")
        self.assert_fails(self.load(GOLDEN_GUARD, address=f"unix:{self.server.folder}/none"), INPUT_OUTPUT, "no connection")
        done = subprocess.run([MANKAI, "guard", "load", "redis://127.0.0.1", GOLDEN_GUARD], capture_output=True, text=True,
                              check=False, timeout=60)
        self.assert_fails(done, USAGE, "FILE")
        self.assert_only()

    def test_as_a_user_who_may_do_no_more_than_is_needed(self):
        self.client.must("ACL", "SETUSER", "writer", "on", ">secret", "~lists", "~{lists}:load-*", *(
            f"+{name}" for name in ("guard.info", "guard.loadchunk", "multi", "exec", "pexpire", "persist", "rename", "del")))
        address = f"redis://writer@127.0.0.1:{self.server.port}"
        done = self.load(GOLDEN_GUARD, address=address, MANKAI_REDIS_PASSWORD="secret")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        self.assert_fails(self.load(GOLDEN_GUARD, address=address, MANKAI_REDIS_PASSWORD="wrong"), USAGE, "WRONGPASS")
        self.client.must("ACL", "SETUSER", "writer", "-guard.loadchunk")
        self.assert_fails(self.load(GOLDEN_GUARD, address=address, MANKAI_REDIS_PASSWORD="secret"), USAGE, "NOPERM")
        self.assert_only("lists")

    def test_an_update_loads_what_it_made(self):
        folder = self.server.folder
        (folder / "a.txt").write_text("a.example\n")
        (folder / "sources.toml").write_text(
            '[[list]]\nname = "a"\npath = "a.txt"\n' + "".join(
                f'[[redis]]\nserver = "{server}"\nkey = "lists"\n'
                for server in (f"unix:{folder}/none", f"unix:{self.server.socket}")))

        def update(code):
            done = subprocess.run([MANKAI, "guard", "update", folder / "b.mkg", "--from", folder / "sources.toml", "--json"],
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            return json.loads(done.stdout), done.stderr

        told, error = update(INPUT_OUTPUT)
        self.assertRegex(error, r"\Amankai: unix:.*/none: .*; the key lists is unchanged\n\Z")
        self.assertEqual([each["loaded"] for each in told["servers"]], [False, True])
        self.assertEqual(render(self.client.must("GUARD.CHECK", "lists", "www.a.example")[0]), '"a.example"')
        # Also if nothing changed: the server may have lost it.
        self.client.must("FLUSHALL")
        sources = folder / "sources.toml"
        sources.write_text(sources.read_text().replace(f"unix:{folder}/none", f"unix:{self.server.socket}").replace("lists", "first", 1))
        told, error = update(OK)
        self.assertEqual((told["updated"], error), (False, ""))
        self.assert_only("first", "lists")


@needs_module
class ProgressTest(RedisTest):
    def test_a_terminal_shows_how_far_it_is(self):
        """The server pauses until the first piece has waited for longer than the line does."""
        server = self.start()
        client = server.client()
        client.must("CLIENT", "PAUSE", 60_000, "WRITE")
        terminal, inner = pty.openpty()
        with subprocess.Popen([MANKAI, "guard", "load", f"unix:{server.socket}", "lists", GOLDEN_GUARD,
                               "--quiet"], stdout=inner, stderr=inner) as load:
            os.close(inner)
            wait_for("the load waits", lambda: b"cmd=guard.loadchunk" in bytes(client.must("CLIENT", "LIST")))
            time.sleep(1.5)
            client.must("CLIENT", "UNPAUSE")
            shown = b""
            try:
                while part := os.read(terminal, 4096):
                    shown += part
            except OSError:  # the other end is closed
                pass
            os.close(terminal)
            self.assertEqual(load.wait(timeout=60), OK)
        self.assertRegex(shown, rb"\A\r\x1b\[K.* of .*, 100%; .*/s\r\x1b\[K\Z")


if __name__ == "__main__":
    main()
