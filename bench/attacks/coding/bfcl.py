"""Prints the calls that solve BFCL's tasks of several turns, which are written as Python, as JSON."""

import ast
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tasks = [json.loads(line) for line in file]

for task in tasks:
    calls = []
    for turn in task["ground_truth"]:
        for text in turn:
            call = ast.parse(text, mode="eval").body
            named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
            bare = [ast.literal_eval(value) for value in call.args]
            calls.append({"tool": ast.unparse(call.func), "bare": bare, "named": named})
    print(json.dumps({"name": task["id"], "calls": calls}))
