"""OpenAI Agents SDK: the tools are the usual ones, and guard_tools guards all of them in one line."""

import asyncio
import json

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from desk import DONE, SCRIPT, TOOLS, listen
from toolgate.integrations.openai_agents import guard_tools


class Scripted(Model):
    """Your model goes here."""

    turn = 0

    async def get_response(self, *given, **named):
        if self.turn < len(SCRIPT):
            name, args = SCRIPT[self.turn]
            item = ResponseFunctionToolCall(
                type="function_call", call_id=str(self.turn), name=name, arguments=json.dumps(args)
            )
        else:
            text = ResponseOutputText(type="output_text", text=DONE, annotations=[])
            item = ResponseOutputMessage(
                id="last", type="message", role="assistant", status="completed", content=[text]
            )
        self.turn += 1
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *given, **named):
        raise NotImplementedError


async def main():
    listener = listen()
    tools = guard_tools([function_tool(each) for each in TOOLS], server="github", listener=listener)
    agent = Agent(name="Desk", model=Scripted(), tools=tools)
    run = await Runner.run(agent, "Look after issue 1.", run_config=RunConfig(tracing_disabled=True))
    results = [item.output for item in run.new_items if item.type == "tool_call_output_item"]
    for (name, _), result in zip(SCRIPT, results):
        print(f"{name}: {result}")
    print(run.final_output)
    listener.close()


asyncio.run(main())
