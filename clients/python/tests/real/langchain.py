"""The adapter for LangChain, with langchain-core and the agent of LangGraph."""

import asyncio
import unittest
from typing import Annotated, Any

from . import scenario

scenario.require("langgraph.prebuilt")

from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.runnables import RunnableConfig  # noqa: E402
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool  # noqa: E402
from langchain_core.tools.base import BaseToolkit, InjectedToolArg  # noqa: E402
from langgraph.graph import START, MessagesState, StateGraph  # noqa: E402
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition  # noqa: E402

from toolgate.integrations.langchain import guard_tools  # noqa: E402


class Scripted(BaseChatModel):
    turns: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        turn = sum(isinstance(each, AIMessage) for each in messages)
        calls = [
            {"name": name, "args": args, "id": f"{turn}-{at}", "type": "tool_call"}
            for at, (name, args) in enumerate(self.turns[turn] if turn < len(self.turns) else [])
        ]
        message = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def agent_of(tools, turns):
    model = Scripted(turns=turns)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


class OfItsOwn(BaseTool):
    """As many tools of integrations are: a class, whose _arun leads to its _run."""

    name: str = "read_own"
    description: str = "Reads."
    ran: list = []

    def _run(self, query: str, limit: int = 10, run_manager: Any = None) -> str:
        self.ran.append((query, limit, run_manager is not None))
        return f"{limit} of {query}"

    async def _arun(self, query: str, limit: int = 10, run_manager: Any = None) -> str:
        return self._run(query, limit, run_manager)


class Entrance(OfItsOwn):
    def invoke(self, *_, **__):
        return "past the guard"


class Kit(BaseToolkit):
    def get_tools(self):
        return []


class LangChainTest(scenario.Scenario, unittest.TestCase):
    guard_tools = staticmethod(guard_tools)

    def make(self, functions):
        def made(function):
            if asyncio.iscoroutinefunction(function):
                return StructuredTool.from_function(coroutine=function)
            return StructuredTool.from_function(function)

        return [made(each) for each in functions]

    def unguardable(self):
        return [{"type": "web_search"}, Kit(), Entrance(), object()]

    def converse(self, tools, turns):
        state = asyncio.run(agent_of(tools, turns).ainvoke({"messages": [HumanMessage("Go.")]}))
        self.assertEqual(state["messages"][-1].content, "done")
        return [each.content for each in state["messages"] if isinstance(each, ToolMessage)]

    def test_a_refusal_is_a_message_of_status_error_also_without_an_event_loop(self):
        tools = {each.name: each for each in self.tools()}
        calls = [[("drop_all", {"table": "a"}), ("read_rows", {"table": "b"})]]
        state = agent_of([tools["drop_all"], tools["read_rows"]], calls).invoke(
            {"messages": [HumanMessage("Go.")]}
        )
        found = [each for each in state["messages"] if isinstance(each, ToolMessage)]
        self.assertEqual([each.status for each in found], ["error", "success"])
        self.assertEqual(found[0].content, scenario.DENIED)
        self.assertEqual(tools["drop_all"].invoke({"table": "a"}), scenario.DENIED)
        self.assertEqual(self.desk.ran, [("read_rows", "b", 10)])

    def test_a_tool_with_an_artifact(self):
        @tool(response_format="content_and_artifact")
        def drop_more(table: str):
            """Drops."""
            return "dropped", [table]

        (guarded,) = guard_tools([drop_more], server="db", gate=self.gate)
        call = {"name": "drop_more", "args": {"table": "a"}, "id": "1", "type": "tool_call"}
        self.assertEqual(guarded.invoke(call).content, scenario.DENIED)

    def test_a_class_is_asked_for_once_and_gets_what_it_got_before(self):
        own = OfItsOwn()
        (guarded,) = guard_tools([own], server="db", gate=self.gate)
        self.assertIsInstance(guarded, OfItsOwn)
        self.assertEqual(guarded.args, own.args)
        before = len(service_entries("read_own"))
        self.assertEqual(guarded.invoke({"query": "a"}), "10 of a")
        self.assertEqual(asyncio.run(guarded.ainvoke({"query": "b", "limit": 2})), "2 of b")
        self.assertEqual(len(service_entries("read_own")) - before, 2)
        self.assertEqual(own.ran, [("a", 10, True), ("b", 2, True)])

    def test_what_langchain_fills_in_is_not_judged_and_all_else_is(self):
        gate = scenario.recording(self.gate)

        @tool
        def read_state(
            table: str,
            state: Annotated[dict, InjectedState],
            secret: Annotated[str, InjectedToolArg],
            config: RunnableConfig,
            limit: int = 10,
        ) -> str:
            """Reads."""
            return f"{table} {len(state['messages'])} {'callbacks' in config}"

        plain = Tool("read_text", lambda text: text.upper(), "Reads.")
        made = guard_tools([read_state, plain, lambda_tool], server="db", gate=gate)
        call = {
            "name": "read_state",
            "args": {"table": "a", "secret": "s"},
            "id": "1",
            "type": "tool_call",
        }
        state = {"messages": [HumanMessage("Go.")]}
        result = made[0].invoke({**call, "args": {**call["args"], "state": state}})
        self.assertEqual(result.content, "a 1 True")
        self.assertEqual(made[1].invoke("b"), "B")
        self.assertEqual(made[2].invoke({"when": "c"}), "c")
        self.assertEqual(
            gate.seen, [{"table": "a", "limit": 10}, {"tool_input": "b"}, {"when": "c"}]
        )

    def test_what_the_model_sees_is_reported(self):
        @tool(response_format="content_and_artifact")
        def read_file(name: str):
            """Reads."""
            return f"{name} is here", {"file": name}

        @tool
        def read_message(content: str, status: str) -> Any:
            """Reads."""
            return ToolMessage(content, tool_call_id="0-0", status=status)

        self.assertEqual(self.reported(read_file, ("read_file", {"name": "a"})), ["a is here"])
        for status, wanted in (("success", ["Ann"]), ("error", [])):
            call = ("read_message", {"content": "Ann", "status": status})
            self.assertEqual(self.reported(read_message, call), wanted)


def lambda_tool(when: str) -> str:
    """Reads."""
    return when


lambda_tool.__name__ = "read_when"


def service_entries(name):
    from .. import service

    found = service.admin("GET", "/audit?limit=100")["entries"]
    return [each for each in found if each["toolName"] == name]


if __name__ == "__main__":
    unittest.main()
