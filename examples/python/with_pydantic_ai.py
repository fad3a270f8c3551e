"""Pydantic AI: guard_tools takes tools or functions, and guards all of them in one line."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from desk import DONE, SCRIPT, TOOLS, listen
from toolgate.integrations.pydantic_ai import guard_tools


def scripted(messages, info):
    """Your model goes here."""
    turn = sum(isinstance(each, ModelResponse) for each in messages)
    if turn == len(SCRIPT):
        return ModelResponse(parts=[TextPart(DONE)])
    return ModelResponse(parts=[ToolCallPart(*SCRIPT[turn])])


async def main():
    listener = listen()
    tools = guard_tools(TOOLS, server="github", listener=listener)
    run = await Agent(FunctionModel(scripted), tools=tools).run("Look after issue 1.")
    for message in run.all_messages():
        for part in message.parts if isinstance(message, ModelRequest) else []:
            if isinstance(part, ToolReturnPart):
                print(f"{part.tool_name}: {part.content}")
    print(run.output)
    listener.close()


asyncio.run(main())
