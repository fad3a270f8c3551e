"""LangChain and LangGraph: guard_tools takes tools or functions, and guards all of them in one line."""

import asyncio

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from desk import DONE, SCRIPT, TOOLS, listen
from toolgate.integrations.langchain import guard_tools


class Scripted(BaseChatModel):
    """Your model goes here, with its bind_tools(tools)."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages, *given, **named) -> ChatResult:
        turn = sum(isinstance(each, AIMessage) for each in messages)
        message = AIMessage(DONE)
        if turn < len(SCRIPT):
            name, args = SCRIPT[turn]
            message = AIMessage("", tool_calls=[{"name": name, "args": args, "id": str(turn)}])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main():
    listener = listen()
    tools = guard_tools(TOOLS, server="github", listener=listener)
    model = Scripted()
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    run = await graph.compile().ainvoke({"messages": [HumanMessage("Look after issue 1.")]})
    for message in run["messages"]:
        if isinstance(message, ToolMessage):
            print(f"{message.name}: {message.content}")
    print(run["messages"][-1].content)
    listener.close()


asyncio.run(main())
