#!/usr/bin/env python3
"""Shows a sharded filter in a cluster of six nodes: a primary is killed, slots move, and no acknowledged item is lost.

    examples/cluster/failover.py [--module build/lib/mankai-redis.so] [--mankai build/bin/mankai]

Needs redis-server or valkey-server, its command line (redis-cli), and Python; README.md describes the steps. Exit codes:
0 everything answers, 1 an acknowledged item is lost or a step failed, 77 a program is missing.
"""
import argparse
import binascii
import contextlib
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILTER, SHARDS, LOADED, BATCH = "crawled", 16, 200_000, 100
PATIENCE = 120  # seconds for a step of a busy machine
MISSING = 77    # exit code that test runners read as "skipped"


class NotNow(Exception):
    """No node answers for this shard at the moment."""


class Connection:
    """A connection to one node. WAIT concerns the writes of its own connection."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._stream = self._socket.makefile("rb")

    def close(self):
        self._stream.close()
        self._socket.close()

    def call(self, *words):
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
        return self._reply()

    def _reply(self):
        line = self._stream.readline().decode().rstrip()
        if not line:
            raise ConnectionError("the node closed the connection")
        kind, value = line[0], line[1:]
        if kind == "*":
            return [self._reply() for _ in range(int(value))]
        if kind == "$":
            return self._stream.read(int(value) + 2)[:-2].decode() if value != "-1" else None
        return int(value) if kind == ":" else NotNow(value) if kind == "-" else value


def slot_of(shard):
    """The engine's rule for a key with braces."""
    return binascii.crc_hqx(shard[shard.index("{") + 1:shard.index("}")].encode(), 0) % 16384


class Client:
    """Sends a command to the node that has the key. Follows MOVED and ASK."""

    def __init__(self, nodes):
        self._nodes = nodes
        self._ports = {}        # by slot
        self._connections = {}  # by port

    def call(self, key, *own):
        """Sends commands for the key over one connection and returns their replies. Raises NotNow; try again then."""
        slot, commands = slot_of(key), own
        port = self._ports.get(slot) or next(node.port for node in self._nodes if node.is_running())
        try:
            for _ in range(5):
                replies = [self._connection(port).call(*words) for words in commands]
                error = next((reply for reply in replies if isinstance(reply, NotNow)), None)
                if error is None:
                    if commands is own:  # not of a slot that is being moved
                        self._ports[slot] = port
                    return replies[-len(own):]
                kind, *more = str(error).split(" ")
                if kind not in ("MOVED", "ASK"):
                    break
                port = int(more[1].rpartition(":")[2])
                commands = [("ASKING",), *own] if kind == "ASK" else own
        except OSError as broken:
            error = NotNow(broken)
            self._connections.pop(port, None)
        self._ports.pop(slot, None)
        raise error

    def port_of(self, key):
        self.call(key, ("TYPE", key))
        return self._ports[slot_of(key)]

    def _connection(self, port):
        if port not in self._connections:
            self._connections[port] = Connection(port)
        return self._connections[port]


