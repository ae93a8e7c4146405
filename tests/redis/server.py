"""Debian's redis-server on the loopback interface, for the suites beside this file: alone, with replicas, as a cluster.

Every server has a temporary folder, is ended by its own process id, and dies with the test even when that is killed:
the kernel is asked to end it with its parent.
"""
import atexit
import contextlib
import ctypes
import functools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from client import PATIENCE, Client, Error, wait_for

SERVER = shutil.which(os.environ.get("MANKAI_REDIS_SERVER", "redis-server"))
COMMAND_LINE = shutil.which("redis-cli")
SLOTS = 16384
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_running = set()


def _environment():
    """For a module that is built with a sanitizer: the server must load the sanitizer's library first."""
    preloaded = os.environ.get("MANKAI_REDIS_PRELOAD")
    return {**os.environ, **({"LD_PRELOAD": preloaded} if preloaded else {})}


def _die_with_the_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@atexit.register
def _end_all():
    for server in list(_running):
        server.close()


def free_port():
    """Returns a port that is free now, and free for the cluster's bus too, 10000 above."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port - 10000))
            except OSError:
                continue
            return port - 10000
    raise AssertionError("no two free ports 10000 apart")


class Server:
    """One server. Without `tcp` it listens on a unix socket only, so that no port can be taken from it."""

    def __init__(self, module=None, tcp=False, module_arguments=(), **options):
        self._folder = tempfile.TemporaryDirectory(prefix="redis-")
        self.folder = pathlib.Path(self._folder.name)
        self.port = free_port() if tcp else 0
        self.socket = str(self.folder / "socket")
        self.process = None
        self._clients = []
        self._log = ""
        self._options = {
            "port": self.port, "bind": "127.0.0.1", "unixsocket": self.socket, "dir": self.folder, "save": '""',
            "logfile": self.folder / "log", "enable-debug-command": "yes", "repl-diskless-sync-delay": 0,
            "repl-ping-replica-period": 1, "shutdown-timeout": 0,
            # With the default, everysec, commands are answered before they are written while a sync is under way.
            "appendfsync": "no",
            # As Valkey since 8.0 by default: the engine requests the size of a value that a command replaces.
            "lazyfree-lazy-server-del": "yes",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        if module is not None:
            self._options["loadmodule"] = " ".join(map(str, [module, *module_arguments]))
        try:
            self._start_on_a_free_port()
        except BaseException:
            self.close()
            raise

    def _start_on_a_free_port(self):
        for attempt in range(5):
            try:
                self.start()
                return
            except AssertionError:
                if attempt == 4 or not self.port or "bind: Address already in use" not in self.log():
                    raise
            self.port = self._options["port"] = free_port()
            (self.folder / "redis.conf").unlink()

    @property
    def address(self):
        return ("127.0.0.1", self.port) if self.port else self.socket

    def start(self):
        configuration = self.folder / "redis.conf"
        if not configuration.exists():  # CONFIG REWRITE may have changed it
            configuration.write_text("".join(f"{name} {value}\n" for name, value in self._options.items()))
        self.process = subprocess.Popen([SERVER, configuration], cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=_environment(), preexec_fn=_die_with_the_parent)
        _running.add(self)
        self._wait_until_ready()

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"redis-server ended with {self.process.returncode}:\n{self.log()}")
        with Client(self.socket) as client:
            reply = client.call("PING")
            return reply == b"PONG" or isinstance(reply, Error) and reply.startswith(("MASTERDOWN", "NOAUTH"))

    def _wait_until_ready(self):
        wait_for("the server answers", self._answers)

    def client(self, protocol=2):
        """Returns a connection, closed with the server."""
        client = Client(self.socket, protocol)
        self._clients.append(client)
        return client

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Ends the server in order, or at once when it does not obey."""
        self._end(signal.SIGTERM)

    def kill(self):
        """Ends the server as a power cut would, but for what the kernel holds."""
        self._end(signal.SIGKILL)

    def _end(self, number):
        for client in self._clients:
            client.close()
        self._clients = []
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        _running.discard(self)

    def restart(self, kill=False):
        """Ends the server, without saving, and starts it again in the same folder."""
        self._end(signal.SIGKILL if kill else signal.SIGTERM)
        self.start()

    def close(self):
        self.stop()
        self._log = self.log()
        self._folder.cleanup()

    def log(self, lines=60):
        """Returns the end of the log, also after the folder is gone."""
        path = self.folder / "log"
        if not path.exists():
            return self._log
        return "\n".join(path.read_text(errors="replace").split("\n")[-lines:])

    def replicate(self, primary):
        """Becomes a replica and waits until it has caught up."""
        with Client(self.socket) as client:
            client.must("REPLICAOF", "127.0.0.1", primary.port)
        self.wait_for_primary(primary)

    def wait_for_primary(self, primary):
        """Waits until this replica has all that the primary has written so far."""
        def caught_up():
            with Client(primary.socket) as there, Client(self.socket) as here:
                # An idle primary sends nothing: its offset stands still, and equal offsets are equal data.
                behind, ahead = here.info("replication"), there.info("replication")
                return (behind["master_link_status"] == "up" and
                        behind["slave_repl_offset"] == ahead["master_repl_offset"])

        wait_for("the replica has caught up", caught_up)


def _run(*words):
    done = subprocess.run([COMMAND_LINE, *map(str, words)], capture_output=True, text=True,
                          timeout=3 * PATIENCE, check=False)
    if done.returncode != 0:
        raise AssertionError(f"redis-cli {' '.join(map(str, words))}:\n{done.stdout[-3000:]}{done.stderr}")
    return done.stdout


