"""What the adapters share: how arguments become JSON, and how a call is judged by the real service
and its refusal told to a model. The tools are shaped as those of the OpenAI Agents SDK, which need
no import.
"""

import asyncio
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import threading
import unittest
import uuid
from collections import OrderedDict
from unittest import mock

import toolgate
from toolgate import ApprovalListener, AsyncToolgate, Toolgate, Verdict
from toolgate._plain import as_json
from toolgate.integrations import openai_agents
from toolgate.integrations._arguments import by_name, object_of
from toolgate.integrations._asking import asking
from toolgate.integrations._guard import REMEMBERED, Guard

from . import rude, service, stand_ins

RULES = [
    {"tool": "read_*", "action": "allow"},
    {"tool": "drop_*", "action": "deny", "reason": "Never."},
    {"tool": "deploy", "action": "require_approval"},
]
DENIED = "Denied: Never. Do not make this call again."


def tool(name, run):
    async def on_invoke_tool(context, text):
        return run(**json.loads(text))

    return stand_ins.FunctionTool(name, {"type": "object"}, on_invoke_tool)


def call(made, **args):
    return asyncio.run(made.on_invoke_tool(None, json.dumps(args)))


class ArgumentsTest(unittest.TestCase):
    def test_values_are_written_as_a_policy_reads_them(self):
        class Size(enum.Enum):
            SMALL = 1

        class Word(str):
            pass

        @dataclasses.dataclass
        class Item:
            name: str
            sizes: list

        class Open(Item):
            """As pydantic's dataclasses that allow more than their fields."""

            __pydantic_fields__ = ("name", "sizes")

        more = Open("x", [])
        more.path = "/etc"

        class Model:
            """As pydantic's: what it leaves out when it is dumped is among its fields."""

            __pydantic_fields_set__ = frozenset({"a"})

            def __iter__(self):
                yield "a", Size.SMALL

        moment = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.timezone.utc)
        some = uuid.UUID(int=7)
        for value, wanted in (
            (OrderedDict(a=(1, 2.5, None, True)), {"a": [1, 2.5, None, True]}),
            ({"b", "a"}, ["a", "b"]),
            (Item("x", [Size.SMALL]), {"name": "x", "sizes": [1]}),
            (more, {"name": "x", "sizes": [], "path": "/etc"}),
            (Model(), {"a": 1}),
            ([Word("w"), moment, moment.date()], ["w", moment.isoformat(), "2026-11-16"]),
            (
                [decimal.Decimal("1.10"), some, pathlib.PurePosixPath("/a")],
                ["1.10", str(some), "/a"],
            ),
        ):
            self.assertEqual(as_json(value), wanted)

    def test_what_json_cannot_hold_is_refused(self):
        loop = []
        loop.append(loop)
        for value in (object(), b"a", {1: 2}, [lambda: 1], int, loop, 1j):
            with self.assertRaises(toolgate.InvalidRequest) as raised:
                as_json(value)
            self.assertEqual(str(raised.exception), "The call cannot be written as JSON.")

    def test_arguments_by_name(self):
        def run(ctx, a, b=2, *rest, c=3, **more):
            pass

        found = by_name(run, (None, 1), {"d": 4, "ctx_": 5}, leave_out=("ctx",))
        self.assertEqual(found, {"a": 1, "b": 2, "c": 3, "d": 4, "ctx_": 5})
        found = by_name(run, (None, 1, 2, 9), {}, leave_out=("ctx",))
        self.assertEqual(found, {"a": 1, "b": 2, "rest": [9], "c": 3})
        self.assertEqual(by_name(lambda *given: 0, ("x",), {}, positional=["q"]), {"q": "x"})

    def test_two_arguments_of_one_name_are_refused(self):
        def run(a, /, *rest, **more):
            pass

        self.assertEqual(by_name(run, (1, 2), {"b": 3}), {"a": 1, "rest": [2], "b": 3})
        for named in ({"rest": 3}, {"a": 3}):
            with self.assertRaises(toolgate.InvalidRequest):
                by_name(run, (1, 2), named)

    def test_a_text_of_json_that_can_be_read_in_two_ways(self):
        self.assertEqual(object_of('{"a": [1]}'), {"a": [1]})
        self.assertEqual(object_of(""), {})
        for text in ('{"a": 1, "a": 2}', "[]", "1", "{", '{"a": NaN}', "[" * 100_000):
            with self.assertRaises(toolgate.InvalidRequest):
                object_of(text)


class AskingTest(unittest.TestCase):
    def test_a_call_is_judged_again_unless_it_is_one_function_behind_the_other(self):
        judged, later = [], []

        class Counting(Guard):
            async def judge_async(self, tool, read):
                judged.append(read()["a"])
                return Verdict("allow", "", 1, "p", "i")

        def guarded(function):
            return asking(
                function,
                Counting.shared,
                tool_of=lambda given: given[0],
                args_of=lambda function, given, named: named,
                refuse=str,
            )

        class Desk:
            name = "desk"

            async def _arun(self, a):
                await self._run(a=a)
                if a == "again":
                    await self._arun(a="once")
                # The task keeps the context of this call.
                if not later:
                    later.append(asyncio.create_task(self._run(a=a)))

            async def _run(self, a):
                pass

        Counting.shared = Counting("s", Toolgate("k", "http://127.0.0.1:1"), None, None)
        Desk._arun, Desk._run = guarded(Desk._arun), guarded(Desk._run)

        async def run():
            await Desk()._arun(a="again")
            await later[0]

        asyncio.run(run())
        self.assertEqual(judged, ["again", "once", "once"])


