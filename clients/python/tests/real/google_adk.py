"""The adapter for Google's Agent Development Kit, with the kit."""

import asyncio
import logging
import os
import unittest
from typing import Annotated, Any
from unittest import mock

from . import scenario

scenario.require("google.adk")

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import AgentTool, FunctionTool, ToolContext, google_search  # noqa: E402
from google.adk.tools.base_toolset import BaseToolset  # noqa: E402
from google.genai import types  # noqa: E402
from pydantic import AfterValidator, BaseModel  # noqa: E402

from toolgate.integrations.google_adk import guard_tools  # noqa: E402

logging.getLogger("google_adk").setLevel(logging.CRITICAL)


class Scripted(BaseLlm):
    turns: list
    told: list = []
    made: int = 0

    async def generate_content_async(self, request: Any, stream: bool = False):
        for part in request.contents[-1].parts:
            if part.function_response is not None:
                self.told.append(str(part.function_response.response))
        calls = self.turns[self.made] if self.made < len(self.turns) else []
        self.made += 1
        parts = [
            types.Part(
                function_call=types.FunctionCall(id=f"{self.made}-{at}", name=name, args=args)
            )
            for at, (name, args) in enumerate(calls)
        ]
        content = types.Content(role="model", parts=parts or [types.Part(text="done")])
        yield LlmResponse(content=content)


class Item(BaseModel):
    name: Annotated[str, AfterValidator(str.strip)]
    size: int = 1


class OfItsOwn(FunctionTool):
    async def run_async(self, *, args, tool_context):
        return str(args)


class Toolset(BaseToolset):
    async def get_tools(self, readonly_context=None):
        return []


async def stream(table: str):
    """Streams."""
    yield table


async def converse(tools, turns, **agent):
    model = Scripted(model="scripted", turns=turns, told=[])
    runner = InMemoryRunner(
        LlmAgent(name="desk", model=model, tools=tools, **agent), app_name="desk"
    )
    session = await runner.session_service.create_session(app_name="desk", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="Go.")])
    last = None
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        last = event
    return model.told, last.content.parts[-1].text


class GoogleAdkTest(scenario.Scenario, unittest.TestCase):
    guard_tools = staticmethod(guard_tools)

    def make(self, functions):
        # The kit takes functions, and makes tools of them itself.
        return [*functions[1:], FunctionTool(functions[0])]

    def unguardable(self):
        other = LlmAgent(name="other", model="scripted")
        return [google_search, AgentTool(other), other, Toolset(), FunctionTool(stream)]

    def converse(self, tools, turns):
        told, last = asyncio.run(converse(tools, turns))
        self.assertEqual(last, "done")
        return told

    def test_the_arguments_are_judged_as_the_function_gets_them(self):
        # The kit hides the last one from the model, but takes it from one that names it.
        def read_items(
            item: Item, tool_context: ToolContext, limit: int = 10, input_stream: str = ""
        ) -> str:
            """Reads."""
            return f"{item.name} {limit} {tool_context.function_call_id}{input_stream}"

        gate = scenario.recording(self.gate)
        (tool,) = guard_tools([read_items], server="db", gate=gate)
        calls = [("read_items", {"item": {"name": " a "}, "other": 1, "input_stream": "!"})]
        told, _ = asyncio.run(converse([tool], [calls]))
        self.assertEqual(told, ["{'result': 'a 10 1-0!'}"])
        (tool,) = guard_tools([OfItsOwn(read_items)], server="db", gate=gate)
        told, _ = asyncio.run(converse([tool], [calls]))
        self.assertEqual(told, [str({"result": str(calls[0][1])})])
        got = {"item": {"name": "a", "size": 1}, "limit": 10, "input_stream": "!"}
        self.assertEqual(gate.seen, [got, calls[0][1]])

    def test_a_callback_cannot_change_what_was_judged(self):
        kept = []

        def before(tool, args, tool_context):
            kept.append(args)

        def read_slow(table: str, rows: list[int]) -> str:
            """Reads."""
            kept[0]["rows"].append(9)
            return f"{table} {rows}"

        (tool,) = guard_tools([read_slow], server="db", gate=self.gate)
        calls = [[("read_slow", {"table": "a", "rows": [1]})]]
        told, _ = asyncio.run(converse([tool], calls, before_tool_callback=before))
        self.assertEqual(told, ["{'result': 'a [1]'}"])

    def test_what_the_kit_says_of_arguments_that_do_not_fit_is_not_reported(self):
        def read_number(number: int) -> dict:
            """Reads."""
            return {"number": number}

        calls = [("read_number", {"number": each}) for each in ("eve", 7)]
        with mock.patch.dict(os.environ, {"ADK_ENABLE_FUNCTION_TOOL_ARG_VALIDATION": "1"}):
            found = self.reported(read_number, ("read_number", {}), *calls)
        self.assertEqual(found, [{"number": 7}])


if __name__ == "__main__":
    unittest.main()
