"""What both clients report of what trusted tools returned, seen from the other side of the connection.
Whatever goes wrong with a report, nobody loses a result.
"""

import asyncio
import datetime
import sys
import threading
import unittest
from unittest import mock

import toolgate
from toolgate import AsyncToolgate, Toolgate
from toolgate.integrations import crewai, google_adk, langchain, openai_agents, pydantic_ai

from . import rude, stand_ins
from .rude import Rude, told

KIB_64 = 64 * 1024
CALL = rude.ALLOW["toolCallId"]


class FunctionTest(unittest.TestCase):
    """A function behind the decorator, plain and as a coroutine."""

    def returned(self, result, manner=rude.trusting, **options):
        """What both kinds of functions reported; each gives the result itself to its caller."""

        async def later():
            return result

        with Rude(manner) as server:
            gate = Toolgate("k", server.url, **options)
            self.assertIs(gate.guarded("s", "t")(lambda: result)(), result)
            self.assertIs(asyncio.run(gate.guarded("s", "t")(later)()), result)
        first, second = told(server) or [None, None]
        self.assertEqual(first, second)
        return first

    def test_what_is_reported(self):
        moment = datetime.datetime(2026, 11, 18, tzinfo=datetime.timezone.utc)
        for result, telling in (
            ("IBAN GB29 NWBK", {"text": "IBAN GB29 NWBK"}),
            (98.7, {"text": "98.7"}),
            (moment, {"text": moment.isoformat()}),
            ({"to": ("ann@example.com",)}, {"structured": {"to": ["ann@example.com"]}}),
            ([1, "zwölf"], {"structured": [1, "zwölf"]}),
            ({"error": None, "name": "Ann"}, {"structured": {"error": None, "name": "Ann"}}),
        ):
            with self.subTest(result=result):
                self.assertEqual(self.returned(result), {"toolCallId": CALL, **telling})

    def test_what_is_not(self):
        for result in (
            None,
            " \n",
            True,
            [],
            {"isError": True, "content": [{"type": "text", "text": "No account eve"}]},
            {"error": "No account eve"},
        ):
            with self.subTest(result=result), self.assertNoLogs("toolgate"):
                self.assertIsNone(self.returned(result))

    def assertNoLogs(self, *_):
        """That of unittest is newer than Python 3.9."""
        return mock.patch.object(toolgate._told.log, "warning", side_effect=AssertionError)

    def test_what_cannot_be_reported_is_a_warning_that_quotes_nothing(self):
        for result, why in (
            (["canary" * KIB_64], "It is larger than 64 KiB as JSON."),
            ('{"canary": "' + "word " * KIB_64 + '"}', "It is larger than 64 KiB as JSON."),
            ("\n[ {" + '"canary": "word", ' * KIB_64, "It is larger than 64 KiB as JSON."),
            ({"canary": object()}, "It cannot be written as JSON."),
            ({"canary": float("nan")}, "The text cannot be written as JSON."),
        ):
            with self.assertLogs("toolgate", "WARNING") as logged:
                self.assertIsNone(self.returned(result))
            said = f"WARNING:toolgate:What call {CALL} returned was not reported: {why}"
            self.assertEqual(logged.output, [said] * 2)

    def test_nothing_unless_the_verdict_says_so(self):
        for known in (None, "other", True):
            verdict = rude.answer(200, rude.verdict_with(known=known))
            self.assertIsNone(self.returned("result", verdict))

    def test_what_a_function_raises_is_not_reported(self):
        def broken():
            raise ValueError("No account eve")

        with Rude(rude.trusting) as server, self.assertRaises(ValueError):
            Toolgate("k", server.url).guarded("s", "t")(broken)()
        self.assertEqual(told(server), [])

    def test_the_caller_has_the_result_only_when_the_service_has_taken_it(self):
        asked, may_answer, has_result = threading.Event(), threading.Event(), threading.Event()

        def late(connection, request, earlier):
            asked.set()
            may_answer.wait(60)
            rude.trusting(connection, request, earlier)

        with Rude(rude.but_telling(late)) as server:
            call = Toolgate("k", server.url, 60).guarded("s", "t")(lambda: "result")
            calling = threading.Thread(target=lambda: call() and has_result.set())
            calling.start()
            self.assertTrue(asked.wait(60))
            self.assertFalse(has_result.is_set())
            may_answer.set()
            calling.join()
        self.assertTrue(has_result.is_set())

    def test_a_report_that_fails_loses_no_result(self):
        for manner in (
            rude.problem(404, "not_found"),
            rude.problem(413, "too_large"),
            rude.problem(500, "internal"),
            rude.answer(200, "Welcome"),
            rude.close,
            rude.silence,
        ):
            with self.assertLogs("toolgate", "WARNING") as logged:
                found = self.returned("canary", rude.but_telling(manner), timeout=1, retries=0)
            self.assertEqual(found, {"toolCallId": CALL, "text": "canary"})
            self.assertEqual(len(logged.output), 2)
            self.assertNotIn("canary", "".join(logged.output))

    def test_report_says_whether_the_service_has_taken_it(self):
        with Rude(rude.trusting) as server:
            gate = Toolgate("k", server.url)
            verdict = gate.guard("s", "t")
            self.assertEqual(verdict.known, "results")
            self.assertIs(gate.report(verdict, "result"), True)
            self.assertIs(gate.report(verdict, None), False)
            self.assertIs(asyncio.run(AsyncToolgate.of(gate).report(verdict, "result")), True)


