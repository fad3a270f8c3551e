"""Runs decision cases through both clients: calls come as JSON on standard input, verdicts go as
JSON to standard output. Which verdicts are wanted is the caller's business.
"""

import asyncio
import dataclasses
import json
import sys

from toolgate import AsyncToolgate, Toolgate


def main():
    work = json.load(sys.stdin)
    json.dump({"sync": plain(work), "async": asyncio.run(waiting(work))}, sys.stdout)


def plain(work):
    return [dataclasses.asdict(Toolgate(**options(each)).check(*call(each))) for each in work]


async def waiting(work):
    clients = [(AsyncToolgate(**options(each)), each) for each in work]
    return [dataclasses.asdict(await client.check(*call(each))) for client, each in clients]


def options(each):
    return {"key": each["key"], "base_url": each["baseUrl"]}


def call(each):
    return each["server"], each["tool"], each.get("args")


if __name__ == "__main__":
    main()
