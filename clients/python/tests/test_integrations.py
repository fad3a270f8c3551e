"""The adapters without the frameworks: each guards what is shaped as a tool of its framework, and
refuses whatever else at set-up. What the frameworks do with guarded tools is tested in tests/real.
"""

import asyncio
import inspect
import os
import sys
import unittest
from unittest import mock

import toolgate
from toolgate import Toolgate
from toolgate.integrations import crewai, google_adk, langchain, openai_agents, pydantic_ai

from . import service, stand_ins

ADAPTERS = (openai_agents, langchain, pydantic_ai, crewai, google_adk)
FRAMEWORKS = ("agents", "langchain_core", "langgraph", "pydantic_ai", "crewai", "google.adk")
RULES = [
    {"tool": "read_*", "action": "allow"},
    {"tool": "drop_*", "action": "deny", "reason": "Never."},
    {"tool": "deploy", "action": "require_approval"},
]
DENIED = "Denied: Never. Do not make this call again."


class SetUpTest(unittest.TestCase):
    gate = Toolgate("k", "http://127.0.0.1:1", retries=0)

    def test_no_framework_is_imported(self):
        self.assertEqual([name for name in FRAMEWORKS if name in sys.modules], [])

    def test_every_adapter_takes_the_same(self):
        for each in ADAPTERS:
            parameters = inspect.signature(each.guard_tools).parameters
            self.assertEqual(list(parameters), ["tools", "server", "gate", "listener", "timeout"])

    def test_what_is_no_tool_of_the_framework_is_refused_at_once(self):
        class Toolset:
            name = "many"

        for each in ADAPTERS:
            for wrong in ({"type": "web_search"}, object(), Toolset(), Toolset, "text", None):
                with self.subTest(adapter=each.__name__, tool=wrong):
                    with self.assertRaises(toolgate.InvalidConfiguration) as raised:
                        each.guard_tools([wrong], server="s", gate=self.gate)
                    self.assertIn("cannot be guarded", str(raised.exception))

    def test_wrong_options(self):
        for each in ADAPTERS:
            for tools, options in (
                ({"a": 1}, {"server": "s", "gate": self.gate}),
                (7, {"server": "s", "gate": self.gate}),
                ([], {"server": "", "gate": self.gate}),
                ([], {"server": "s", "gate": "gate"}),
            ):
                with self.assertRaises(toolgate.InvalidConfiguration):
                    each.guard_tools(tools, **options)

    def test_the_key_of_the_environment_is_missed_at_set_up(self):
        with mock.patch.dict("os.environ"), self.assertRaises(toolgate.InvalidConfiguration):
            os.environ.pop("TOOLGATE_API_KEY", None)
            openai_agents.guard_tools([], server="s")


@service.needs_service
class ShapesTest(unittest.TestCase):
    """Each adapter with stand-ins: it guards where the framework runs the tool, and asks once."""

    @classmethod
    def setUpClass(cls):
        cls.gate = Toolgate(service.new_key(RULES)["key"], service.BASE_URL)

    def setUp(self):
        self.ran = []
        self.modules = stand_ins.modules()
        patched = mock.patch.dict(sys.modules, self.modules)
        patched.start()
        self.addCleanup(patched.stop)

    def functions(self):
        def read_x(query, limit=10):
            self.ran.append((query, limit))
            return "ran"

        async def drop_x(query):
            self.ran.append((query,))

        return [read_x, drop_x]

    def guard(self, adapter, tools):
        return adapter.guard_tools(tools, server="db", gate=self.gate)

    def test_pydantic_ai(self):
        read, drop = self.guard(pydantic_ai, self.functions())
        self.assertEqual(read.function_schema.function("a"), "ran")
        with self.assertRaises(self.modules["pydantic_ai.exceptions"].ToolFailed) as raised:
            asyncio.run(drop.function_schema.function(query="a"))
        self.assertEqual((str(raised.exception), self.ran), (DENIED, [("a", 10)]))

    def test_google_adk(self):
        read, drop = self.guard(google_adk, self.functions())
        self.assertEqual(asyncio.run(read.run_async(args={"query": "a"}, tool_context=None)), "ran")
        told = asyncio.run(drop.run_async(args={"query": "a"}, tool_context=None))
        self.assertEqual((told, self.ran), ({"error": DENIED}, [("a", 10)]))

        hosted = self.modules["google.adk.tools"].BaseTool()
        with self.assertRaises(toolgate.InvalidConfiguration) as raised:
            self.guard(google_adk, [hosted])
        self.assertIn("where the model runs", str(raised.exception))

    def test_langchain(self):
        own = stand_ins.LangChainTool(self.ran)
        with mock.patch.object(
            Toolgate, "guard", autospec=True, side_effect=Toolgate.guard
        ) as plain:
            (made,) = self.guard(langchain, [own])
            self.assertIsInstance(made, stand_ins.LangChainTool)
            self.assertEqual(made.invoke({"query": "a"}), "ran")
            self.assertEqual(asyncio.run(made.ainvoke({"query": "b"})), "ran")
            # The second was asked for by the asynchronous client, and its _run not once more.
            self.assertEqual(
                [each.args[3] for each in plain.call_args_list], [{"query": "a", "limit": 10}]
            )
        own.name = "drop_own"
        (made,) = self.guard(langchain, [own])
        message = made.invoke({"query": "a"}, tool_call_id="7")
        self.assertEqual((message.content, message.fields["status"]), (DENIED, "error"))
        self.assertEqual(asyncio.run(made.ainvoke({"query": "b"})), DENIED)
        self.assertEqual(self.ran, [("a", 10), ("b", 10)])

    def test_a_call_that_is_over_is_asked_for_again(self):
        guarded = self.guard(langchain, [stand_ins.LangChainTool(self.ran)])[0]
        self.assertEqual(guarded.invoke({"query": "a"}), "ran")
        nobody = mock.patch.object(Toolgate, "check", side_effect=toolgate.CallTimedOut("Late."))
        with nobody, self.assertLogs("toolgate", "WARNING"):
            self.assertIn("(timed_out)", guarded.invoke({"query": "a"}))
        self.assertEqual(self.ran, [("a", 10)])

    def test_crewai(self):
        read, drop = self.functions()
        read, drop = self.guard(
            crewai, [stand_ins.CrewBase("read_x", read), stand_ins.CrewBase("drop_x", drop)]
        )
        self.assertEqual(read.run(query="a"), "ran")
        refusal = asyncio.run(drop.arun(query="a"))
        self.assertEqual((refusal, self.ran), (DENIED, [("a", 10)]))
        self.assertEqual(
            [read.cache_function({}, each) for each in ("ran", refusal)], [True, False]
        )


if __name__ == "__main__":
    unittest.main()
