"""`mankai guard serve` is ended while many ask: no answer is lost."""
import os
import signal

import serving
from serving import Client, Load, check_target

LISTED = check_target("http://new.example/")


class Stop(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build(rules=b"new.example\n")

    def test_under_load(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.serve()
            load = Load(process.port, LISTED)
            load.wait_for(100)
            os.kill(process.pid, number)
            load.join()
            self.assertEqual(process.wait(serving.PATIENCE), 0)
            self.assertEqual(load.failures, [])
            self.assertEqual(set(load.answers), {(200, b'{"url":"http://new.example/","answer":"blocked","rule":"new.example"}\n')})

    def test_clients_in_the_queue_are_answered(self):
        process = self.serve()
        os.kill(process.pid, signal.SIGSTOP)
        clients = [self.client(process) for _ in range(100)]
        for client in clients:
            client.send(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGCONT)
        for client in clients:
            self.assertEqual(client.answer().status, 200)
        self.assertEqual(process.wait(serving.PATIENCE), 0)

    def test_a_request_on_its_way_is_answered(self):
        process = self.serve()
        with self.client(process) as client, self.client(process) as idle:
            idle.ask("/healthz")
            client.send(b"POST /check HTTP/1.1\r\nHost: test\r\nContent-Length: 19\r\n\r\nhttp://")
            self.wait_for(lambda: self.metrics(process)["mankai_http_connections"] >= 3, "both connections")
            os.kill(process.pid, signal.SIGTERM)
            self.assertTrue(idle.has_ended())
            # While the service lives, no other program has the port.
            with self.assertRaises(ConnectionRefusedError):
                Client(process.port)
            client.send(b"new.example/")
            answer = client.answer()
            self.assertEqual((answer.body, answer.headers["connection"]), (b"blocked\thttp://new.example/\tnew.example\n", "close"))
        self.assertEqual(process.wait(serving.PATIENCE), 0)

    def test_a_second_signal_ends_it_at_once(self):
        process = self.serve()
        with self.client(process) as client, self.client(process) as idle:
            idle.ask("/healthz")
            client.send(b"GET /hea")
            os.kill(process.pid, signal.SIGTERM)
            self.assertTrue(idle.has_ended())
            self.stop(process, signal.SIGTERM, code=143)

    def test_two_signals_in_a_moment_are_one(self):
        process = self.serve()
        with self.client(process) as client:
            client.send(b"GET /hea")
            self.wait_for(lambda: self.metrics(process)["mankai_http_connections"] >= 2, "both connections")
            # Stopped, it gets both at once, and of the second one no more than its number.
            os.kill(process.pid, signal.SIGSTOP)
            os.kill(process.pid, signal.SIGTERM)
            os.kill(process.pid, signal.SIGINT)
            os.kill(process.pid, signal.SIGCONT)
            self.wait_for(lambda: not self.is_listening(process.port), "the beginning of the end")
            client.send(b"lthz HTTP/1.1\r\nHost: t\r\n\r\n")
            self.assertEqual(client.answer().status, 200)
        self.assertEqual(process.wait(serving.PATIENCE), 0)

    def is_listening(self, port):
        try:
            Client(port).close()
        except ConnectionRefusedError:
            return False
        return True


if __name__ == "__main__":
    serving.harness.main()
