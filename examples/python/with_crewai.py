"""CrewAI: the tools are the usual ones, and guard_tools guards all of them in one line."""

import json
import logging
import os
import warnings
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
warnings.simplefilter("ignore", DeprecationWarning)

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.llms.base_llm import BaseLLM  # noqa: E402
from crewai.tools import tool  # noqa: E402

from desk import DONE, SCRIPT, TOOLS, listen  # noqa: E402
from toolgate.integrations.crewai import guard_tools  # noqa: E402

# The scripted model counts no tokens, of which the framework would tell.
logging.getLogger("crewai").setLevel(logging.ERROR)


class Scripted(BaseLLM):
    """Your model goes here."""

    results: list = []

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *given: Any, **named: Any) -> Any:
        self.results[:] = [each["content"] for each in messages if each["role"] == "tool"]
        if len(self.results) == len(SCRIPT):
            return DONE
        name, args = SCRIPT[len(self.results)]
        function = SimpleNamespace(name=name, arguments=json.dumps(args))
        return [SimpleNamespace(id=name, type="function", function=function)]


listener = listen()
tools = guard_tools([tool(each) for each in TOOLS], server="github", listener=listener)
model = Scripted(model="scripted", results=[])
agent = Agent(role="Desk", goal="Look after issues.", backstory="A clerk.", llm=model, tools=tools)
task = Task(description="Look after issue 1.", expected_output="A word.", agent=agent)
run = Crew(agents=[agent], tasks=[task]).kickoff()
for (name, _), result in zip(SCRIPT, model.results):
    print(f"{name}: {result}")
print(run.raw)
listener.close()