@service.needs_service
class GuardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.key = service.new_key(RULES)
        cls.gate = Toolgate(cls.key["key"], service.BASE_URL)

    def setUp(self):
        self.ran = []

    def guarded(self, name, gate=None, **options):
        made = tool(name, lambda **args: self.ran.append(args) or "ran")
        options = {"server": "db", "gate": gate or self.gate, **options}
        (guarded,) = openai_agents.guard_tools([made], **options)
        self.assertIsInstance(guarded, stand_ins.FunctionTool)
        self.assertIsNot(guarded, made)
        return guarded

    def test_allowed_denied_and_unanswered(self):
        self.assertEqual(call(self.guarded("read_x"), a=[1]), "ran")
        self.assertEqual(call(self.guarded("read_x", AsyncToolgate.of(self.gate)), a=2), "ran")
        self.assertEqual(call(self.guarded("drop_x"), a=3), DENIED)
        nobody = Toolgate("nonsense", service.BASE_URL)
        with self.assertLogs("toolgate", "WARNING") as logged:
            told = call(self.guarded("read_x", nobody), a="canary")
        wanted = "Not done: there is no verdict on this call (unauthenticated). Tell the user."
        self.assertEqual(told, wanted)
        self.assertNotIn("canary", "".join(logged.output))
        self.assertEqual(self.ran, [{"a": [1]}, {"a": 2}])

    def test_a_held_call_names_its_approval_when_it_is_made_again(self):
        server = service.new_name("again")
        made = self.guarded("deploy", server=server)
        first = call(made, v=1)
        reference_id = service.question(server)
        self.assertIn(f"(reference {reference_id})", first)
        service.resolve(reference_id, "approve")
        self.assertIn("has to approve", call(made, v=2))
        late = mock.patch.object(AsyncToolgate, "check", side_effect=toolgate.CallTimedOut("Late."))
        with late, self.assertLogs("toolgate", "WARNING"):
            self.assertIn("(timed_out)", call(made, v=1))
        self.assertEqual(call(made, v=1), "ran")
        self.assertIn("has to approve", call(made, v=1))
        self.assertEqual(self.ran, [{"v": 1}])

    def test_a_held_call_waits_where_there_is_a_listener(self):
        listener = ApprovalListener()
        made = service.admin(
            "POST", "/webhooks", {"url": listener.start(), "keyId": self.key["id"]}
        )
        listener.set_secret(made["secret"])
        self.addCleanup(listener.close)
        for action, wanted in (
            ("approve", "ran"),
            (
                "deny",
                'Denied: The call was denied by admin. The approver\'s note says: "No." Do not',
            ),
        ):
            server = service.new_name("waits")
            more = {"note": "No."} if action == "deny" else {}

            def answer(server=server, action=action, more=more):
                service.resolve(service.question(server), action, **more)

            person = threading.Thread(target=answer)
            person.start()
            told = call(self.guarded("deploy", server=server, listener=listener, timeout=60), v=1)
            person.join()
            self.assertIn(wanted, told)
        self.assertEqual(self.ran, [{"v": 1}])
        late = self.guarded(
            "deploy", server=service.new_name("late"), listener=listener, timeout=0.05
        )
        self.assertIn("a person has to approve this call", call(late, v=1))

    def test_no_more_held_calls_are_remembered_than_fit(self):
        guard = Guard("db", self.gate, None, None)
        held = [mock.Mock(digest=lambda n=n: str(n).encode()) for n in range(REMEMBERED + 5)]
        for each in held:
            guard._remember(each, "r")
        self.assertEqual(len(guard._held), REMEMBERED)
        self.assertNotIn(b"4", guard._held)

    def test_arguments_that_change_while_they_are_judged(self):
        guard, args = Guard("db", self.gate, None, None), {"rows": [1]}
        texts = iter([{"rows": [1]}, {"rows": [1, 2]}])
        with self.assertLogs("toolgate", "WARNING"):
            self.assertIn("(invalid_request)", guard.judge("read_x", lambda: next(texts)))
        self.assertTrue(guard.judge("read_x", lambda: args).allowed)

    def test_whatever_else_fails_refuses_and_quotes_nothing(self):
        def read():
            raise KeyError("canary")

        guard = Guard("db", self.gate, None, None)
        with self.assertLogs("toolgate", "WARNING") as logged:
            told = [guard.judge("read_x", read), asyncio.run(guard.judge_async("read_x", read))]
        self.assertEqual(
            told, ["Not done: there is no verdict on this call (no_verdict). Tell the user."] * 2
        )
        self.assertNotIn("canary", "".join(logged.output))

    def test_the_event_loop_goes_on_while_a_call_is_judged(self):
        asked = threading.Event()

        def once_the_loop_went_on(connection, *rest):
            if asked.wait(60):
                rude.allow(connection, *rest)

        async def run(server):
            made = self.guarded("read_x", Toolgate("k", server.url))
            judging = asyncio.create_task(made.on_invoke_tool(None, "{}"))
            while not server.requests:
                await asyncio.sleep(0.01)
            asked.set()
            return await judging

        with rude.Rude(once_the_loop_went_on) as server:
            self.assertEqual(asyncio.run(run(server)), "ran")


if __name__ == "__main__":
    unittest.main()
