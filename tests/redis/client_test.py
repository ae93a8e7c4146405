"""The protocol client against bytes, without a server.  Usage: client_test.py [unittest arguments...]"""
import io
import socket
import threading
import unittest

from client import (Big, Client, Error, Map, NULL, NULL_ARRAY, NULL_BULK, ProtocolError, Push, Reader, Set, Simple,
                    Verbatim, command, render, wait_for)

# bytes on the wire, the value, the value on a line
REPLIES = (
    (b"+OK\r\n", Simple(b"OK"), "+OK"),
    (b"+\r\n", Simple(b""), "+"),
    (b"-ERR no such key\r\n", Error("ERR no such key"), "-ERR no such key"),
    (b"- \xff\r\n", Error(" \\xff"), "- \\xff"),
    (b":0\r\n", 0, ":0"),
    (b":-9223372036854775808\r\n", -(2**63), ":-9223372036854775808"),
    (b":+7\r\n", 7, ":7"),
    (b"$0\r\n\r\n", b"", '""'),
    (b"$5\r\na\r\n\x00b\r\n", b"a\r\n\x00b", '"a\\x0d\\x0a\\x00b"'),
    (b"$3\r\n\"\\\x7f\r\n", b'"\\\x7f', '"\\x22\\x5c\\x7f"'),
    (b"$-1\r\n", NULL_BULK, "$-1"),
    (b"*-1\r\n", NULL_ARRAY, "*-1"),
    (b"_\r\n", NULL, "_"),
    (b"*0\r\n", [], "*[]"),
    (b"*3\r\n:1\r\n-ERR full\r\n$-1\r\n", [1, Error("ERR full"), NULL_BULK], "*[:1 -ERR full $-1]"),
    (b"*2\r\n*1\r\n:1\r\n*1\r\n:2\r\n", [[1], [2]], "*[*[:1] *[:2]]"),
    (b"#t\r\n", True, "#t"),
    (b"#f\r\n", False, "#f"),
    (b",0.1\r\n", 0.1, ",0.1"),
    (b",-1e-3\r\n", -0.001, ",-0.001"),
    (b",inf\r\n", float("inf"), ",inf"),
    (b",10\r\n", 10.0, ",10.0"),
    (b"(3492890328409238509324850943850943825024385\r\n", Big(3492890328409238509324850943850943825024385),
     "(3492890328409238509324850943850943825024385"),
    (b"!9\r\nERR \r\nbad\r\n", Error("ERR \r\nbad"), "-ERR \r\nbad"),
    (b"=7\r\ntxt:abc\r\n", Verbatim(b"txt:abc"), '="txt:abc"'),
    (b"%2\r\n+a\r\n:1\r\n*1\r\n:2\r\n#f\r\n", Map([(Simple(b"a"), 1), ([2], False)]), "%{+a: :1 *[:2]: #f}"),
    (b"~2\r\n:1\r\n:1\r\n", Set([1, 1]), "~{:1 :1}"),
    (b">2\r\n+message\r\n:1\r\n", Push([Simple(b"message"), 1]), ">[+message :1]"),
    (b"|1\r\n+ttl\r\n:3600\r\n:5\r\n", 5, ":5"),
    (b"*1\r\n|1\r\n+ttl\r\n:3600\r\n:5\r\n", [5], "*[:5]"),
)

NO_PROTOCOL = (
    b"OK\r\n", b"\r\n", b"?1\r\n", b":\r\n", b":1a\r\n", b": 1\r\n", b":1\n", b"$-2\r\n", b"$x\r\n", b"$2\r\nabcd\r\n",
    b"$1\r\nab\r\n", b"*-2\r\n", b"*1x\r\n", b"%-1\r\n", b"#true\r\n", b"#\r\n", b"_x\r\n", b",zero\r\n", b"(1.5\r\n",
    b"$99999999999\r\n", b"*1\r\n" * 64,
)


class ReaderTest(unittest.TestCase):
    def test_every_type_keeps_its_value_and_its_type(self):
        for wire, value, line in REPLIES:
            with self.subTest(wire=wire):
                read = Reader(io.BytesIO(wire)).read()
                self.assertEqual(read, value)
                self.assertIs(type(read), type(value))
                self.assertEqual(render(read), line)

    def test_replies_follow_each_other_without_a_gap(self):
        reader = Reader(io.BytesIO(b"".join(wire for wire, _, _ in REPLIES)))
        for _, _, line in REPLIES:
            self.assertEqual(render(reader.read()), line)
        with self.assertRaises(EOFError):
            reader.read()

    def test_no_two_replies_look_alike(self):
        same_value = {"-ERR no such key", ":5"}
        lines = [line for _, _, line in REPLIES if line not in same_value]
        self.assertEqual(len(lines), len(set(lines)))

    def test_a_reply_that_is_cut_anywhere_is_an_end_of_file(self):
        for wire, _, _ in REPLIES:
            for length in range(len(wire)):
                with self.subTest(wire=wire[:length]), self.assertRaises(EOFError):
                    Reader(io.BytesIO(wire[:length])).read()

    def test_what_is_no_protocol_is_refused(self):
        for wire in NO_PROTOCOL:
            with self.subTest(wire=wire[:20]), self.assertRaises(ProtocolError):
                Reader(io.BytesIO(wire)).read()

    def test_a_map_as_a_dictionary(self):
        self.assertEqual(Map([(b"a", 1), (Simple(b"b"), NULL)]).plain(), {"a": 1, "b": NULL})


class CommandTest(unittest.TestCase):
    def test_words_are_binary_safe(self):
        self.assertEqual(command("SET", b"\x00\r\n", 17, 0.5, "é", b""),
                         b"*6\r\n$3\r\nSET\r\n$3\r\n\x00\r\n\r\n$2\r\n17\r\n$3\r\n0.5\r\n$2\r\n\xc3\xa9\r\n$0\r\n\r\n")

    def test_a_command_reads_back_as_an_array(self):
        words = [bytes([byte]) * byte for byte in range(256)]
        self.assertEqual(Reader(io.BytesIO(command(*words))).read(), words)


class ClientTest(unittest.TestCase):
    """A socket whose other end answers with given bytes."""

    def answering(self, wire):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.sendall(wire)
                while connection.recv(4096):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)
        return listener.getsockname()

    def test_pushes_are_kept_aside(self):
        with Client(self.answering(b"%0\r\n>1\r\n+invalidate\r\n:1\r\n"), protocol=3) as client:
            self.assertEqual(client.call("GET", "a"), 1)
            self.assertEqual(client.pushes, [[b"invalidate"]])

    def test_a_pipeline_returns_errors_as_values(self):
        with Client(self.answering(b":1\r\n-ERR no\r\n:2\r\n")) as client:
            self.assertEqual(client.pipeline([("A",), ("B",), ("C",)]), [1, Error("ERR no"), 2])

    def test_what_must_not_fail_says_what_failed(self):
        with Client(self.answering(b"-ERR no\r\n")) as client, self.assertRaisesRegex(AssertionError, "GET k: ERR no"):
            client.must("GET", "k")

    def test_a_server_without_the_protocol_is_an_error(self):
        with self.assertRaisesRegex(ProtocolError, "NOPROTO"):
            Client(self.answering(b"-NOPROTO no such version\r\n"), protocol=3)

    def test_waiting_in_vain_says_for_what(self):
        with self.assertRaisesRegex(AssertionError, "the moon; last: 0"):
            wait_for("the moon", lambda: 0, seconds=0.05)


if __name__ == "__main__":
    unittest.main()
