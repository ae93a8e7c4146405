"""A live takeover of RedisBloom: clients write during the full synchronization and after it; then every answer is compared.

Usage: takeover_live_test.py MODULE MANKAI [unittest arguments...]

MANKAI_REDISBLOOM_MODULE is the path of a RedisBloom module that the server can load.
"""
import os
import pathlib
import subprocess
import sys
import threading

MANKAI = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from client import Client, wait_for  # noqa: E402
from harness import ROUNDS, SKIPPED, RedisTest, main, needs_module  # noqa: E402: the arguments are those of `harness`
from server import Server  # noqa: E402

REDISBLOOM = os.environ.get("MANKAI_REDISBLOOM_MODULE")
WRITERS, BATCH, ITEMS = 4, 100, 20_000 * ROUNDS
SETUP = [["BF.RESERVE", "grows", "0.01", 100], ["BF.RESERVE", "fixed", "0.001", ITEMS * 9 // 10, "NONSCALING"],
         ["CF.RESERVE", "cf", 1024, "EXPANSION", 2], ["CMS.INITBYDIM", "cms", 1000, 5], ["TOPK.RESERVE", "topk", 20, 500, 5, 1]]


def write(address, writer, first, last):
    """Adds a writer's share of the items. Every fifth one is deleted from the cuckoo filter again."""
    with Client(address) as client:
        for start in range(first + writer * BATCH, last, WRITERS * BATCH):
            numbers = range(start, start + BATCH)
            items = [f"item{number}" for number in numbers]
            replies = client.pipeline([
                ("BF.MADD", "grows", *items), ("BF.MADD", "fixed", *items), ("CF.INSERT", "cf", "ITEMS", *items),
                ("CMS.INCRBY", "cms", *(word for item in items for word in (item, 1))),
                ("TOPK.ADD", "topk", *(f"top{number * number % 97}" for number in numbers)),
                *(("CF.DEL", "cf", item) for item in items[::5])])
            assert replies[2] == [1] * BATCH and replies[5:] == [1] * (BATCH // 5), replies


@needs_module
class TakeoverLiveTest(RedisTest):
    def start_writers(self, first, last):
        failures = []

        def run(writer):
            try:
                write(self.old.socket, writer, first, last)
            except BaseException as error:  # noqa: BLE001: reported by the test
                failures.append(error)

        threads = [threading.Thread(target=run, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()

        def finish():
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])

        return finish

    def answers(self, server, command, key, items):
        with Client(server.socket) as client:
            return [one for start in range(0, len(items), 1000)
                    for one in client.must(command, key, *items[start:start + 1000])]

    def compare(self, first, second):
        done = subprocess.run([MANKAI, "takeover", "compare", f"unix:{first.socket}", f"unix:{second.socket}"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_no_item_and_no_answer_is_lost(self):
        self.old = Server(REDISBLOOM, tcp=True)
        self.servers.append(self.old)
        self.addCleanup(self.old.close)
        new = self.start(tcp=True, **{"bf.layout": "redisbloom"})
        from_, to = self.old.client(), new.client()
        for words in SETUP:
            from_.must(*words)
        self.start_writers(0, ITEMS // 4)()
        filters = from_.must("BF.INFO", "grows", "FILTERS")
        finish = self.start_writers(ITEMS // 4, ITEMS)
        new.replicate(self.old)
        finish()
        from_.must("CLIENT", "PAUSE", 600_000, "WRITE")
        new.wait_for_primary(self.old)
        self.assertNotIn("== CRITICAL ==", new.log(10**6))
        self.assertGreater(to.must("BF.INFO", "grows", "FILTERS"), filters, "it grew after the first quarter")

        items, probes = [f"item{number}" for number in range(ITEMS)], [f"absent{number}" for number in range(ITEMS)]
        for command, key in (("BF.MEXISTS", "grows"), ("BF.MEXISTS", "fixed"), ("CF.MEXISTS", "cf"), ("CMS.QUERY", "cms")):
            with self.subTest(key=key):
                self.assertEqual(self.answers(new, command, key, items + probes),
                                 self.answers(self.old, command, key, items + probes))
        self.assertTrue(all(self.answers(new, "BF.MEXISTS", "grows", items)))
        kept = [item for number, item in enumerate(items) if number % 5]
        self.assertTrue(all(self.answers(new, "CF.MEXISTS", "cf", kept)))
        self.compare(self.old, new)

        # The way back: the old server follows the new one.
        to.must("REPLICAOF", "NO", "ONE")
        from_.must("CLIENT", "UNPAUSE")
        self.old.replicate(new)
        to.must("BF.MADD", "grows", *(f"back{number}" for number in range(ITEMS)))
        to.must("CF.INSERT", "cf", "ITEMS", *(f"back{number}" for number in range(ITEMS)))
        to.must("BF.ADD", "created here", "x")
        wait_for("the old server has caught up", lambda: from_.must("BF.EXISTS", "created here", "x"))
        self.old.wait_for_primary(new)
        self.assertNotIn("== CRITICAL ==", self.old.log(10**6))
        self.compare(new, self.old)


if __name__ == "__main__":
    if REDISBLOOM is None:
        print("SKIPPED: set MANKAI_REDISBLOOM_MODULE to a module of RedisBloom that redis-server can load", file=sys.stderr)
        sys.exit(SKIPPED)
    main()
