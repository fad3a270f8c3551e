"""Whatever stands where the service should: the client raises an error of its own family, in time,
and never returns an allow that nobody gave.
"""

import asyncio
import json
import os
import threading
import unittest
from unittest import mock

import toolgate
from toolgate import AsyncToolgate, Toolgate

from . import rude
from .rude import Rude


class FailureTest(unittest.TestCase):
    def fails(self, kind, manner, requests=1, timeout=60, **options):
        """The error both clients raise against such a server, having asked so often."""
        with Rude(manner) as server, self.assertRaises(kind) as raised:
            Toolgate("k", server.url, timeout).guard("s", "t", {"a": 1}, **options)
        self.assertEqual(len(server.requests), requests)
        with Rude(manner) as server, self.assertRaises(kind):
            client = AsyncToolgate("k", server.url, timeout)
            asyncio.run(client.guard("s", "t", {"a": 1}, **options))
        self.assertEqual(len(server.requests), requests)
        return raised.exception

    def test_the_rude_server_can_also_be_polite(self):
        with Rude(rude.allow) as server:
            self.assertTrue(Toolgate("k", server.url).guard("s", "t"))

    def test_a_refusal_is_an_error_of_its_own_kind(self):
        for status, code, kind in (
            (400, "invalid_input", toolgate.InvalidRequest),
            (401, "unauthenticated", toolgate.Unauthenticated),
            (403, "forbidden", toolgate.Forbidden),
            (404, "not_found", toolgate.NotFound),
            (413, "too_large", toolgate.InvalidRequest),
            (429, "rate_limited", toolgate.Overloaded),
            (500, "audit_failed", toolgate.ServiceFailure),
            (503, "overloaded", toolgate.Overloaded),
        ):
            with self.subTest(status=status):
                error = self.fails(kind, rude.problem(status, code))
                self.assertEqual(
                    (error.code, error.status, str(error)), (code, status, f"It is {code}.")
                )

    def test_a_page_of_somebody_else_goes_into_no_message(self):
        for status in (400, 401, 500, 502, 503, 504):
            with self.subTest(status=status):
                page = rude.answer(status, "<html>allow</html>", (("Content-Type", "text/html"),))
                error = self.fails(toolgate.RequestRefused, page)
                self.assertIsNone(error.problem)
                self.assertNotIn("html", str(error))

    def test_an_allow_with_another_status_is_none(self):
        for status in (201, 202, 204, 206, 301, 302, 303, 307, 308, 402, 409, 410, 418, 501):
            with self.subTest(status=status):
                self.fails(toolgate.BadAnswer, rude.answer(status, json.dumps(rude.ALLOW)))

    def test_a_redirect_is_not_followed(self):
        with Rude(rude.allow) as elsewhere:
            for status in (301, 302, 303, 307, 308):
                self.fails(
                    toolgate.BadAnswer,
                    rude.answer(status, "", (("Location", f"{elsewhere.url}/v1/check"),)),
                )
            self.assertEqual(elsewhere.requests, [])

    def test_a_proxy_in_the_environment_is_not_used(self):
        with Rude(rude.allow) as proxy, Rude(rude.problem(500, "audit_failed")) as server:
            named = {"http_proxy": proxy.url, "HTTP_PROXY": proxy.url, "all_proxy": proxy.url}
            with mock.patch.dict("os.environ", named), self.assertRaises(toolgate.ServiceFailure):
                Toolgate("k", server.url).guard("s", "t")
            self.assertEqual(proxy.requests, [])

    def test_an_answer_that_is_not_a_verdict(self):
        for what, body in rude.NOT_VERDICTS.items():
            with self.subTest(what):
                self.fails(toolgate.BadAnswer, rude.answer(200, body))

    def test_an_allow_called_something_else(self):
        for kind in ("text/html", "text/plain", "application/problem+json"):
            with self.subTest(kind):
                headers = (("Content-Type", kind),)
                self.fails(toolgate.BadAnswer, rude.answer(200, json.dumps(rude.ALLOW), headers))

    def test_an_answer_without_an_end(self):
        self.fails(toolgate.BadAnswer, rude.endless)

    def test_cut_connections_are_sent_once_since_they_may_be_recorded(self):
        allow = json.dumps(rude.ALLOW).encode()
        for what, manner in {
            "after the request": rude.close,
            "inside the headers": rude.say_and_close(b"HTTP/1.1 200 OK\r\nContent-Type: appl"),
            "inside the body": rude.say_and_close(
                rude.HEAD + b"Content-Length: 300\r\n\r\n" + allow
            ),
            "inside a chunk": rude.say_and_close(
                rude.HEAD + b"Transfer-Encoding: chunked\r\n\r\n5000\r\n" + allow
            ),
        }.items():
            with self.subTest(what):
                self.fails(toolgate.ToolgateError, manner)

    def test_garbage(self):
        for text in (b"allow\r\n\r\n", b"\0" * 100_000, b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 20"):
            with self.subTest(text=text[:20]):
                self.fails(toolgate.ToolgateError, rude.say_and_close(text))

    def test_the_time_bounds_the_whole_call(self):
        for manner in (rude.silence, rude.trickle, rude.trickle_headers):
            with self.subTest(manner.__name__):
                self.times_out(lambda *to: Toolgate(*to).guard("s", "t"), manner)
                self.times_out(lambda *to: asyncio.run(AsyncToolgate(*to).guard("s", "t")), manner)

    def times_out(self, ask, manner):
        """The time may be over before anything was sent: then again, with more of it."""
        timeout = 0.3
        requests = []
        while not requests:
            with Rude(manner) as server, self.assertRaises(toolgate.CallTimedOut):
                ask("k", server.url, timeout)
            requests = server.requests
            timeout *= 2
        self.assertEqual(len(requests), 1)

    def test_a_server_that_does_not_read(self):
        """The request is larger than what the kernel holds for a peer that never reads."""
        with rude.socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            with self.assertRaises(toolgate.CallTimedOut):
                Toolgate("k", url, 0.3).guard("s", "t", {"a": "x" * 20_000_000})


class RetryTest(unittest.TestCase):
    busy = staticmethod(rude.problem(503, "overloaded", ("Retry-After", "0")))

    def test_after_a_refused_connection_once_somebody_listens(self):
        port = rude.closed_port()
        client = Toolgate("k", f"http://127.0.0.1:{port}", retries=10)
        verdicts = []
        asking = threading.Thread(target=lambda: verdicts.append(client.guard("s", "t")))
        asking.start()
        with Rude(rude.allow, port):
            asking.join()
        self.assertEqual([each.decision for each in verdicts], ["allow"])

    def test_a_connection_that_stays_refused(self):
        client = Toolgate("k", f"http://127.0.0.1:{rude.closed_port()}")
        with self.assertRaises(toolgate.NetworkFailure) as raised:
            client.guard("s", "t")
        self.assertFalse(raised.exception.sent)

    def test_a_name_that_is_none(self):
        with self.assertRaises(toolgate.NetworkFailure):
            Toolgate("k", "http://toolgate.invalid", 60).guard("s", "t", retries=0)

    def test_after_a_503_that_promises_no_entry(self):
        with Rude(rude.first(self.busy, rude.allow)) as server:
            self.assertTrue(Toolgate("k", server.url).guard("s", "t"))
        self.assertEqual(len(server.requests), 2)

    def test_as_often_as_asked_and_no_more(self):
        with Rude(self.busy) as server:
            client = Toolgate("k", server.url)
            for retries, total in ((None, 3), (0, 4)):
                with self.assertRaises(toolgate.Overloaded):
                    client.guard("s", "t", retries=retries)
                self.assertEqual(len(server.requests), total)

    def test_not_when_the_wait_is_longer_than_the_time_left(self):
        manner = rude.problem(503, "overloaded", ("Retry-After", "60"))
        with Rude(manner) as server, self.assertRaises(toolgate.Overloaded) as raised:
            Toolgate("k", server.url).guard("s", "t")
        self.assertEqual((raised.exception.retry_after, len(server.requests)), (60, 1))

    def test_not_after_a_503_of_somebody_else(self):
        headers = (("Content-Type", "text/html"), ("Retry-After", "0"))
        manner = rude.answer(503, "busy", headers)
        with Rude(manner) as server, self.assertRaises(toolgate.Overloaded):
            Toolgate("k", server.url).guard("s", "t")
        self.assertEqual(len(server.requests), 1)

    def test_after_a_cut_connection_only_when_asked_to(self):
        first = rude.first(rude.close, rude.allow)
        with Rude(first) as server, self.assertRaises(toolgate.NetworkFailure) as raised:
            Toolgate("k", server.url).guard("s", "t")
        self.assertTrue(raised.exception.sent)
        self.assertEqual(len(server.requests), 1)
        with Rude(first) as server:
            self.assertTrue(Toolgate("k", server.url).guard("s", "t", retry_unknown=True))
        self.assertEqual(len(server.requests), 2)

    def test_after_a_cut_connection_with_the_same_idempotency_key(self):
        first = rude.first(rude.close, rude.allow)
        with Rude(first) as server:
            self.assertTrue(Toolgate("k", server.url).guard("s", "t", idempotency_key="call-1"))
        for request in server.requests:
            self.assertIn(b"idempotency-key: call-1", request.lower())
        self.assertEqual(len(server.requests), 2)
        for wrong in ("", "two words", "x" * 129):
            with self.assertRaises(toolgate.InvalidConfiguration):
                Toolgate("k", server.url).check("s", "t", idempotency_key=wrong)


class CancelTest(unittest.TestCase):
    def test_a_cancelled_call_ends_at_once_and_lets_go_of_its_connection(self):
        asked, gone = threading.Event(), threading.Event()

        def manner(connection, *_):
            asked.set()
            connection.recv(1)
            gone.set()

        async def run(url):
            task = asyncio.create_task(AsyncToolgate("k", url, 60).guard("s", "t"))
            await asyncio.to_thread(asked.wait, 10)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertTrue(await asyncio.to_thread(gone.wait, 10))

        with Rude(manner) as server:
            asyncio.run(run(server.url))


class RefusedHereTest(unittest.TestCase):
    def test_configurations(self):
        for options in (
            {"key": ""},
            {"key": "a\r\nb"},
            {"key": "k", "base_url": "toolgate"},
            {"key": "k", "base_url": "ftp://127.0.0.1"},
            {"key": "k", "base_url": "http://a:b@127.0.0.1"},
            {"key": "k", "base_url": "http://127.0.0.1:99999"},
            {"key": "k", "base_url": "http://127.0.0.1/\r\nX: y"},
            {"key": "k", "timeout": 0},
            {"key": "k", "timeout": float("nan")},
            {"key": "k", "timeout": float("inf")},
            {"key": "k", "retries": 1000},
        ):
            with self.subTest(options), self.assertRaises(toolgate.InvalidConfiguration):
                Toolgate(**options)

    def test_no_key_anywhere(self):
        with mock.patch.dict("os.environ"):
            os.environ.pop("TOOLGATE_API_KEY", None)
            with self.assertRaises(toolgate.InvalidConfiguration):
                Toolgate()

    def test_arguments(self):
        with Rude(rude.allow) as server:
            for args in ([], "x", {"n": float("nan")}, {"n": object()}, {"n": b"x"}):
                with self.subTest(args), self.assertRaises(toolgate.InvalidRequest):
                    Toolgate("k", server.url).guard("s", "t", args)
        self.assertEqual(server.requests, [])

    def test_the_key_shows_in_no_picture_of_the_client(self):
        for client in (Toolgate("tg_key_secret"), AsyncToolgate("tg_key_secret")):
            self.assertNotIn("tg_key_secret", repr(client) + repr(vars(client)))
        self.assertNotIn("tg_key_secret", repr(Toolgate("tg_key_secret")._settings))


if __name__ == "__main__":
    unittest.main()
