"""A held call that waits for its person, and is freed exactly once."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import toolgate
from toolgate import ApprovalListener

from . import service


class WaitingTest(service.ServiceTest):
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
