"""Both clients against the running service: verdicts, sessions and the decorator."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import toolgate
from toolgate import Toolgate, guarded

from . import service


class VerdictTest(service.ServiceTest):
    def test_an_allow_and_its_entry(self):
        verdict = self.gate.guard("db", "read_rows", {"table": "a"})
        self.assertEqual(verdict.decision, "allow")
        (entry,) = service.admin("GET", "/audit?limit=1")["entries"]
        self.assertEqual((entry["id"], entry["decision"]), (verdict.tool_call_id, "allow"))

    def test_check_returns_every_decision_and_only_an_allow_is_true(self):
        verdicts = [self.gate.check("db", tool) for tool in ("read_x", "drop_x", "deploy", "other")]
        self.assertEqual(
            [(each.decision, bool(each)) for each in verdicts],
            [("allow", True), ("deny", False), ("pending", False), ("deny", False)],
        )

    def test_a_denial_comes_with_its_verdict(self):
        with self.assertRaises(toolgate.ToolCallDenied) as raised:
            self.gate.guard("db", "drop_all")
        self.assertEqual(str(raised.exception), "Never.")
        self.assertEqual(raised.exception.verdict.decision, "deny")
        self.assertIsNone(raised.exception.approval)

    def test_a_held_call_comes_with_its_verdict(self):
        with self.assertRaises(toolgate.ToolCallPending) as raised:
            self.gate.guard("prod", "deploy")
        verdict = raised.exception.verdict
        self.assertTrue(verdict.reference_id and verdict.message and verdict.policy_id)

    def test_a_wrong_key(self):
        key = self.key["key"]
        other = key[:-1] + ("y" if key.endswith("x") else "x")
        for wrong in (other, "nonsense"):
            with self.assertRaises(toolgate.Unauthenticated):
                Toolgate(wrong, service.BASE_URL).guard("db", "read_x")

    def test_a_wrong_name_comes_back_with_its_place(self):
        with self.assertRaises(toolgate.InvalidRequest) as raised:
            self.gate.guard("a__b", "")
        places = [path for path, _ in raised.exception.problem.errors]
        self.assertEqual(places, ["/serverName", "/toolName"])

    def test_an_address_with_a_slash_and_one_with_a_wrong_path(self):
        self.assertTrue(Toolgate(self.key["key"], service.BASE_URL + "/").guard("db", "read_x"))
        with self.assertRaises(toolgate.NotFound):
            Toolgate(self.key["key"], service.BASE_URL + "/elsewhere").guard("db", "read_x")

    def test_many_at_once(self):
        async def run():
            calls = [self.waiting_gate.guard("db", "read_x", {"n": n}) for n in range(50)]
            return {each.tool_call_id for each in await asyncio.gather(*calls)}

        self.assertEqual(len(asyncio.run(run())), 50)
        with ThreadPoolExecutor(8) as threads:
            found = threads.map(lambda n: self.gate.guard("db", "read_x", {"n": n}), range(50))
            self.assertEqual(len({each.tool_call_id for each in found}), 50)


class SessionTest(service.ServiceTest):
    def test_made_listed_used_and_revoked(self):
        made = self.gate.create_session(label="run", ttl_minutes=5, scope_tools=["db__read_x"])
        self.assertTrue(made.token.startswith(made.prefix))
        self.assertNotIn(made.token, repr(made))
        (listed,) = [each for each in self.gate.list_sessions() if each.id == made.id]
        self.assertEqual((listed.label, listed.scope_tools), ("run", ["db__read_x"]))
        run = Toolgate(made.token, service.BASE_URL)
        self.assertTrue(run.guard("db", "read_x"))
        with self.assertRaises(toolgate.ToolCallDenied):
            run.guard("db", "read_y")
        with self.assertRaises(toolgate.Forbidden):
            run.create_session()
        self.gate.revoke_session(made.id)
        self.gate.revoke_session(made.id)
        with self.assertRaises(toolgate.Unauthenticated):
            run.guard("db", "read_x")

    def test_the_same_with_coroutines(self):
        async def run():
            made = await self.waiting_gate.create_session(scope_tools=[])
            listed = [each.id for each in await self.waiting_gate.list_sessions()]
            await self.waiting_gate.revoke_session(made.id)
            left = [each.id for each in await self.waiting_gate.list_sessions()]
            return made, made.id in listed, made.id in left

        made, before, after = asyncio.run(run())
        self.assertEqual((made.scope_tools, before, after), ([], True, False))

    def test_of_nobody(self):
        with self.assertRaises(toolgate.NotFound):
            self.gate.revoke_session("0190a0a0-0000-7000-8000-000000000001")
        with self.assertRaises(toolgate.InvalidRequest):
            self.gate.revoke_session("../check")


class DecoratorTest(service.ServiceTest):
    def test_a_function_gets_what_it_was_called_with(self):
        @self.gate.guarded("db", "read_x")
        def add(a, b=2, *rest, **named):
            """Adds."""
            return a + b + sum(rest) + sum(named.values())

        self.assertEqual(add(1, 2, 3, c=4), 10)
        self.assertEqual((add.__name__, add.__doc__), ("add", "Adds."))

    def test_a_method_and_a_coroutine_function(self):
        gate = self.gate

        class Box:
            @gate.guarded("db", "read_x")
            def plain(self, by):
                return by

            @gate.guarded("db", "read_x")
            async def waiting(self, by):
                return by

        self.assertEqual(Box().plain(by=3), 3)
        self.assertEqual(asyncio.run(Box().waiting(4)), 4)
        with self.assertRaises(toolgate.InvalidConfiguration):
            self.waiting_gate.guarded("db", "read_x")(lambda: 1)

    def test_nothing_runs_when_denied_held_or_unanswered(self):
        ran = []
        nobody = Toolgate("nonsense", service.BASE_URL)
        for gate, tool in ((self.gate, "drop_x"), (self.gate, "deploy"), (nobody, "read_x")):
            with self.assertRaises(toolgate.ToolgateError):
                gate.guarded("db", tool)(lambda: ran.append(1))()
        self.assertEqual(ran, [])

    def test_a_mapping_of_its_own(self):
        @self.gate.guarded("db", "read_x", args=lambda thing: {"name": str(thing)})
        def run(thing):
            return thing

        thing = object()
        self.assertIs(run(thing), thing)

    def test_arguments_that_changed_while_they_were_judged(self):
        ran = []
        call = {"path": "/tmp"}

        def args(target):
            before = dict(target)
            target["path"] = "/"
            return before

        with self.assertRaises(toolgate.InvalidRequest):
            self.gate.guarded("db", "read_x", args=args)(lambda target: ran.append(1))(call)
        self.assertEqual(ran, [])

    def test_the_client_of_the_environment(self):
        @guarded("db", "read_x")
        def run():
            return "ran"

        named = {"TOOLGATE_API_KEY": self.key["key"], "TOOLGATE_BASE_URL": service.BASE_URL}
        with mock.patch.dict(os.environ, named):
            self.assertEqual(run(), "ran")
