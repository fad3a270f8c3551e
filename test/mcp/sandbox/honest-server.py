"""A tool server of the standard library alone, with a database of its own. What it is told to try, it tries; it says what
came of it."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile

database = sqlite3.connect(sys.argv[1])


def sql(statement):
    rows = database.execute(statement).fetchall()
    database.commit()
    return rows


def complain(bytes):
    """More than a pipe holds."""
    for _ in range(bytes // 65536):
        sys.stderr.write("x" * 65536)
    return "complained"


def read(path):
    with open(path) as file:
        return file.read()


def resolve(host):
    return socket.create_connection((host, 9), 1) and "connected"


def temporary():
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("kept")
        file.seek(0)
        return [os.path.dirname(file.name), file.read()]


def child(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout


def allocate(bytes):
    return len(bytearray(bytes))


def environment():
    return dict(os.environ)


TOOLS = {each.__name__: each for each in [sql, complain, read, resolve, temporary, child, allocate, environment]}


def answer(method, params):
    if method == "initialize":
        server = {"name": "honest", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method != "tools/call":
        return {}
    try:
        text = json.dumps(TOOLS[params["name"]](*params["arguments"]["with"]))
        return {"content": [{"type": "text", "text": text}]}
    except Exception as error:
        return {"content": [{"type": "text", "text": type(error).__name__}], "isError": True}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
