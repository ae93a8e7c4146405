"""A small exact client of the Redis protocol, versions 2 and 3, for the suites beside this file.

Exact: every reply keeps the type that it had on the wire, so that a test can tell `:1` from `#t`, `+OK` from a bulk
string, and the three ways of saying null from each other. `render` writes a reply as one line for comparisons:

    +OK  -ERR no  :1  #t  ,0.5  "bulk\\x00"  *[:1 :2]  %{+a: :1}  ~{:1}  _ (RESP3)  $-1 and *-1 (RESP2)

Errors are values (`Error`), not exceptions: inside an array they are ordinary members. Only a connection that breaks or
bytes that are no protocol raise.
"""
import os
import select
import socket
import time

# Seconds that a step may take at most, more where MANKAI_REDIS_ROUNDS asks for larger data. A step ends when it is done,
# so this costs nothing but where a test fails; busy machines need it.
PATIENCE = 60 if os.environ.get("MANKAI_REDIS_ROUNDS", "1") == "1" else 180


class ProtocolError(Exception):
    """Bytes that are no RESP."""


class Simple(bytes):
    """A simple string: `+OK`."""


class Verbatim(bytes):
    """A verbatim string; the three letters of its format are kept in front."""


class Error(str):
    """An error reply. A str, so that texts can be looked at."""


class Big(int):
    """A big number of RESP3."""


class Map(list):
    """A list of pairs, in the order of the wire: keys may be of any type and may repeat."""

    def plain(self):
        return {bytes(key).decode(): value for key, value in self}


class Set(list):
    """A set of RESP3, in the order of the wire."""


class Push(list):
    """What the server says without being asked."""


class Null:
    """One of the three nulls; each exists once."""

    def __init__(self, wire):
        self.wire = wire

    def __bool__(self):
        return False

    def __repr__(self):
        return self.wire


NULL = Null("_")
NULL_BULK = Null("$-1")
NULL_ARRAY = Null("*-1")

LONGEST = 512 << 20  # bytes of one string: the server's own limit, proto-max-bulk-len
DEEPEST = 32  # levels of nesting: no command of the engine comes near


def command(*words):
    """Encodes a command. Words are bytes, str (as UTF-8), int or float."""
    parts = [word if isinstance(word, (bytes, bytearray)) else str(word).encode() for word in words]
    return b"".join([b"*%d\r\n" % len(parts), *(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)])


class Reader:
    """Reads replies from a binary stream that has readline() and read()."""

    def __init__(self, stream):
        self._stream = stream
        self._readers = {
            b"+": lambda line, _: Simple(line), b"-": lambda line, _: self._error(line),
            b":": lambda line, _: self._integer(line), b"$": self._bulk, b"*": self._array, b"_": self._null,
            b"#": self._boolean, b",": self._double, b"(": lambda line, _: Big(self._integer(line)),
            b"!": self._blob_error, b"=": lambda line, _: Verbatim(self._blob(line)), b"%": self._map,
            b"~": lambda line, depth: Set(self._members(line, depth)),
            b">": lambda line, depth: Push(self._members(line, depth)), b"|": self._attribute,
        }

    def read(self, depth=0):
        """Returns the next value. Raises EOFError at the end of the stream, ProtocolError for what is no protocol."""
        line = self._stream.readline()
        if not line.endswith(b"\r\n"):
            if line.endswith(b"\n"):
                raise ProtocolError(f"a line ends without a carriage return: {line[:80]!r}")
            raise EOFError(f"the stream ended within a reply, after {line[:80]!r}" if line else "the stream ended")
        read = self._readers.get(line[:1])
        if read is None:
            raise ProtocolError(f"no type starts with {line[:80]!r}")
        if depth > DEEPEST:
            raise ProtocolError("replies are nested too deeply")
        return read(line[1:-2], depth)

    @staticmethod
    def _integer(line):
        digits = line[1:] if line[:1] in (b"-", b"+") else line
        if not digits.isdigit():
            raise ProtocolError(f"no integer: {line[:80]!r}")
        return int(line)

    @staticmethod
    def _error(line):
        return Error(line.decode(errors="backslashreplace"))

    def _length(self, line):
        length = self._integer(line)
        if not 0 <= length <= LONGEST:
            raise ProtocolError(f"no length: {line[:80]!r}")
        return length

    def _blob(self, line):
        length = self._length(line)
        data = self._stream.read(length + 2)
        if len(data) < length + 2:
            raise EOFError("the stream ended within a string")
        if data[length:] != b"\r\n":
            raise ProtocolError("a string is longer than it says")
        return data[:length]

    def _bulk(self, line, _):
        return NULL_BULK if line == b"-1" else self._blob(line)

    def _blob_error(self, line, _):
        return self._error(self._blob(line))

    def _members(self, line, depth):
        return [self.read(depth + 1) for _ in range(self._length(line))]

    def _array(self, line, depth):
        return NULL_ARRAY if line == b"-1" else self._members(line, depth)

    def _map(self, line, depth):
        return Map((self.read(depth + 1), self.read(depth + 1)) for _ in range(self._length(line)))

    def _attribute(self, line, depth):
        self._map(line, depth)  # said beside a reply; nothing here asks for it
        return self.read(depth)

    @staticmethod
    def _null(line, _):
        if line:
            raise ProtocolError(f"a null with a value: {line[:80]!r}")
        return NULL

    @staticmethod
    def _boolean(line, _):
        if line not in (b"t", b"f"):
            raise ProtocolError(f"no boolean: {line[:80]!r}")
        return line == b"t"

    @staticmethod
    def _double(line, _):
        try:
            return float(line)
        except ValueError as error:
            raise ProtocolError(f"no number: {line[:80]!r}") from error


