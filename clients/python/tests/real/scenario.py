"""What every adapter is tested for, with the framework's own package, a scripted model and the real
service. The module of a framework says how its tools are made and how its agent runs; this file
says what must come of it. The modules are not found by discovery, since they need the frameworks:
``python -m unittest tests.real.langchain``.
"""

import asyncio
import importlib
import json
import time
import traceback
import unittest

import toolgate
from toolgate import AsyncToolgate, Toolgate

from .. import rude, service

RULES = [
    {"tool": "read_*", "action": "allow"},
    {"tool": "drop_*", "action": "deny", "reason": "Never."},
    {"tool": "deploy", "action": "require_approval"},
]
NOWHERE = "http://127.0.0.1:1"
NO_VERDICT = "Not done: there is no verdict on this call (network_failure). Tell the user."
DENIED = "Denied: Never. Do not make this call again."


class Desk:
    """The functions behind the tools, and which of them ran."""

    def __init__(self):
        self.ran = []

        def read_rows(table: str, limit: int = 10) -> str:
            """Reads rows of a table."""
            self.ran.append(("read_rows", table, limit))
            return f"{limit} rows of {table}"

        async def read_later(table: str) -> str:
            """Reads rows of a table, later."""
            await asyncio.sleep(0)
            self.ran.append(("read_later", table))
            return f"later rows of {table}"

        def read_broken(table: str) -> str:
            """Cannot read."""
            self.ran.append(("read_broken", table))
            raise ValueError("the disk is full")

        def drop_all(table: str) -> str:
            """Drops a table."""
            self.ran.append(("drop_all", table))
            return "dropped"

        def deploy(version: int) -> str:
            """Deploys a version."""
            self.ran.append(("deploy", version))
            return f"deployed {version}"

        async def drop_later(table: str) -> str:
            """Drops a table, later."""
            self.ran.append(("drop_later", table))
            return "dropped"

        self.functions = [read_rows, read_later, read_broken, drop_all, drop_later, deploy]