class Listener:
    """Serves each connection in a thread of its own: `serve(client)`."""

    def listen(self, listener):
        self.listener = listener
        threading.Thread(target=self.accept, daemon=True).start()

    def listen_at(self, path):
        self.socket = str(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.socket)
        listener.listen(9)
        self.listen(listener)

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()


class Cluster:
    """Primaries and as many replicas, joined by `redis-cli --cluster create`.

    A node that is silent for a time is replaced. On a busy machine that happens to healthy ones, and a second failover
    in the middle of a step is not what is tested: so that time is long, and short only where a node was killed
    (`hurried`). Every step begins and ends when the cluster is settled.
    """

    PATIENT_MS, HURRIED_MS = 60_000, 2_000

    def __init__(self, module=None, primaries=3):
        self.servers = []
        try:
            for _ in range(2 * primaries):
                self.servers.append(Server(module, tcp=True, cluster_enabled="yes", cluster_config_file="nodes.conf",
                                           cluster_node_timeout=self.PATIENT_MS, cluster_replica_validity_factor=0))
            _run("--cluster", "create", *(f"127.0.0.1:{server.port}" for server in self.servers),
                 "--cluster-replicas", 1, "--cluster-yes")
            self.settle()
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def hurried(self, milliseconds=HURRIED_MS):
        """Silent nodes are replaced soon, as long as this lasts."""
        self._set_node_timeout(milliseconds)
        try:
            yield
        finally:
            self._set_node_timeout(self.PATIENT_MS)

    def _set_node_timeout(self, milliseconds):
        for server in self.running():
            with Client(server.socket) as client:
                client.config("cluster-node-timeout", milliseconds)

    def settle(self):
        """Waits until every node that runs says the same of all that run: who has which slots, and who follows whom."""
        wait_for("the cluster is settled", self.is_settled, seconds=4 * PATIENCE, step=0.1)

    def is_settled(self):
        views = [self._view_of(server) for server in self.running()]
        return None not in views and all(view == views[0] for view in views)

    def _view_of(self, server):
        """Returns {port: (its primary's id, its slots)} of the nodes that run, or None while something is under way."""
        with Client(server.socket) as client:
            replication = client.info("replication")
            if not self.is_fine(client) or replication.get("master_link_status", "up") != "up":
                return None
            lines = [line.split(" ") for line in bytes(client.must("CLUSTER", "NODES")).decode().splitlines()]
        running = {server.port for server in self.running()}
        view = {}
        for _, address, flags, primary, _, _, _, link, *slots in lines:
            port = int(address.partition("@")[0].rpartition(":")[2])
            if port not in running:
                continue
            is_in_doubt = {"fail", "fail?", "handshake", "noaddr"} & set(flags.split(",")) or link != "connected"
            if is_in_doubt or any(slot.startswith("[") for slot in slots):  # `[`: a slot that is being moved
                return None
            view[port] = primary, slots
        return view if set(view) == running else None

    @staticmethod
    def is_fine(client):
        return b"cluster_state:ok" in client.must("CLUSTER", "INFO")

    def running(self):
        return [server for server in self.servers if server.is_running()]

    def roles(self):
        """Returns {server: role} of those that run."""
        found = {}
        for server in self.running():
            with Client(server.socket) as client:
                found[server] = client.info("replication")["role"]
        return found

    def node_id(self, server):
        with Client(server.socket) as client:
            return bytes(client.must("CLUSTER", "MYID")).decode()

    def reshard(self, source, target, slots):
        """Moves slots between two primaries, keys and all, as an operator would."""
        return _run("--cluster", "reshard", f"127.0.0.1:{source.port}", "--cluster-from", self.node_id(source),
                    "--cluster-to", self.node_id(target), "--cluster-slots", slots, "--cluster-yes")

    def migrates_atomically(self):
        """Whether all keys of a slot change their owner at once: Valkey 9, Redis 8.4."""
        with Client(self.servers[0].socket) as client:
            return any(client.must("COMMAND", "INFO", "cluster|migrateslots", "cluster|migration"))

    def migrate(self, source, target):
        """Moves the first range of slots of a primary, but its last slot, atomically: a primary without slots follows another."""
        with Client(source.socket) as there, Client(target.socket) as here:
            (slots,) = [line.split(" ")[8] for line in bytes(there.must("CLUSTER", "NODES")).decode().splitlines()
                        if "myself" in line]
            first, last = map(int, slots.split("-"))
            if there.must("COMMAND", "INFO", "cluster|migrateslots")[0]:
                there.must("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last - 1, "NODE", self.node_id(target))
                status = functools.partial(there.must, "CLUSTER", "GETSLOTMIGRATIONS")
            else:
                status = functools.partial(here.must, "CLUSTER", "MIGRATION", "STATUS", "ID",
                                           here.must("CLUSTER", "MIGRATION", "IMPORT", first, last - 1))

            def is_done():
                (job,) = status()
                fields = dict(zip(map(bytes, job[::2]), job[1::2]))
                if fields[b"state"] in (b"failed", b"canceled"):
                    raise AssertionError(f"the slots were not migrated: {fields}")
                return fields[b"state"] in (b"success", b"completed")

            wait_for("the slots are migrated", is_done, seconds=4 * PATIENCE)

    def check(self):
        """Raises when redis-cli finds a slot without an owner or nodes that disagree, also when they have settled."""
        self.settle()
        return _run("--cluster", "check", f"127.0.0.1:{self.running()[0].port}")

    def close(self):
        for server in self.servers:
            server.kill()
            server.close()
