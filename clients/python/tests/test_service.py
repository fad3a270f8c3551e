"""Both clients against the running service: verdicts, sessions and the decorator."""

import asyncio
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import toolgate
from toolgate import AsyncToolgate, Toolgate, guarded

from . import service


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


class ResultTest(service.ServiceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        results = [
            {"tool": "read_*", "hide": ["email", {"pattern": "acme_[0-9]+", "as": "token"}]},
            {"tool": "read_secret", "withhold": True, "reason": "That is for people."},
        ]
        key = service.new_key([{"tool": "*", "action": "allow"}], results=results)
        cls.looking = Toolgate(key["key"], service.BASE_URL)

    def test_it_comes_back_with_what_is_to_be_hidden_hidden_or_not_at_all(self):
        verdict = self.looking.guard("db", "read_rows")
        found = {"rows": [{"to": "ann@example.com"}]}
        wanted = {"rows": [{"to": "[hidden: email]"}]}
        self.assertEqual(
            self.looking.guard_result(verdict, text("acme_42", structuredContent=found)),
            text("[hidden: token]", structuredContent=wanted),
        )
        waiting = AsyncToolgate.of(self.looking)
        verdict = asyncio.run(waiting.guard("db", "read_secret"))
        self.assertEqual(
            asyncio.run(waiting.guard_result(verdict, text("x"))),
            text("That is for people.", isError=True),
        )

    def test_it_is_looked_at_only_where_the_policy_has_a_say(self):
        self.assertFalse(self.looking.guard("db", "write").results)
        self.assertFalse(self.gate.guard("db", "read_rows").results)

    def test_that_of_another_key_is_not_looked_at(self):
        verdict = self.looking.guard("db", "read_rows")
        with self.assertRaises(toolgate.NotFound):
            self.gate.guard_result(verdict, text("acme_42"))

    def test_that_of_a_function_may_be_any_kind_of_value(self):
        for value, wanted in (
            (
                {"to": ["ann@example.com", None, 7, True]},
                {"to": ["[hidden: email]", None, 7, True]},
            ),
            (["ann@example.com"], ["[hidden: email]"]),
            (7.5, 7.5),
            (False, False),
            ("", ""),
            (None, None),
        ):
            given = self.looking.guarded("db", "read_rows")(lambda: value)
            self.assertEqual(given(), wanted)
        # Nothing can be hidden in a name.
        named = self.looking.guarded("db", "read_rows")(lambda: {"ann@example.com": 1})
        with self.assertRaises(toolgate.ToolResultWithheld):
            named()


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

    def test_the_same_check_with_the_same_idempotency_key_has_one_verdict(self):
        once = {"idempotency_key": str(uuid.uuid4())}
        verdict = self.gate.check("prod", "deploy", {}, **once)
        self.assertEqual(self.gate.check("prod", "deploy", {}, **once), verdict)
        again = asyncio.run(self.waiting_gate.check("prod", "deploy", {}, **once))
        self.assertEqual(again, verdict)
        with self.assertRaises(toolgate.InvalidRequest) as raised:
            self.gate.guard("prod", "deploy", {"other": 1}, **once)
        self.assertEqual(raised.exception.problem.code, "idempotency_conflict")

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


class KnownTest(service.ServiceTest):
    @classmethod
    def setUpClass(cls):
        send = {"tool": "send", "action": "allow", "when": "known(args.to)"}
        find = {"tool": "find", "action": "allow", "known": "results"}
        read = {
            "tool": "read",
            "action": "allow",
            "when": "args.customer == session.attributes.customer",
        }
        cls.key = service.new_key([send, find, read])

    def in_run(self, run):
        return Toolgate(self.key["key"], service.BASE_URL, run=run)

    def may(self, gate, to):
        return gate.check("mail", "send", {"to": to}).allowed

    def test_what_the_person_said_in_that_run(self):
        chat, other = self.in_run("said-1"), self.in_run("said-2")
        self.assertFalse(self.may(chat, "ann@example.com"))
        chat.told("Write to ann@example.com, please.")
        self.assertTrue(self.may(chat, "ann@example.com"))
        self.assertFalse(self.may(chat, "eve@example.com"))
        self.assertFalse(self.may(other, "ann@example.com"))
        asyncio.run(AsyncToolgate.of(other).told("Zoë: zoë@example.com"))
        self.assertTrue(self.may(other, "zoë@example.com"))
        with self.assertRaises(toolgate.InvalidRequest):
            chat.told("word " * 20_000)

    def test_what_a_trusted_tool_returned(self):
        chat = self.in_run("returned")

        @chat.guarded("contacts", "find", args=lambda give: {})
        def find(give):
            return give

        @chat.guarded("contacts", "find", args=lambda give: {})
        async def find_later(give):
            return give

        find("Ann, GB29 NWBK 6016")
        asyncio.run(find_later({"bob": [{"account": "DE02 1203", "id": 4711}]}))
        find(98.7)
        find({"error": "No account eve@example.com"})
        for to in ("GB29 NWBK 6016", "DE02 1203", 4711, "98.7", 98.7):
            with self.subTest(to=to):
                self.assertTrue(self.may(chat, to))
        self.assertFalse(self.may(chat, "eve@example.com"))

    def test_what_a_session_was_made_with_and_its_attributes(self):
        owner = Toolgate(self.key["key"], service.BASE_URL)
        attributes = {"customer": "c_17", "limits": {"eur": [50]}}
        made = owner.create_session(known=["GB29 NWBK 6016 1331 9268 19"], attributes=attributes)
        self.assertEqual(made.attributes, attributes)
        (listed,) = [each for each in owner.list_sessions() if each.id == made.id]
        self.assertEqual(listed.attributes, attributes)
        run = Toolgate(made.token, service.BASE_URL)
        self.assertTrue(self.may(run, "gb29nwbk60161331926819"))
        self.assertFalse(self.may(run, "DE02 1203"))
        self.assertTrue(run.check("db", "read", {"customer": "c_17"}))
        self.assertFalse(run.check("db", "read", {"customer": "c_18"}))
        with self.assertRaises(toolgate.InvalidRequest):
            owner.create_session(known=["x" * 513])


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