class Node:
    """A server with the module, in a folder of its own."""

    def __init__(self, server, module, folder, node_timeout):
        self._folder = folder
        folder.mkdir()
        # The kernel ends the servers with this program, even if that is killed.
        self._words = [*(["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []), server, "--bind", "127.0.0.1",
                       "--dir", folder, "--logfile", "log", "--save", "", "--appendonly", "yes", "--loadmodule", module,
                       "--cluster-enabled", "yes", "--cluster-node-timeout", str(node_timeout),
                       "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"]
        self._process = None
        for _ in range(5):  # another program may take the port
            self.port = free_port()
            with contextlib.suppress(ChildProcessError):
                return self.start()
        raise ChildProcessError(f"{server} does not start:\n{self.log()}")

    def start(self):
        self._process = subprocess.Popen([*self._words, "--port", str(self.port)], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, start_new_session=True)
        wait_for(f"port {self.port} answers", lambda: self.ask("PING") == "PONG")

    def log(self):
        log = self._folder / "log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-20:]) if log.exists() else ""

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def ask(self, *words):
        if not self.is_running():
            raise ChildProcessError(f"the server at port {self.port} ended:\n{self.log()}")
        with contextlib.closing(Connection(self.port)) as connection:
            reply = connection.call(*words)
        if isinstance(reply, NotNow):
            raise reply
        return reply

    def info(self, section):
        return dict(line.split(":", 1) for line in self.ask("INFO", section).split("\r\n") if ":" in line)


def free_port():
    """Returns a port that is free, and whose port of the cluster bus, 10000 above, is free."""
    while True:
        with socket.socket() as bus, socket.socket() as plain, contextlib.suppress(OSError):
            bus.bind(("127.0.0.1", 0))
            plain.bind(("127.0.0.1", bus.getsockname()[1] - 10000))
            return plain.getsockname()[1]


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(NotNow, ConnectionError, TimeoutError):
            if value := condition():
                return value
        time.sleep(0.02)
    raise TimeoutError(f"not within {PATIENCE} s: {what}")


class Writer(threading.Thread):
    """Adds batches, each to one shard, until it is stopped. `acknowledged` are items that a replica has, too."""

    def __init__(self, nodes, name):
        super().__init__(daemon=True)
        self._client, self._name, self._is_stopped = Client(nodes), name, threading.Event()
        self.acknowledged, self.refused, self.trouble = [], 0, None

    def run(self):
        waiting, number = {}, 0
        while not self._is_stopped.is_set():
            item = f"https://example.com/{self._name}/{number}"
            number += 1
            shard = zlib.crc32(item.encode()) % SHARDS
            items = waiting.setdefault(shard, [])
            items.append(item)
            if len(items) == BATCH:
                self._add(f"{FILTER}{{{shard}}}", items)
                waiting[shard] = []

    def _add(self, key, items):
        while not self._is_stopped.is_set():
            try:
                answers, replicas = self._client.call(key, ("BF.INSERT", key, "NOCREATE", "ITEMS", *items),
                                                      ("WAIT", 1, 1000))
                if len(answers) == len(items) and replicas >= 1:
                    self.acknowledged += items
                    return
                self.trouble = f"{key}: {replicas} replicas have the batch"
            except NotNow as error:
                self.trouble = f"{key}: {error}"
            self.refused += 1
            time.sleep(0.02)

    def stop(self):
        self._is_stopped.set()
        self.join()
        return self.acknowledged


class Story:
    """The steps, each of which prints what it did."""

    def __init__(self, options, folder):
        self._options, self._start = options, time.monotonic()
        self._nodes = []
        self._folder = pathlib.Path(folder)
        self._acknowledged = []

    def say(self, text):
        print(f"{time.monotonic() - self._start:6.1f} s  {text}", flush=True)

    def close(self):
        for node in self._nodes:
            node.kill()

    def tell(self):
        self.start()
        self.load()
        self.kill_a_primary()
        self.check()
        self.move_slots()
        self.check()

    def start(self):
        options = self._options
        for number in range(6):
            self._nodes.append(Node(options.server, options.module, self._folder / str(number), options.node_timeout))
        self.say(f"six nodes on the ports {', '.join(str(node.port) for node in self._nodes)}")
        self.redis_cli("create", *(f"127.0.0.1:{node.port}" for node in self._nodes), "--cluster-replicas", "1")
        self.settle()
        self.say("the first three are primaries, each of the others replicates one of them")

    def load(self):
        items = [f"https://example.com/{number}" for number in range(LOADED)]
        self.mankai("add", f"{self.address()}&keys=1M&fpr=0.001", items=items)
        self._acknowledged += items
        wait_for("replicas have everything", lambda: all(map(self.is_replicated, self.primaries())))
        self.say(f"loaded {LOADED:,} items into the shards {FILTER}{{0}} to {FILTER}{{{SHARDS - 1}}}")

    def kill_a_primary(self):
        writer = Writer(self._nodes, "failover")
        writer.start()
        wait_for("writes", lambda: len(writer.acknowledged) > 20 * BATCH)
        client = Client(self._nodes)
        key = f"{FILTER}{{0}}"
        victim = next(node for node in self.primaries() if node.port == client.port_of(key))
        victim.kill()
        killed = time.monotonic()
        before = len(writer.acknowledged)
        self.say(f"killed the primary at port {victim.port} (kill -9) after {before:,} acknowledged items of a writer")
        wait_for("its shards answer", lambda: client.call(key, ("BF.CARD", key)))
        self.say(f"its replica answers {time.monotonic() - killed:.1f} s after the kill; until the old primary is back as a "
                 "replica, WAIT reports writes to it as not replicated")
        victim.start()
        self.settle()
        wait_for("writes to all shards", lambda count=len(writer.acknowledged): len(writer.acknowledged) > count + 2 * BATCH * SHARDS)
        self._acknowledged += writer.stop()
        self.say(f"it is back as a replica: {len(writer.acknowledged):,} items are acknowledged, {writer.refused} attempts were "
                 f"repeated, the last one because of {writer.trouble!r}")

    def move_slots(self):
        source, target, _ = self.primaries()
        writer = Writer(self._nodes, "moved")
        writer.start()
        wait_for("writes", lambda: len(writer.acknowledged) > 20 * BATCH)
        before = source.ask("DBSIZE")
        self.redis_cli("reshard", f"127.0.0.1:{source.port}", "--cluster-from", source.ask("CLUSTER", "MYID"),
                       "--cluster-to", target.ask("CLUSTER", "MYID"), "--cluster-slots", "2500")
        self.settle()
        self._acknowledged += writer.stop()
        self.say(f"moved 2,500 slots from port {source.port} to port {target.port} beside a writer: {before} shards were at the first "
                 f"one, {source.ask('DBSIZE')} are left; {len(writer.acknowledged):,} items are acknowledged")

    def check(self):
        lost = self.mankai("check", "--absent", self.address(), items=self._acknowledged)
        if lost:
            raise AssertionError(f"{len(lost)} acknowledged items are lost, such as {lost[0]}")
        absent = [f"https://example.com/absent/{number}" for number in range(10_000)]
        found = len(absent) - len(self.mankai("check", "--absent", self.address(), items=absent))
        self.say(f"all {len(self._acknowledged):,} acknowledged items answer yes; of {len(absent):,} absent ones {found} do")

    def address(self):
        port = next(node.port for node in self._nodes if node.is_running())
        return f"redis://127.0.0.1:{port}/{FILTER}?shards={SHARDS}"

    def mankai(self, *words, items):
        """Runs the command with items as input; returns the lines that it prints. `check` ends with 1 if it prints none."""
        done = subprocess.run([self._options.mankai, *words], input="".join(f"{item}\n" for item in items), text=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode not in (0, 1):
            raise ChildProcessError(f"{' '.join(words)} ended with {done.returncode}")
        return done.stdout.splitlines()

    def redis_cli(self, *words):
        done = subprocess.run([self._options.cli, "--cluster", *words, "--cluster-yes"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ChildProcessError(f"{words[0]} failed:\n{done.stdout[-2000:]}{done.stderr}")

    def primaries(self):
        return [node for node in self._nodes if node.is_running() and node.info("replication")["role"] == "master"]

    @staticmethod
    def is_replicated(primary):
        state = primary.info("replication")
        return f"offset={state['master_repl_offset']}," in state.get("slave0", "")

    def settle(self):
        """Waits until all nodes name the same owners of all slots, and each primary has a replica."""
        wait_for("the nodes agree", self.is_settled)

    def is_settled(self):
        states = [node.info("replication") for node in self._nodes]
        views = {str(sorted(slots[:3] for slots in node.ask("CLUSTER", "SLOTS"))) for node in self._nodes}
        return (len(views) == 1 and all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self._nodes) and
                sum("state=online" in state.get("slave0", "") for state in states) == 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=ROOT / "build/lib/mankai-redis.so", type=pathlib.Path)
    parser.add_argument("--mankai", default=ROOT / "build/bin/mankai", type=pathlib.Path)
    parser.add_argument("--server", default=shutil.which("redis-server") or shutil.which("valkey-server"))
    parser.add_argument("--cli", default=shutil.which("redis-cli") or shutil.which("valkey-cli"))
    parser.add_argument("--node-timeout", default=1000, type=int, metavar="MS",
                        help="silence after which a node is replaced; busy machines need more [default: 1000]")
    options = parser.parse_args()
    options.module = options.module.resolve()
    for name, path in (("redis-server", options.server), ("redis-cli", options.cli), ("the module", options.module),
                       ("the command", options.mankai)):
        if not path or not pathlib.Path(path).exists():
            print(f"SKIPPED: {name} is missing; install it, or give its path (--help)", file=sys.stderr)
            return MISSING
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="mankai-cluster-") as folder, contextlib.closing(Story(options, folder)) as story:
        try:
            story.tell()
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except (AssertionError, ChildProcessError, TimeoutError) as error:
            story.say(f"FAILED: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
