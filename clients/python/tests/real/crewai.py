"""The adapter for CrewAI, with CrewAI."""

import asyncio
import json
import os
import unittest
from types import SimpleNamespace
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from . import scenario  # noqa: E402

scenario.require("crewai")

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.llms.base_llm import BaseLLM  # noqa: E402
from crewai.tools import BaseTool, tool  # noqa: E402
from crewai.tools.agent_tools.delegate_work_tool import DelegateWorkTool  # noqa: E402

from toolgate.integrations.crewai import guard_tools  # noqa: E402


class Scripted(BaseLLM):
    turns: list = []
    told: list = []

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *given: Any, **named: Any) -> Any:
        self.told[:] = [str(each["content"]) for each in messages if each.get("role") == "tool"]
        if not self.turns:
            return "done"
        turn = len(self.turns)
        return [
            SimpleNamespace(
                id=f"{turn}-{at}",
                type="function",
                function=SimpleNamespace(name=name, arguments=json.dumps(args)),
            )
            for at, (name, args) in enumerate(self.turns.pop(0))
        ]


class OfItsOwn(BaseTool):
    name: str = "read_own"
    description: str = "Reads."

    def _run(self, query: str, limit: int = 10) -> str:
        return f"{limit} of {query}"

    async def _arun(self, query: str, limit: int = 10) -> str:
        return self._run(query, limit)


class Entrance(OfItsOwn):
    def run(self, *given: Any, **named: Any) -> Any:
        return "past the guard"


class CrewAiTest(scenario.Scenario, unittest.TestCase):
    guard_tools = staticmethod(guard_tools)

    def make(self, functions):
        return [tool(each) for each in functions]

    def unguardable(self):
        return [Entrance(), DelegateWorkTool(agents=[], description="Delegates."), lambda: None]

    def converse(self, tools, turns):
        model = Scripted(model="scripted", turns=list(turns), told=[])
        agent = Agent(role="desk", goal="Go.", backstory="None.", llm=model, tools=tools)
        task = Task(description="Go.", expected_output="done", agent=agent)
        done = Crew(agents=[agent], tasks=[task]).kickoff()
        self.assertEqual(done.raw, "done")
        return model.told

    def test_a_class_is_asked_for_once_whoever_runs_it(self):
        own = OfItsOwn()
        (guarded,) = guard_tools([own], server="db", gate=self.gate)
        self.assertIsInstance(guarded, OfItsOwn)
        told = [guarded.run(query="a"), asyncio.run(guarded.arun(query="b", limit=2))]
        told.append(guarded.to_structured_tool().invoke({"query": "c"}))
        self.assertEqual(told, ["10 of a", "2 of b", "10 of c"])
        self.assertEqual(self.entries(4)[-3:], [("read_own", "allow")] * 3)
        own.name = "drop_own"
        (guarded,) = guard_tools([own], server="db", gate=self.gate)
        refusal = guarded.run(query="a")
        self.assertEqual(refusal.message, scenario.DENIED)
        self.assertFalse(guarded.cache_function({}, refusal))
        self.assertTrue(guarded.cache_function({}, "10 of a"))


if __name__ == "__main__":
    unittest.main()
