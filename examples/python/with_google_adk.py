"""Agent Development Kit: guard_tools takes tools or functions, and guards all of them in one line."""

import asyncio
import logging

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from desk import DONE, SCRIPT, TOOLS, listen
from toolgate.integrations.google_adk import guard_tools

# The scripted model counts no tokens, of which the kit would tell.
logging.getLogger("google_adk").setLevel(logging.ERROR)


class Scripted(BaseLlm):
    """Your model goes here."""

    turn: int = 0

    async def generate_content_async(self, request, stream=False):
        part = types.Part(text=DONE)
        if self.turn < len(SCRIPT):
            name, args = SCRIPT[self.turn]
            call = types.FunctionCall(id=str(self.turn), name=name, args=args)
            part = types.Part(function_call=call)
        self.turn += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main():
    listener = listen()
    tools = guard_tools(TOOLS, server="github", listener=listener)
    agent = LlmAgent(name="desk", model=Scripted(model="scripted"), tools=tools)
    runner = InMemoryRunner(agent, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="somebody")
    asked = types.Content(role="user", parts=[types.Part(text="Look after issue 1.")])
    async for event in runner.run_async(
        user_id="somebody", session_id=session.id, new_message=asked
    ):
        for part in event.content.parts:
            if part.function_response:
                answer = part.function_response.response
                print(f"{part.function_response.name}: {answer.get('result') or answer['error']}")
            if part.text:
                print(part.text)
    listener.close()


asyncio.run(main())
