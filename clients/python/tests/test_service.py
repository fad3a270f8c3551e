"""Both clients against the running service: verdicts, sessions, the decorator, and a held call that
waits for its person and is freed exactly once.
"""

import asyncio
import os
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import toolgate
from toolgate import ApprovalListener, AsyncToolgate, Toolgate, guarded

from . import service

RULES = [
    {"tool": "read_*", "action": "allow"},
    {"tool": "drop_*", "action": "deny", "reason": "Never."},
    {"tool": "deploy", "action": "require_approval"},
]


@service.needs_service
class ServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.key = service.new_key(RULES)
        cls.gate = Toolgate(cls.key["key"], service.BASE_URL)
        cls.waiting_gate = AsyncToolgate(cls.key["key"], service.BASE_URL)


class VerdictTest(ServiceTest):
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


class SessionTest(ServiceTest):
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


class DecoratorTest(ServiceTest):
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


class WaitingTest(ServiceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.listener = ApprovalListener()
        url = cls.listener.start()
        made = service.admin("POST", "/webhooks", {"url": url, "keyId": cls.key["id"]})
        cls.listener.set_secret(made["secret"])
        cls.tried = service.admin("POST", f"/webhooks/{made['id']}/test")

    @classmethod
    def tearDownClass(cls):
        cls.listener.close()

    def wait(self, server, action, **more):
        """Guards a held call while a person, in another thread, decides."""
        failed = []

        def person():
            try:
                service.resolve(service.question(server), action, **more)
            except BaseException as error:
                failed.append(error)

        deciding = threading.Thread(target=person)
        deciding.start()
        try:
            return self.gate.guard_and_wait(
                server, "deploy", {"v": 1}, listener=self.listener, timeout=60
            )
        finally:
            deciding.join()
            self.assertEqual(failed, [])

    def test_the_operator_can_try_the_receiver(self):
        self.assertEqual(self.tried["status"], 204)

    def test_allowed_once_a_person_approves_exactly_once(self):
        server = service.new_name("once")
        verdict = self.wait(server, "approve")
        self.assertEqual(verdict.decision, "allow")
        entries = service.admin("GET", "/audit?limit=2")["entries"]
        self.assertEqual([each["decision"] for each in entries], ["allow", "pending"])
        reference_id = entries[0]["referenceId"]
        self.assertEqual(entries[0]["id"], verdict.tool_call_id)
        self.assertEqual(entries[1]["referenceId"], reference_id)
        with self.assertRaises(toolgate.ToolCallPending):
            self.gate.guard(server, "deploy", {"v": 1}, reference_id=reference_id)

    def test_allowed_by_an_approval_for_a_while(self):
        self.assertTrue(self.wait(service.new_name("lasting"), "approve", duration="5m"))

    def test_denied_by_the_person(self):
        with self.assertRaises(toolgate.ToolCallDenied) as raised:
            self.wait(service.new_name("denied"), "deny")
        self.assertEqual(raised.exception.approval.status, "denied")
        self.assertEqual(raised.exception.verdict.decision, "pending")
        self.assertIsNone(raised.exception.note)
        self.assertEqual(str(raised.exception), "The call was denied by admin.")

    def test_what_the_person_wrote_whatever_the_answer_was(self):
        with self.assertRaises(toolgate.ToolCallDenied) as raised:
            self.wait(service.new_name("noted"), "deny", note="Not on a Friday.")
        self.assertEqual(raised.exception.note, "Not on a Friday.")
        self.assertEqual(raised.exception.approval.note, "Not on a Friday.")
        self.assertEqual(
            str(raised.exception),
            'The call was denied by admin. The approver\'s note says: "Not on a Friday."',
        )
        verdict = self.wait(service.new_name("noted"), "approve", note="Watch the error rate.")
        self.assertEqual((verdict.decision, verdict.note), ("allow", "Watch the error rate."))

    def test_arguments_that_change_during_the_wait_are_not_freed(self):
        server, args = service.new_name("changed"), {"version": 1}

        def person():
            reference_id = service.question(server)
            args["version"] = 2
            service.resolve(reference_id, "approve", note="Version 1 is fine.")

        with ThreadPoolExecutor(1) as thread:
            deciding = thread.submit(person)
            with self.assertRaises(toolgate.ToolCallPending) as raised:
                self.gate.guard_and_wait(
                    server, "deploy", args, listener=self.listener, timeout=60
                )
            deciding.result(60)
        self.assertEqual(raised.exception.note, "Version 1 is fine.")
        self.assertIn("The approver's note says:", str(raised.exception))

    def test_still_pending_when_nobody_answers(self):
        server = service.new_name("slow")
        with self.assertRaises(toolgate.ToolCallPending) as raised:
            self.gate.guard_and_wait(server, "deploy", listener=self.listener, timeout=0.05)
        self.assertEqual(raised.exception.verdict.reference_id, service.question(server))
        self.assertIsNone(raised.exception.note)

    def test_with_coroutines(self):
        async def run(server, action, **more):
            waiting = asyncio.create_task(
                self.waiting_gate.guard_and_wait(
                    server, "deploy", {"v": 1}, listener=self.listener, timeout=60
                )
            )
            reference_id = await asyncio.to_thread(service.question, server)
            await asyncio.to_thread(service.resolve, reference_id, action, **more)
            return await waiting

        verdict = asyncio.run(run(service.new_name("async"), "approve", note="Fine."))
        self.assertEqual((verdict.decision, verdict.note), ("allow", "Fine."))
        with self.assertRaises(toolgate.ToolCallDenied) as raised:
            asyncio.run(run(service.new_name("async"), "deny", note="No."))
        self.assertEqual(raised.exception.note, "No.")

    def test_a_decorated_function_runs_behind_the_approval_and_only_then(self):
        ran = []
        server = service.new_name("wrapped")

        @self.gate.guarded(server, "deploy", listener=self.listener, timeout=60)
        def deploy(version):
            ran.append(version)

        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(deploy, 1)
            reference_id = service.question(server)
            self.assertEqual(ran, [])
            service.resolve(reference_id, "approve")
            running.result(60)
        self.assertEqual(ran, [1])


if __name__ == "__main__":
    unittest.main()
