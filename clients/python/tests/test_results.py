"""What both clients do with results that a policy has a say about, seen from the other side of the
connection: the service looks at each before anybody has it, and what it does not give back is
nobody's. Whatever goes wrong, the result stays where it is.
"""

import asyncio
import dataclasses
import datetime
import json
import unittest

import toolgate
from toolgate import AsyncToolgate, Toolgate, Verdict

from . import rude
from .rude import Rude, looked_at, told

CALL = rude.ALLOW["toolCallId"]
VERDICT = Verdict("allow", "", 1, "p", CALL, results=True)
MIB_6 = 6 * 1024 * 1024


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


#: Why nobody could look at a result, and what is raised then.
UNSEEN = {
    "another key's call": (rude.problem(404, "not_found"), toolgate.NotFound),
    "a call that was not allowed": (rude.problem(409, "conflict"), toolgate.BadAnswer),
    "more than the service takes": (rude.problem(413, "too_large"), toolgate.InvalidRequest),
    "a failure": (rude.problem(500, "internal"), toolgate.ServiceFailure),
    "too much to do": (rude.problem(503, "overloaded"), toolgate.Overloaded),
    "another program": (rude.answer(200, "canary", ()), toolgate.BadAnswer),
    "no object": (rude.answer(200, '"canary"'), toolgate.BadAnswer),
    "a result without content": (rude.answer(200, "{}"), toolgate.BadAnswer),
    "content that is no list": (rude.answer(200, '{"content":"canary"}'), toolgate.BadAnswer),
    "another status": (rude.answer(202, json.dumps(text("canary"))), toolgate.BadAnswer),
    "a cut connection": (rude.close, toolgate.NetworkFailure),
    "silence": (rude.silence, toolgate.CallTimedOut),
}


