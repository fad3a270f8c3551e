"""The adapter for the OpenAI Agents SDK, with the SDK."""

import asyncio
import json
import unittest
from typing import Annotated

from . import scenario

scenario.require("agents")

from agents import (  # noqa: E402
    Agent,
    CodeInterpreterTool,
    CustomTool,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    Usage,
    WebSearchTool,
    function_tool,
    tool_namespace,
)
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import AfterValidator  # noqa: E402

from toolgate.integrations.openai_agents import guard_tools  # noqa: E402


class Scripted(Model):
    def __init__(self, turns):
        self.turns = list(turns)
        self.told = {}

    async def get_response(self, *given, **named):
        for item in named.get("input", given[1] if len(given) > 1 else []):
            if isinstance(item, dict) and item.get("type") == "function_call_output":
                self.told[item["call_id"]] = str(item["output"])
        return ModelResponse(output=self.next(), usage=Usage(), response_id=None)

    def stream_response(self, *given, **named):
        raise NotImplementedError

    def next(self):
        if not self.turns:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            return [
                ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            ]
        turn = len(self.turns)
        return [
            ResponseFunctionToolCall(
                type="function_call", call_id=f"{turn}-{at}", name=name, arguments=json.dumps(args)
            )
            for at, (name, args) in enumerate(self.turns.pop(0))
        ]


class OpenAiAgentsTest(scenario.Scenario, unittest.TestCase):
    guard_tools = staticmethod(guard_tools)

    def make(self, functions):
        return [function_tool(each) for each in functions]

    def unguardable(self):
        custom = CustomTool(
            name="raw", description="Raw.", on_invoke_tool=lambda context, text: text
        )
        agent = Agent(name="other").as_tool("ask_other", "Asks another agent.")
        hosted = CodeInterpreterTool(
            tool_config={"type": "code_interpreter", "container": {"type": "auto"}}
        )
        return [WebSearchTool(), hosted, agent, custom]

    def converse(self, tools, turns):
        model = Scripted(turns)
        agent = Agent(name="desk", model=model, tools=tools)
        done = asyncio.run(
            Runner.run(agent, "Go.", max_turns=20, run_config=RunConfig(tracing_disabled=True))
        )
        self.assertEqual(done.final_output, "done")
        return list(model.told.values())

    def test_copies_that_the_sdk_makes_are_guarded_too(self):
        tools = tool_namespace(name="tables", description="Tables.", tools=self.tools())
        self.assertIsNot(tools[0], self.tools()[0])
        told = [asyncio.run(_invoke(each)) for each in tools if each.name == "drop_all"]
        self.assertEqual((told, self.desk.ran), ([scenario.DENIED], []))

    def test_the_arguments_are_judged_as_the_function_gets_them(self):
        @function_tool
        def read_trimmed(
            context: RunContextWrapper[None],
            path: Annotated[str, AfterValidator(str.strip)],
            limit: int = 10,
        ) -> str:
            """Reads."""
            return f"{path} {limit}"

        gate = scenario.recording(self.gate)
        (tool,) = guard_tools([read_trimmed], server="db", gate=gate)
        told = [asyncio.run(_invoke(tool, text)) for text in ('{"path": " a "}', '{"limit": "x"}')]
        self.assertEqual(told[0], "a 10")
        self.assertIn("An error occurred", told[1])
        self.assertEqual(gate.seen, [{"path": "a", "limit": 10}, {"limit": "x"}])

    def test_arguments_that_can_be_read_in_two_ways(self):
        (tool,) = [each for each in self.tools() if each.name == "read_rows"]
        for text in ('{"table": "a", "table": "b"}', '["a"]', "{", '{"table": "a", "limit": NaN}'):
            with self.assertLogs("toolgate", "WARNING"):
                told = asyncio.run(_invoke(tool, text))
            self.assertIn("Not done: there is no verdict on this call (invalid_request).", told)
        self.assertEqual(self.desk.ran, [])

    def test_what_is_made_of_arguments_that_do_not_fit_is_not_reported(self):
        @function_tool(failure_error_function=lambda context, error: f"Wrong: {error}")
        def read_number(number: int) -> str:
            """Reads."""
            return f"number {number}"

        calls = [("read_number", {"number": each}) for each in ("eve", 7)]
        self.assertEqual(self.reported(read_number, *calls), ["number 7"])


async def _invoke(tool, text='{"table": "a"}'):
    from agents.tool_context import ToolContext

    context = ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=text)
    return await tool.on_invoke_tool(context, text)


if __name__ == "__main__":
    unittest.main()