class LongTest(unittest.TestCase):
    def cut(self, text):
        with Rude(rude.trusting) as server:
            gate = Toolgate("k", server.url)
            gate.report(gate.guard("s", "t"), text)
        return next((each["text"] for each in told(server)), None)

    def test_a_long_text_is_cut_between_words(self):
        words = "word " * (KIB_64 // 4)
        cut = self.cut(words)
        self.assertTrue(words.startswith(cut) and cut.endswith("word"))
        self.assertLess(KIB_64 - len(cut), 6)
        # A word that ends where the room does is whole.
        whole = "x" * (KIB_64 - 5) + " word"
        for text, wanted in (
            (whole, whole),
            (whole + "\nmore", whole),
            (whole + "s", whole[:-5]),
            ("x" * (KIB_64 + 1), None),
            # This does not begin as JSON.
            ("[Ann] {" + whole + "s", "[Ann]"),
        ):
            self.assertEqual(self.cut(text), wanted)

    def test_it_is_measured_in_bytes_and_not_cut_inside_a_character(self):
        for word in ("ä", "語", "😀"):
            cut = self.cut(f"{word} " * KIB_64)
            self.assertEqual(set(cut.split(" ")), {word})
            size = len(cut.encode())
            self.assertTrue(KIB_64 - 10 < size <= KIB_64, size)

    def test_half_a_character(self):
        cut = self.cut("\ud800 " * KIB_64)
        self.assertEqual(set(cut.split(" ")), {"\ud800"})


class AdapterTest(unittest.TestCase):
    """Each adapter with stand-ins for the tools of its framework."""

    def setUp(self):
        self.server = Rude(rude.trusting)
        self.addCleanup(self.server.__exit__)
        patched = mock.patch.dict(sys.modules, stand_ins.modules())
        patched.start()
        self.addCleanup(patched.stop)

    def guard(self, adapter, tool):
        (made,) = adapter.guard_tools([tool], server="s", gate=Toolgate("k", self.server.url))
        return made

    def reported(self):
        return [{n: v for n, v in each.items() if n != "toolCallId"} for each in told(self.server)]

    def test_pydantic_ai(self):
        @stand_ins.of("pydantic_ai.messages")
        class ToolReturn:
            return_value = {"name": "Ann"}

        async def later():
            return ToolReturn()

        self.assertEqual(self.guard(pydantic_ai, lambda: "Ann").function(), "Ann")
        asyncio.run(self.guard(pydantic_ai, later).function())
        self.assertEqual(self.reported(), [{"text": "Ann"}, {"structured": {"name": "Ann"}}])

    def test_google_adk(self):
        for result in ({"name": "Ann"}, {"error": "Parameter 'to': wrong input 'eve'"}):
            made = self.guard(google_adk, lambda result=result: result)
            given = asyncio.run(made.run_async(args={}, tool_context=None))
            self.assertEqual(given, result)
        self.assertEqual(self.reported(), [{"structured": {"name": "Ann"}}])

    def test_langchain(self):
        @stand_ins.of("langchain_core.messages.tool")
        class ToolMessage:
            def __init__(self, content, status="success"):
                self.content, self.status = content, status

        class Returning(stand_ins.LangChainTool):
            def _run(self, query):
                return self.ran[query]

            async def _arun(self, query):
                return self._run(query)

        results = ["Ann", ToolMessage(["Bob"]), ToolMessage("eve", "error")]
        made = self.guard(langchain, Returning(results))
        for index, result in enumerate(results):
            self.assertIs(made.invoke({"query": index}), result)
        # Once, although _arun leads to _run.
        self.assertEqual(asyncio.run(made.ainvoke({"query": 0})), "Ann")
        self.assertEqual(
            self.reported(), [{"text": "Ann"}, {"structured": ["Bob"]}, {"text": "Ann"}]
        )
        tool = Returning([("Ann", {"file": 1}), ()])
        tool.response_format = "content_and_artifact"
        made = self.guard(langchain, tool)
        self.assertEqual([made.invoke({"query": 0}), made.invoke({"query": 1})], tool.ran)
        self.assertEqual(self.reported()[3:], [{"text": "Ann"}])

    def test_crewai(self):
        @stand_ins.of("crewai.tools.tool_failure")
        class ToolFailure:
            message = "No account eve"

        results = [ToolFailure(), "Ann"]
        made = self.guard(crewai, stand_ins.CrewBase("read", lambda at: results[at]))
        self.assertEqual([made.run(at=0), made.run(at=1)], results)
        self.assertEqual(self.reported(), [{"text": "Ann"}])

    def test_openai_agents(self):
        error = "An error occurred while running the tool. Please try again. Error: 'eve'"
        for result in ("Ann", error):

            async def invoke(context, text, result=result):
                return result

            made = self.guard(openai_agents, stand_ins.FunctionTool("read", {}, invoke))
            self.assertEqual(asyncio.run(made.on_invoke_tool(None, "{}")), result)
        self.assertEqual(self.reported(), [{"text": "Ann"}])


if __name__ == "__main__":
    unittest.main()