class GuardResultTest(unittest.TestCase):
    def test_it_gives_back_what_the_service_does(self):
        result = {**text("a canary"), "structuredContent": {"bird": "canary"}}
        with Rude(rude.looking) as server:
            gate = Toolgate("k", server.url)
            verdict = gate.guard("s", "t")
            self.assertIs(verdict.results, True)
            wanted = {
                **text("a [hidden: birds]"),
                "structuredContent": {"bird": "[hidden: birds]"},
            }
            self.assertEqual(gate.guard_result(verdict, result), wanted)
            self.assertEqual(gate.guard_result(verdict, text("poison")), rude.WITHHELD)
            waiting = AsyncToolgate.of(gate)
            self.assertEqual(asyncio.run(waiting.guard_result(verdict, result)), wanted)
        self.assertEqual(looked_at(server)[0], {"toolCallId": CALL, "result": result})

    def test_it_asks_nobody_where_the_verdict_does_not_say_so(self):
        with Rude(rude.allow) as server:
            gate = Toolgate("k", server.url)
            verdict = gate.guard("s", "t")
            self.assertIs(verdict.results, False)
            self.assertEqual(gate.guard_result(verdict, text("canary")), text("canary"))
            waiting = AsyncToolgate.of(gate)
            given = asyncio.run(waiting.guard_result(verdict, text("canary")))
            self.assertEqual(given, text("canary"))
        self.assertEqual(len(server.requests), 1)

    def test_it_takes_no_verdict_but_an_allow_and_no_result_but_a_mapping(self):
        denied = dataclasses.replace(VERDICT, decision="deny", results=False)
        with Rude(rude.looking) as server:
            gate = Toolgate("k", server.url)
            for verdict, result in (
                (denied, text("x")),
                (VERDICT, "x"),
                (VERDICT, {"x": object()}),
            ):
                with self.assertRaises(toolgate.InvalidRequest):
                    gate.guard_result(verdict, result)
                with self.assertRaises(toolgate.InvalidRequest):
                    asyncio.run(AsyncToolgate.of(gate).guard_result(verdict, result))
        self.assertEqual(server.requests, [])

    def test_it_raises_where_nobody_could_look(self):
        for what, (manner, kind) in UNSEEN.items():
            with self.subTest(what), Rude(manner) as server:
                seconds = 0.3 if manner is rude.silence else 60
                gate = Toolgate("k", server.url, timeout=seconds, retries=0)
                with self.assertRaises(kind) as raised:
                    gate.guard_result(VERDICT, text("canary"))
                self.assertNotIn("canary", str(raised.exception))
                with self.assertRaises(kind):
                    asyncio.run(AsyncToolgate.of(gate).guard_result(VERDICT, text("canary")))

    def test_it_is_sent_again_because_looking_twice_changes_nothing(self):
        with Rude(rude.first(rude.close, rude.looking)) as server:
            given = Toolgate("k", server.url).guard_result(VERDICT, text("canary"))
        self.assertEqual((given, len(server.requests)), (text("[hidden: birds]"), 2))

    def test_it_sends_6_mib_and_no_more(self):
        room = MIB_6 - len(
            json.dumps({"toolCallId": CALL, "result": text("")}, separators=(",", ":"))
        )
        with Rude(rude.looking) as server:
            gate = Toolgate("k", server.url, timeout=60)
            for character in ("x", "ä"):
                full = text(character * (room // len(character.encode())))
                self.assertEqual(gate.guard_result(VERDICT, full), full)
                full["content"][0]["text"] += character * 2
                with self.assertRaises(toolgate.InvalidRequest) as raised:
                    gate.guard_result(VERDICT, full)
                self.assertEqual(raised.exception.code, "too_large")
        self.assertEqual(len(server.requests), 2)

    def test_a_verdict_that_says_neither_is_none(self):
        for wrong in ("true", 1, None):
            with Rude(rude.answer(200, rude.verdict_with(results=wrong))) as server:
                with self.assertRaises(toolgate.BadAnswer):
                    Toolgate("k", server.url).check("s", "t")


@dataclasses.dataclass
class Bird:
    name: str
    seen: datetime.date = datetime.date(2026, 11, 18)


class FunctionTest(unittest.TestCase):
    """A function behind the decorator, plain and as a coroutine."""

    def outcome(self, function, manner=rude.looking, **options):
        """What both kinds of functions gave, or raised; and the server."""

        async def later():
            return function()

        with Rude(manner) as server:
            gate = Toolgate("k", server.url, **options)
            first = _outcome(gate.guarded("s", "t")(function))
            second = _outcome(lambda: asyncio.run(gate.guarded("s", "t")(later)()))
        kind = (type(first), str(first)) if isinstance(first, Exception) else first
        self.assertEqual(
            kind, (type(second), str(second)) if isinstance(second, Exception) else second
        )
        return first, server

    def test_it_gives_what_was_returned_with_what_is_to_be_hidden_hidden(self):
        for returned, passed, result in (
            ("canary", "[hidden: birds]", text("canary")),
            ("", "", text("")),
            (None, None, {"content": []}),
            (98.7, 98.7, _structured({"result": 98.7})),
            (True, True, _structured({"result": True})),
            (["canary"], ["[hidden: birds]"], _structured({"result": ["canary"]})),
            ({"a": "canary"}, {"a": "[hidden: birds]"}, _structured({"a": "canary"})),
            (
                Bird("canary"),
                {"name": "[hidden: birds]", "seen": "2026-11-18"},
                _structured({"name": "canary", "seen": "2026-11-18"}),
            ),
        ):
            with self.subTest(returned=returned):
                given, server = self.outcome(lambda: returned)
                self.assertEqual(given, passed)
                self.assertEqual(looked_at(server), [{"toolCallId": CALL, "result": result}] * 2)

    def test_what_nobody_can_look_at(self):
        for returned in (b"canary", {"a": object()}, (each for each in ["canary"]), float("nan")):
            with self.subTest(returned=returned):
                error, server = self.outcome(lambda: returned)
                self.assertIsInstance(error, toolgate.InvalidRequest)
                self.assertEqual(str(error), "The result cannot be written as JSON.")
                self.assertEqual(looked_at(server), [])

    def test_the_reason_of_a_result_that_is_withheld_is_raised(self):
        for returned in ("poison", {"a": "poison"}, ["poison"]):
            error, server = self.outcome(lambda: returned)
            self.assertIsInstance(error, toolgate.ToolResultWithheld)
            self.assertEqual((str(error), error.code), ("It is withheld.", "withheld"))
            self.assertEqual(told(server), [])

    def test_what_the_function_raises_is_looked_at(self):
        class Odd(Exception):
            def __str__(self):
                return "odd"

        def raising(error):
            def function():
                raise error

            return function

        own = ValueError("No finch")
        error, server = self.outcome(raising(own))
        self.assertIs(error, own)
        self.assertEqual(looked_at(server)[0]["result"], text("No finch", isError=True))
        for raised, words in (
            (ValueError("No canary"), "No [hidden: birds]"),
            (ValueError("poison"), "It is withheld."),
            # What Python would write of it says more than its text.
            (Odd("canary"), "odd"),
        ):
            error, server = self.outcome(raising(raised))
            self.assertIsInstance(error, toolgate.ToolResultWithheld)
            self.assertEqual(str(error), words)
            self.assertIsNone(error.__context__)
            self.assertEqual(told(server), [])

    def test_what_was_given_back_is_reported_and_only_then(self):
        _, server = self.outcome(lambda: "Ann and a canary")
        self.assertEqual(told(server)[0], {"toolCallId": CALL, "text": "Ann and a [hidden: birds]"})
        paths = [each.split(b" ")[1] for each in server.requests]
        self.assertEqual(paths, [b"/v1/check", b"/v1/results", b"/v1/told"] * 2)

    def test_there_is_no_result_where_nobody_could_look(self):
        def raising():
            raise ValueError("canary")

        for what, (manner, kind) in UNSEEN.items():
            if manner is rude.silence:
                # That ends like any other failure, and takes its time.
                continue
            for function in (lambda: "canary", raising):
                with self.subTest(what):
                    given = self.outcome(function, rude.but_looking(manner), retries=0)
                    self.assertIsInstance(given[0], kind)
                    self.assertNotIn("canary", str(given[0]))
                    self.assertEqual(told(given[1]), [])

    def test_there_is_no_result_in_an_answer_of_another_kind(self):
        for returned, result in (
            ("canary", {"content": [{"type": "image", "data": "canary"}]}),
            ("canary", {"content": []}),
            ({"a": 1}, text("canary")),
            ([1], _structured({"other": 1})),
        ):
            answer = rude.but_looking(rude.answer(200, json.dumps(result)))
            self.assertIsInstance(self.outcome(lambda: returned, answer)[0], toolgate.BadAnswer)


def _structured(value):
    return {"content": [], "structuredContent": value}


def _outcome(function):
    try:
        return function()
    except Exception as error:
        return error


if __name__ == "__main__":
    unittest.main()
