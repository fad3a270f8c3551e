"""What the adapters give their frameworks of results that a policy has a say about, each with stand-ins
for the tools of its framework. tests/real has the same with the frameworks themselves.
"""

import asyncio
import contextlib
import dataclasses
import sys
import unittest
from typing import Any
from unittest import mock

from toolgate import Toolgate, ToolResultWithheld
from toolgate.integrations import (
    crewai,
    google_adk,
    langchain,
    openai_agents,
    pydantic_ai,
)

from . import rude, stand_ins
from .rude import Rude, looked_at, told

HIDDEN = "[hidden: birds]"
UNSEEN = (
    "The tool was run, but its result is withheld: nobody could look at it ({}). Tell the user."
)


class AdapterTest(unittest.TestCase):
    def setUp(self):
        self.serve(rude.looking)
        self.modules = stand_ins.modules()
        patched = mock.patch.dict(sys.modules, self.modules)
        patched.start()
        self.addCleanup(patched.stop)

    def serve(self, manner):
        self.server = Rude(manner)
        self.addCleanup(self.server.__exit__)

    def guard(self, adapter, tool):
        gate = Toolgate("k", self.server.url, retries=0)
        (made,) = adapter.guard_tools([tool], server="s", gate=gate)
        return made

    def reported(self):
        return [each.get("text", each.get("structured")) for each in told(self.server)]

    def test_google_adk(self):
        def look(result):
            if result == "raise":
                raise ValueError("canary")
            return result

        made = self.guard(google_adk, look)

        def given(result):
            return asyncio.run(made.run_async(args={"result": result}, tool_context=None))

        self.assertEqual(given({"bird": "canary"}), {"bird": HIDDEN})
        self.assertEqual(given("poison"), {"error": "It is withheld."})
        with self.assertRaises(Exception) as raised:
            given("raise")
        self.assertEqual(str(raised.exception), HIDDEN)
        self.assertEqual(self.reported(), [{"bird": HIDDEN}])

    def test_openai_agents(self):
        async def invoke(context, text):
            return {"a": "canary", "p": "poison", "e": "An error occurred while it ran: canary"}[
                text[7]
            ]

        made = self.guard(openai_agents, stand_ins.FunctionTool("read", {}, invoke))
        given = [asyncio.run(made.on_invoke_tool(None, f'{{"x": "{x}"}}')) for x in "ape"]
        self.assertEqual(given[:2], [HIDDEN, "It is withheld."])
        self.assertEqual(given[2], f"An error occurred while it ran: {HIDDEN}")
        self.assertIs(looked_at(self.server)[2]["result"]["isError"], True)
        self.assertEqual(self.reported(), [HIDDEN])

    def test_crewai(self):
        @stand_ins.of("crewai.tools.tool_failure")
        @dataclasses.dataclass
        class ToolFailure:
            message: str
            details: Any = None

        kept = ToolFailure("finch", "canary")
        results = ["canary", ToolFailure("canary", "canary"), kept, "poison"]
        made = self.guard(crewai, stand_ins.CrewBase("read", lambda at: results[at]))
        given = [made.run(at=at) for at in range(4)]
        self.assertEqual(given, [HIDDEN, ToolFailure(HIDDEN), kept, "It is withheld."])
        self.assertFalse(made.cache_function({}, given[3]))
        self.assertEqual(self.reported(), [HIDDEN])

    def test_pydantic_ai(self):
        class ModelRetry(Exception):
            pass

        class ApprovalRequired(Exception):
            pass

        for each in (ModelRetry, ApprovalRequired):
            stand_ins.of("pydantic_ai.exceptions")(each)
        results = iter(["canary", "poison", ModelRetry("canary"), ApprovalRequired("canary")])

        def look():
            result = next(results)
            if isinstance(result, Exception):
                raise result
            return result

        call = self.guard(pydantic_ai, look).function
        self.assertEqual(call(), HIDDEN)
        for kind, words in (
            (self.modules["pydantic_ai.exceptions"].ToolFailed, "It is withheld."),
            (ModelRetry, HIDDEN),
            # This asks the application, and no model sees it.
            (ApprovalRequired, "canary"),
        ):
            with self.assertRaises(kind) as raised:
                call()
            self.assertEqual(str(raised.exception), words)

    def test_what_pydantic_ai_gives_the_model_beside_a_result(self):
        @stand_ins.of("pydantic_ai.messages")
        @dataclasses.dataclass
        class ToolReturn:
            return_value: Any
            content: Any = None
            metadata: Any = None

        @stand_ins.of("pydantic_ai.messages")
        @dataclasses.dataclass
        class BinaryContent:
            data: bytes
            media_type: str

        picture = BinaryContent(b"canary", "image/png")
        table = BinaryContent(b"canary", "text/csv")
        failed = self.modules["pydantic_ai.exceptions"].ToolFailed
        for result, wanted in (
            (ToolReturn("finch", None, "canary"), ToolReturn("finch", None, "canary")),
            (ToolReturn("canary", None, "canary"), ToolReturn(HIDDEN)),
            (ToolReturn("a", "finch", "b"), ToolReturn("a", "finch", "b")),
            (ToolReturn("a", "canary", "b"), ToolReturn("a", [HIDDEN])),
            (
                ToolReturn("a", ["canary", picture, {"url": "x"}]),
                ToolReturn("a", [HIDDEN, picture]),
            ),
            (picture, picture),
            (["canary", picture], [HIDDEN, picture]),
            (table, UNSEEN.format("invalid_request")),
        ):
            returned = [result]
            call = self.guard(pydantic_ai, lambda: returned[0]).function
            with (
                self.assertLogs("toolgate", "WARNING")
                if result is table
                else contextlib.nullcontext()
            ):
                try:
                    given = call()
                except failed as error:
                    given = str(error)
            self.assertEqual(given, wanted)

    def test_langchain(self):
        class Returning(stand_ins.LangChainTool):
            def _run(self, query):
                return query

            async def _arun(self, query):
                return self._run(query)

        made = self.guard(langchain, Returning([]))
        self.assertEqual(made.invoke({"query": "canary"}), HIDDEN)
        # Once, although _arun leads to _run.
        self.assertEqual(asyncio.run(made.ainvoke({"query": "canary"})), HIDDEN)
        self.assertEqual(len(looked_at(self.server)), 2)
        message = made.invoke({"query": "poison"}, tool_call_id="7")
        self.assertEqual((message.content, message.fields["status"]), ("It is withheld.", "error"))

    def test_what_langchain_is_told_by_errors(self):
        @stand_ins.of("langchain_core.tools")
        class ToolException(Exception):
            pass

        @stand_ins.of("langgraph.errors")
        class GraphBubbleUp(Exception):
            pass

        raised = []

        class Raising(stand_ins.LangChainTool):
            def _run(self, query):
                raise raised[-1]

        made = self.guard(langchain, Raising([]))
        for error, kind, words in (
            (ToolException("canary"), ToolException, HIDDEN),
            (ValueError("canary"), ToolResultWithheld, HIDDEN),
            (GraphBubbleUp("canary"), GraphBubbleUp, "canary"),
        ):
            raised.append(error)
            with self.assertRaises(kind) as found:
                made.invoke({"query": "a"})
            self.assertEqual(str(found.exception), words)

    def test_what_langchain_gives_the_model(self):
        @stand_ins.of("langchain_core.messages.tool")
        class ToolOutputMixin:
            pass

        @stand_ins.of("langchain_core.messages.tool")
        @dataclasses.dataclass
        class ToolMessage(ToolOutputMixin):
            content: Any
            tool_call_id: str = "7"
            name: str = "read_own"
            id: str = "m"
            status: str = "success"
            artifact: Any = None

        @stand_ins.of("langgraph.types")
        @dataclasses.dataclass
        class Command(ToolOutputMixin):
            update: str = "canary"

        class Returning(stand_ins.LangChainTool):
            def _run(self, query):
                return self.ran[query]

        kept = ToolMessage("finch", artifact="canary")
        results = [
            (ToolMessage("canary", artifact="canary"), ToolMessage(HIDDEN)),
            (kept, kept),
            (ToolMessage(["canary"], status="error"), ToolMessage([HIDDEN], status="error")),
            (Command(), UNSEEN.format("invalid_request")),
            ([Command()], UNSEEN.format("invalid_request")),
        ]
        made = self.guard(langchain, Returning([each for each, _ in results]))
        with self.assertLogs("toolgate", "WARNING"):
            for index, (_, wanted) in enumerate(results):
                self.assertEqual(made.invoke({"query": index}), wanted)
        self.assertEqual(self.reported(), [HIDDEN, "finch"])

        pairs = [(("finch", "canary"), ("finch", "canary")), (("canary", "canary"), (HIDDEN, None))]
        pairs.append(((ToolMessage("canary"), "canary"), (ToolMessage(HIDDEN), None)))
        tool = Returning([each for each, _ in pairs])
        tool.response_format = "content_and_artifact"
        made = self.guard(langchain, tool)
        for index, (_, wanted) in enumerate(pairs):
            self.assertEqual(made.invoke({"query": index}), wanted)

    def test_what_nobody_could_look_at_is_in_no_log(self):
        self.serve(rude.but_looking(rude.problem(500, "internal")))
        made = self.guard(crewai, stand_ins.CrewBase("read", lambda: "canary"))
        with self.assertLogs("toolgate", "WARNING") as logged:
            self.assertEqual(made.run(), UNSEEN.format("internal"))
        self.assertEqual(logged.output, ["WARNING:toolgate:A result was withheld: It is internal."])


if __name__ == "__main__":
    unittest.main()
