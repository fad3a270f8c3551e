"""The adapter for Pydantic AI, with Pydantic AI."""

import asyncio
import datetime
import enum
import unittest
from typing import Optional

from . import scenario

scenario.require("pydantic_ai")

from pydantic import BaseModel, Field  # noqa: E402
from pydantic_ai import Agent, RunContext, Tool, ToolReturn  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

from toolgate.integrations.pydantic_ai import guard_tools  # noqa: E402


class Size(enum.Enum):
    SMALL = "small"


class Item(BaseModel):
    name: str
    hidden: int = Field(default=1, exclude=True)
    size: Optional[Size] = None


class PydanticAiTest(scenario.Scenario, unittest.TestCase):
    guard_tools = staticmethod(guard_tools)

    def make(self, functions):
        return [Tool(each) for each in functions]

    def unguardable(self):
        return [FunctionToolset(), object(), Tool]

    def converse(self, tools, turns):
        told = []

        def model(messages, _):
            turn = sum(isinstance(each, ModelResponse) for each in messages)
            told.extend(part for part in messages[-1].parts if part.part_kind != "user-prompt")
            calls = turns[turn] if turn < len(turns) else []
            parts = [
                ToolCallPart(name, args, f"{turn}-{at}") for at, (name, args) in enumerate(calls)
            ]
            return ModelResponse(parts=parts or [TextPart("done")])

        self.parts = told
        agent = Agent(FunctionModel(model), tools=tools)
        self.assertEqual(asyncio.run(agent.run("Go.")).output, "done")
        return [str(part.content) for part in told]

    def test_a_refusal_is_a_failure_of_the_tool_and_no_retry(self):
        tools = self.guard_tools(self.make(self.desk.functions), server="db", gate=self.gate)
        self.converse(tools, [[("drop_all", {"table": "a"})]] * 4)
        for part in self.parts:
            self.assertIsInstance(part, ToolReturnPart)
            self.assertEqual(part.outcome, "failed")

    def test_the_arguments_are_judged_as_they_were_validated(self):
        gate = scenario.recording(self.gate)

        def read_items(
            ctx: RunContext[None], items: list[Item], on: datetime.date, limit: int = 10
        ) -> str:
            """Reads."""
            return f"{items[0].hidden} {on.year} {limit} {ctx.tool_name}"

        (guarded,) = self.guard_tools([read_items], server="db", gate=gate)
        args = {"items": [{"name": "a", "hidden": "5", "size": "small"}], "on": "2026-11-16"}
        told = self.converse([guarded], [[("read_items", args)]])
        self.assertEqual(told, ["5 2026 10 read_items"])
        item = {"name": "a", "hidden": 5, "size": "small"}
        self.assertEqual(gate.seen, [{"items": [item], "on": "2026-11-16", "limit": 10}])

    def test_of_a_return_with_more_than_a_value_the_value_is_reported(self):
        def read_more() -> ToolReturn:
            """Reads."""
            return ToolReturn(return_value={"name": "Ann"}, content="Look.", metadata=object())

        self.assertEqual(self.reported(read_more, ("read_more", {})), [{"name": "Ann"}])


if __name__ == "__main__":
    unittest.main()
