"""An MCP server over stdio that has the tools of one suite of AgentDojo, and a second way in for the harness: a Unix socket,
on which it sets the stage and asks for judgement. Usage: server.py <suite> <socket>"""

import json
import os
import socket
import sys
import threading

from owner import lists, values
from stage import Stage

LATEST = "2025-11-25"


class Server:
    def __init__(self, suite, replies):
        self.stage = Stage(suite)
        self.replies = replies
        self.lock = threading.Lock()

    def answer(self, method, params):
        """The result of an MCP request; None if there is no such method."""
        if method == "initialize":
            version = params.get("protocolVersion", LATEST)
            about = {"name": "agentdojo", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self.stage.tools()}
        if method == "tools/call":
            with self.lock:
                ran = self.stage.run({"tool": params["name"], "args": params.get("arguments") or {}})
            return {"content": [{"type": "text", "text": ran["text"]}], "isError": ran["failed"]}
        return None

    def serve(self, lines):
        for line in lines:
            message = json.loads(line)
            if "id" not in message or "method" not in message:
                continue
            result = self.answer(message["method"], message.get("params") or {})
            outcome = {"result": result} if result is not None else {"error": {"code": -32601, "message": "No such method"}}
            self.replies.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
            self.replies.flush()

    def control(self, path):
        """One line with a question, one with its answer, for as many connections as come."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.converse, args=(connection,), daemon=True).start()

    def converse(self, connection):
        questions = {
            "parts": self.stage.parts,
            "load": self.stage.load,
            "run": self.stage.run,
            "judge": self.stage.judge,
            "lists": lambda _: lists(self.stage.suite),
            "values": lambda _: values(self.stage.suite),
        }
        with connection, connection.makefile("rw", encoding="utf8") as stream:
            for line in stream:
                asked = json.loads(line)
                try:
                    with self.lock:
                        answer = questions[asked["question"]](asked)
                except Exception as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                stream.write(json.dumps(answer) + "\n")
                stream.flush()


def main():
    suite, path = sys.argv[1:]
    # Some of the suites' checks print. What they print must not get between the messages.
    replies = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)
    server = Server(suite, replies)
    threading.Thread(target=server.control, args=(path,), daemon=True).start()
    server.serve(sys.stdin)


main()