class Scenario:
    """Mixed into a TestCase that has ``guard_tools``, ``make`` (functions to tools),
    ``unguardable`` (tools that must be refused) and ``converse``: runs an agent whose model makes
    these calls, one list per turn, and says "done" then; returns what the model was told of each
    call, in order.
    """

    @classmethod
    def setUpClass(cls):
        cls.key = service.new_key(RULES)
        cls.gate = Toolgate(cls.key["key"], service.BASE_URL)

    def setUp(self):
        self.desk = Desk()

    def tools(self, gate=None, **options):
        made = self.make(self.desk.functions)
        return self.guard_tools(made, **{"server": "db", "gate": gate or self.gate, **options})

    def entries(self, count):
        found = service.admin("GET", f"/audit?limit={count}")["entries"]
        return [(each["toolName"], each["decision"]) for each in reversed(found)]

    def test_allowed_and_denied_calls_in_one_run(self):
        told = self.converse(
            self.tools(),
            [[("read_rows", {"table": "a", "limit": 3})], [("drop_all", {"table": "b"})]]
            + [[("read_later", {"table": "c"})], [("drop_later", {"table": "d"})]],
        )
        self.assertEqual(self.desk.ran, [("read_rows", "a", 3), ("read_later", "c")])
        for words, wanted in zip(told, ["3 rows of a", DENIED, "later rows of c", DENIED]):
            self.assertIn(wanted, words)
        decided = [("read_rows", "allow"), ("drop_all", "deny")]
        decided += [("read_later", "allow"), ("drop_later", "deny")]
        self.assertEqual(self.entries(4), decided)

    def test_calls_of_one_turn(self):
        calls = [("read_rows", {"table": str(n), "limit": n}) for n in range(3)]
        calls.insert(1, ("drop_all", {"table": "x"}))
        told = self.converse(self.tools(AsyncToolgate.of(self.gate)), [calls])
        self.assertEqual(sorted(self.desk.ran), [("read_rows", str(n), n) for n in range(3)])
        wanted = ["0 rows of 0", DENIED, "1 rows of 1", "2 rows of 2"]
        for words, each in zip(told, wanted):
            self.assertIn(each, words)

    def test_a_held_call_is_freed_when_it_is_made_again_after_its_approval(self):
        server = service.new_name("held")
        tools = self.tools(server=server)
        (words,) = self.converse(tools, [[("deploy", {"version": 7})]])
        reference_id = service.question(server)
        self.assertIn(f"a person has to approve this call (reference {reference_id}).", words)
        self.assertEqual(self.desk.ran, [])
        service.resolve(reference_id, "approve")
        (words,) = self.converse(tools, [[("deploy", {"version": 7})]])
        self.assertIn("deployed 7", words)
        self.assertEqual(self.desk.ran, [("deploy", 7)])

    def test_nothing_runs_when_nobody_answers(self):
        away = Toolgate(self.key["key"], NOWHERE, retries=0)
        calls = [[("read_rows", {"table": "a", "limit": 1})], [("read_later", {"table": "a"})]]
        with self.assertLogs("toolgate", "WARNING") as logged:
            told = self.converse(self.tools(away), calls)
        self.assertEqual(len(logged.output), 2)
        self.assertEqual(self.desk.ran, [])
        for words in told:
            self.assertIn(NO_VERDICT, words)

    def test_a_tool_that_raises_does_as_it_does_without_the_guard(self):
        def outcome(tools):
            try:
                return self.converse(tools, [[("read_broken", {"table": "a"})]])
            except Exception as error:
                return type(error), str(error)

        bare = outcome(self.make(self.desk.functions))
        self.assertEqual(outcome(self.tools()), bare)
        self.assertEqual(self.desk.ran, [("read_broken", "a")] * 2)

    def test_what_a_trusted_tool_returned_is_reported_and_what_failed_is_not(self):
        calls = [[("read_rows", {"table": "a", "limit": 3})], [("read_later", {"table": "b"})]]
        with rude.Rude(rude.trusting) as server:
            tools = self.tools(Toolgate("k", server.url))
            told = self.converse(tools, calls)
            try:
                self.converse(tools, [[("read_broken", {"table": "eve"})]])
            except Exception as error:
                # Some frameworks end the run.
                self.assertIn("the disk is full", str(error))
        for words, wanted in zip(told, ["3 rows of a", "later rows of b"]):
            self.assertIn(wanted, words)
        self.assertEqual(
            [each["text"] for each in rude.told(server)], ["3 rows of a", "later rows of b"]
        )

    def test_what_a_trusted_tool_named_is_known_in_the_next_call(self):
        rules = [
            {"tool": "read_later", "action": "allow", "known": "results"},
            {"tool": "read_rows", "action": "allow", "when": "known(args.table)"},
        ]
        gate = Toolgate(service.new_key(rules)["key"], service.BASE_URL)
        rows = [("read_rows", {"table": "later", "limit": 1})]
        told = self.converse(self.tools(gate), [rows, [("read_later", {"table": "b"})], rows])
        self.assertEqual(self.desk.ran, [("read_later", "b"), ("read_rows", "later", 1)])
        for words, wanted in zip(told, ["Denied: ", "later rows of b", "1 rows of later"]):
            self.assertIn(wanted, words)

    def test_the_model_has_what_the_service_gives_back_of_a_result(self):
        canary, poison = ({"table": each} for each in ("canary", "poison"))
        calls = [[("read_rows", {**canary, "limit": 3})], [("read_later", canary)]]
        calls += [[("read_rows", {**poison, "limit": 3})], [("read_later", poison)]]
        with rude.Rude(rude.looking) as server:
            told = self.converse(self.tools(Toolgate("k", server.url)), calls)
        wanted = ["3 rows of [hidden: birds]", "later rows of [hidden: birds]"]
        for words, each in zip(told, [*wanted, "It is withheld.", "It is withheld."]):
            self.assertIn(each, words)
        self.assertNotIn("canary", "".join(told))
        self.assertEqual([each["text"] for each in rude.told(server)], wanted)

    def test_the_model_has_what_the_policy_lets_through(self):
        results = [
            {"tool": "*", "hide": "email"},
            {
                "tool": "read_later",
                "when": 'result.text.contains("later")',
                "withhold": True,
                "reason": "That is for people.",
            },
        ]
        key = service.new_key([{"tool": "*", "action": "allow"}], results=results)
        calls = [[("read_rows", {"table": "ann@example.com", "limit": 3})]]
        calls += [[("read_later", {"table": "ann@example.com"})]]
        told = self.converse(self.tools(Toolgate(key["key"], service.BASE_URL)), calls)
        for words, wanted in zip(told, ["3 rows of [hidden: email]", "That is for people."]):
            self.assertIn(wanted, words)
        self.assertNotIn("ann@example.com", "".join(told))

    def test_the_model_has_nothing_of_a_result_that_nobody_could_look_at(self):
        calls = [[("read_rows", {"table": "canary", "limit": 3})]]
        calls += [[("read_later", {"table": "canary"})]]
        failing = rude.but_looking(rude.problem(500, "internal"))
        with rude.Rude(failing) as server, self.assertLogs("toolgate", "WARNING") as logged:
            told = self.converse(self.tools(Toolgate("k", server.url, retries=0)), calls)
        for words in told:
            self.assertIn("its result is withheld: nobody could look at it (internal).", words)
        self.assertNotIn("canary", "".join([*told, *logged.output]))

    def test_what_a_tool_raises_is_looked_at_before_anybody_has_it(self):
        def read_wrong(table: str) -> str:
            """Cannot read."""
            raise ValueError(f"no {table}")

        with rude.Rude(rude.looking) as server:
            made = self.make([read_wrong])
            tools = self.guard_tools(made, server="db", gate=Toolgate("k", server.url))
            try:
                told = "".join(self.converse(tools, [[("read_wrong", {"table": "canary"})]]))
            except Exception as error:
                # Some frameworks end the run.
                told = "".join(traceback.format_exception(type(error), error, None))
        self.assertNotIn("canary", told)
        self.assertEqual(len(rude.looked_at(server)), 1)

    def reported(self, tool, *calls):
        """What is reported of these calls of one tool, all of them in one run."""
        with rude.Rude(rude.trusting) as server:
            made = self.guard_tools([tool], server="db", gate=Toolgate("k", server.url))
            self.converse(made, [[each] for each in calls])
        return [each.get("text", each.get("structured")) for each in rude.told(server)]

    def test_tools_that_cannot_be_guarded(self):
        for tool in self.unguardable():
            with self.assertRaises(toolgate.InvalidConfiguration, msg=repr(tool)) as raised:
                self.guard_tools([tool], server="db", gate=self.gate)
            self.assertIn("cannot be guarded", str(raised.exception))


class Recording(Toolgate):
    """Keeps the arguments that it asks about, also for coroutines."""

    def _run(self, ask, retries, deadline):
        self.seen.append(json.loads(ask.body)["args"])
        return super()._run(ask, retries, deadline)


def recording(gate):
    made = Recording("k")
    made._settings, made.seen = gate._settings, []
    return made


def require(name):
    """Ends with one plain line where the framework is not installed."""
    try:
        began = time.monotonic()
        importlib.import_module(name)
        print(f"{name} was imported in {time.monotonic() - began:.1f} s", flush=True)
    except ImportError as error:
        raise unittest.SkipTest(f"{name} is not installed: {error}") from None