def _quoted(data):
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
                         for byte in data) + '"'


def render(value):
    """Writes a reply as one line, types included; equal lines are equal replies."""
    if isinstance(value, Null):
        return value.wire
    if isinstance(value, bool):
        return "#t" if value else "#f"
    if isinstance(value, Big):
        return f"({int(value)}"
    if isinstance(value, Error):
        return f"-{value}"
    if isinstance(value, Simple):
        return "+" + value.decode(errors="backslashreplace")
    if isinstance(value, Verbatim):
        return "=" + _quoted(value)
    if isinstance(value, Map):
        return "%{" + " ".join(f"{render(key)}: {render(member)}" for key, member in value) + "}"
    for kind, opening, closing in ((Set, "~{", "}"), (Push, ">[", "]"), (list, "*[", "]")):
        if isinstance(value, kind):
            return opening + " ".join(map(render, value)) + closing
    return {int: ":{}", float: ",{!r}"}[type(value)].format(value) if not isinstance(value, bytes) else _quoted(value)


class Client:
    """One connection. `address` is a (host, port) or the path of a unix socket."""

    def __init__(self, address, protocol=2, seconds=1.5 * PATIENCE):
        self._socket = socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(address)
            if isinstance(address, tuple):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._stream = self._socket.makefile("rb")
            self._reader = Reader(self._stream)
            self.protocol = protocol
            self.pushes = []
            if protocol == 3:
                hello = self.call("HELLO", 3)
                if isinstance(hello, Error):
                    raise ProtocolError(hello)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if hasattr(self, "_stream"):
            self._stream.close()
        self._socket.close()

    def send(self, data):
        self._socket.sendall(data)

    def receive(self):
        """Returns the next reply; what the server pushes meanwhile is kept in `pushes`."""
        while isinstance(value := self._reader.read(), Push):
            self.pushes.append(value)
        return value

    def is_answered(self):
        """Whether a reply has begun to come."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def call(self, *words):
        self.send(command(*words))
        return self.receive()

    def must(self, *words):
        """As call, for commands that must not fail."""
        reply = self.call(*words)
        if isinstance(reply, Error):
            raise AssertionError(f"{' '.join(map(str, words))[:200]}: {reply}")
        return reply

    def pipeline(self, commands):
        """Sends all commands at once and returns their replies. The server buffers them, so neither side waits."""
        self.send(b"".join(command(*words) for words in commands))
        return [self.receive() for _ in commands]

    def chunks(self, prefix, key):
        """Yields what PREFIX.SCANDUMP returns, (iterator, bytes), as LOADCHUNK takes it."""
        iterator, data = self.must(f"{prefix}.SCANDUMP", key, 0)
        while iterator != 0:
            yield iterator, bytes(data)
            iterator, data = self.must(f"{prefix}.SCANDUMP", key, iterator)

    def info(self, section="everything"):
        """Returns the fields of INFO as {name: value}, all of them str."""
        lines = bytes(self.must("INFO", section)).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def config(self, name, value):
        if self.must("CONFIG", "SET", name, value) != b"OK":
            raise AssertionError(f"CONFIG SET {name} {value}")


def wait_for(what, condition, seconds=PATIENCE, step=0.01):
    """Waits until condition() is true and returns its value; connections that are refused meanwhile do not count."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        try:
            last = condition()
            if last:
                return last
        except (OSError, EOFError) as error:
            last = error
        time.sleep(step)
    raise AssertionError(f"not within {seconds} s: {what}; last: {last!r}")
