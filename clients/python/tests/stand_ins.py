"""Tools with the shape of each framework's, for the tests that run without the frameworks. What the
frameworks themselves do with guarded tools is tested in tests/real, with their packages.
"""

import dataclasses
import inspect
from types import ModuleType
from typing import Any, Callable


def of(module):
    """Puts a class where the framework has it: the adapters know classes by name."""

    def place(kind):
        kind.__module__ = module
        return kind

    return place


@dataclasses.dataclass
class FunctionTool:
    """Of the OpenAI Agents SDK."""

    name: str
    params_json_schema: dict
    on_invoke_tool: Callable[..., Any]


def modules():
    """The modules that adapters import when they are given functions, or refuse a call."""

    class ToolFailed(Exception):
        pass

    class ToolMessage:
        def __init__(self, content, **fields):
            self.content, self.fields = content, fields

    @of("pydantic_ai.tools")
    class Tool:
        def __init__(self, function):
            self.name, self.function = function.__name__, function
            takes_ctx = "ctx" in inspect.signature(function).parameters
            is_async = inspect.iscoroutinefunction(function)
            self.function_schema = FunctionSchema(function, takes_ctx, is_async)

    @of("google.adk.tools.base_tool")
    class BaseTool:
        async def run_async(self, *, args, tool_context):
            raise NotImplementedError

    class AdkFunctionTool(BaseTool):
        def __init__(self, func):
            self.name, self.func = func.__name__, func

        async def run_async(self, *, args, tool_context):
            result = self.func(**args)
            return await result if inspect.isawaitable(result) else result

    return {
        "pydantic_ai": module(Tool=Tool),
        "pydantic_ai.exceptions": module(ToolFailed=ToolFailed),
        "google.adk.tools": module(FunctionTool=AdkFunctionTool, BaseTool=BaseTool),
        "langchain_core.messages": module(ToolMessage=ToolMessage),
        # As if it were an older version, without this module.
        "crewai.tools.tool_failure": None,
    }


def module(**members):
    made = ModuleType("stand_in")
    made.__dict__.update(members)
    return made


@dataclasses.dataclass
class FunctionSchema:
    """Of Pydantic AI."""

    function: Callable[..., Any]
    takes_ctx: bool
    is_async: bool


@of("langchain_core.tools.base")
class BaseTool:
    """Of LangChain."""

    args = {"query": {}}

    def invoke(self, args, **options):
        return self.run(args, **options)

    async def ainvoke(self, args, **options):
        return await self.arun(args, **options)

    def run(self, args, tool_call_id=None):
        return self._run(**args)

    async def arun(self, args, tool_call_id=None):
        return await self._arun(**args)

    async def _arun(self, **args):
        return self._run(**args)


class LangChainTool(BaseTool):
    name = "read_own"

    def __init__(self, ran):
        self.ran = ran

    def _run(self, query, limit=10):
        self.ran.append((query, limit))
        return "ran"

    async def _arun(self, query, limit=10):
        return self._run(query, limit)


@of("crewai.tools.base_tool")
class CrewBase:
    """Of CrewAI."""

    args_schema = module(model_fields={"query": None})

    def __init__(self, name, func=None):
        self.name, self.func = name, func
        self.cache_function = lambda args, result: True

    def run(self, **args):
        return self.func(**args)

    async def arun(self, **args):
        return await self.func(**args)

    def to_structured_tool(self):
        return self

    def _run(self, **args):
        return self.func(**args)

    async def _arun(self, **args):
        return await self.func(**args)


CrewBase.__name__ = "BaseTool"
