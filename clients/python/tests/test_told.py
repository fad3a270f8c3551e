"""What both clients tell the service besides calls, seen from the other side of the connection: the
person's words, the run that they belong to, and what a new session is given. test_reported has what
tools returned.
"""

import asyncio
import json
import re
import unittest

import toolgate
from toolgate import AsyncToolgate, Toolgate

from . import rude
from .rude import Rude, told


def runs(server):
    found = [re.search(rb"(?im)^toolgate-run: (.*)\r$", each) for each in server.requests]
    return [each and each.group(1).decode() for each in found]


class ToldTest(unittest.TestCase):
    def test_what_the_person_said_is_sent(self):
        with Rude(rude.trusting) as server:
            Toolgate("k", server.url).told("Pay Zoë 98.70 €")
            asyncio.run(AsyncToolgate("k", server.url).told("and Ann"))
        self.assertEqual(told(server), [{"text": "Pay Zoë 98.70 €"}, {"text": "and Ann"}])

    def test_it_is_sent_again_because_telling_something_twice_changes_nothing(self):
        with Rude(rude.first(rude.close, rude.trusting)) as server:
            Toolgate("k", server.url).told("Pay Ann")
        self.assertEqual(len(server.requests), 2)

    def test_a_refusal_is_raised(self):
        for status in (400, 413):
            with Rude(rude.problem(status, "invalid_input")) as server:
                with self.assertRaises(toolgate.InvalidRequest):
                    Toolgate("k", server.url).told("x")
                with self.assertRaises(toolgate.InvalidRequest):
                    asyncio.run(AsyncToolgate("k", server.url).told("x"))
        with Rude(rude.close) as server, self.assertRaises(toolgate.NetworkFailure):
            Toolgate("k", server.url, retries=0).told("x")
        with Rude(rude.trusting) as server, self.assertRaises(toolgate.InvalidRequest):
            Toolgate("k", server.url).told(b"x")
        self.assertEqual(server.requests, [])


class RunTest(unittest.TestCase):
    def test_the_client_names_it_or_the_call(self):
        with Rude(rude.trusting) as server:
            gate = Toolgate("k", server.url, run="chat-17")
            gate.check("s", "t")
            gate.told("x")
            gate.guarded("s", "t")(lambda: "result")()
            gate.check("s", "t", run="chat-18")
            gate.told("x", run="chat-18")
        self.assertEqual(runs(server), ["chat-17"] * 3 + [None] + ["chat-18"] * 2)
        with Rude(rude.trusting) as server:
            waiting = AsyncToolgate("k", server.url, run="chat-17")
            asyncio.run(waiting.guard("s", "t"))
            asyncio.run(waiting.guard("s", "t", run="chat-18"))
            asyncio.run(waiting.told("x"))
        self.assertEqual(runs(server), ["chat-17", "chat-18", "chat-17"])

    def test_it_needs_no_name(self):
        with Rude(rude.trusting) as server:
            Toolgate("k", server.url).guard("s", "t")
            Toolgate("k", server.url).told("x")
        self.assertEqual(runs(server), [None, None])

    def test_what_is_no_name(self):
        with Rude(rude.trusting) as server:
            for run in ("", "a b", "a\r\nX: y", "a\n", "ä", "x" * 129, 7):
                with self.subTest(run=run):
                    with self.assertRaises(toolgate.InvalidConfiguration):
                        Toolgate("k", server.url, run=run)
                    with self.assertRaises(toolgate.InvalidConfiguration):
                        Toolgate("k", server.url).check("s", "t", run=run)
                    with self.assertRaises(toolgate.InvalidConfiguration):
                        Toolgate("k", server.url).told("x", run=run)
        self.assertEqual(server.requests, [])


class SessionTest(unittest.TestCase):
    made = {
        "id": "i",
        "token": "t",
        "prefix": "t",
        "label": "",
        "scopeTools": None,
        "expiresAt": "",
    }

    def test_it_is_made_with_what_is_known_and_its_attributes_and_has_them(self):
        attributes = {"customer": "c_17", "limits": {"eur": 50}}
        answer = rude.answer(201, json.dumps({**self.made, "attributes": attributes}))
        with Rude(answer) as server:
            given = {"known": ("GB29 NWBK",), "attributes": attributes}
            made = Toolgate("k", server.url).create_session(**given)
            later = asyncio.run(AsyncToolgate("k", server.url).create_session(**given))
        self.assertEqual((made.attributes, later), (attributes, made))
        for request in server.requests:
            body = json.loads(request.partition(b"\r\n\r\n")[2])
            self.assertEqual(body, {"known": ["GB29 NWBK"], "attributes": attributes})

    def test_an_earlier_service_has_no_attributes_and_a_faulty_one_has_others(self):
        with Rude(rude.answer(201, json.dumps(self.made))) as server:
            self.assertEqual(Toolgate("k", server.url).create_session().attributes, {})
        faulty = rude.answer(201, json.dumps({**self.made, "attributes": "none"}))
        with Rude(faulty) as server, self.assertRaises(toolgate.BadAnswer):
            Toolgate("k", server.url).create_session()

    def test_wrong_values_are_refused_here(self):
        with Rude(rude.silence) as server:
            for wrong in (
                {"known": "GB29"},
                {"attributes": ["a"]},
                {"attributes": {"a": object()}},
            ):
                with self.assertRaises(toolgate.InvalidRequest):
                    Toolgate("k", server.url).create_session(**wrong)
        self.assertEqual(server.requests, [])
