"""Webhooks: only what is genuine, recent and readable is believed."""

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import time
import unittest
from types import SimpleNamespace
from urllib.parse import urlsplit

import toolgate
from toolgate import ApprovalListener, verify_webhook

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(32)).decode()

DATA = {
    "referenceId": "ref-1",
    "toolCallId": "call-1",
    "policyId": "policy-1",
    "keyId": "key-1",
    "sessionId": None,
    "surface": "check",
    "serverName": "prod",
    "toolName": "déploy ☕",
    "status": "approved",
    "reason": "Rule 0.",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "expiresAt": "2026-01-01T01:00:00.000Z",
    "resolvedAt": "2026-01-01T00:01:00.000Z",
    "resolvedBy": "link",
    "grantExpiresAt": None,
    "note": "Fine, for once.",
    "approverGroup": "finance",
    "votes": {"needed": 2, "approved": [{"by": "operator:ann@example.com", "at": "t"}]},
}


def event_text(kind="approval.resolved", **change):
    event = {"type": kind, "timestamp": DATA["createdAt"], "data": {**DATA, **change}}
    return json.dumps(event, ensure_ascii=False).encode()


def signed(body, secret=SECRET, at=None, ident="msg_1"):
    timestamp = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret[len("whsec_") :])
    mac = hmac.new(key, f"{ident}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": ident,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(mac).decode(),
    }


class VerifyTest(unittest.TestCase):
    def fault(self, headers, body, secret=SECRET, **options):
        try:
            verify_webhook(headers, body, secret, **options)
        except toolgate.ToolgateError as error:
            return error.code
        return "believed"

    def test_the_published_vector(self):
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        # Genuine, though no event of ours.
        fault = self.fault(headers, '{"test": 2432232314}', secret, now=1614265330)
        self.assertEqual(fault, "webhook_body")

    def test_believed_as_text_or_bytes_with_names_of_any_case(self):
        body = event_text()
        shouted = {name.upper(): value for name, value in signed(body).items()}
        for headers in (signed(body), shouted):
            for given in (body, body.decode()):
                event = verify_webhook(headers, given, SECRET)
                self.assertIsInstance(event, toolgate.ApprovalResolved)
                self.assertEqual(
                    (event.data.status, event.data.tool_name, event.data.note),
                    ("approved", "déploy ☕", "Fine, for once."),
                )
                self.assertEqual(event.data.approver_group, "finance")
                vote = toolgate.Vote("operator:ann@example.com", "t")
                self.assertEqual(event.data.votes, toolgate.Votes(2, (vote,)))

    def test_without_a_note_and_votes_from_an_older_service(self):
        newer = ("note", "approverGroup", "votes")
        older = {name: value for name, value in DATA.items() if name not in newer}
        event = {"type": "approval.resolved", "timestamp": DATA["createdAt"], "data": older}
        body = json.dumps(event).encode()
        data = verify_webhook(signed(body), body, SECRET).data
        self.assertEqual((data.note, data.approver_group, data.votes.needed), (None, None, 1))

    def test_under_any_of_several_secrets_and_signatures(self):
        body = event_text()
        self.assertEqual(self.fault(signed(body), body, [OTHER, SECRET]), "believed")
        headers = signed(body)
        foreign = signed(body, OTHER)["webhook-signature"]
        headers["webhook-signature"] = f"v1a,xyz {foreign} {headers['webhook-signature']}"
        self.assertEqual(self.fault(headers, body), "believed")

    def test_within_five_minutes_either_way(self):
        body, now = event_text(), 1_700_000_000
        for apart, want in ((300, "believed"), (301, "webhook_timestamp")):
            for at in (now - apart, now + apart):
                self.assertEqual(self.fault(signed(body, at=at), body, now=now), want)

    def test_not_believed(self):
        body = event_text()
        good = signed(body)
        v2 = good["webhook-signature"].replace("v1", "v2")
        for headers, text, want in (
            (good, body + b" ", "webhook_signature"),
            ({**good, "webhook-id": "msg_2"}, body, "webhook_signature"),
            (signed(body, OTHER), body, "webhook_signature"),
            ({**good, "webhook-signature": "v1,"}, body, "webhook_signature"),
            ({**good, "webhook-signature": v2}, body, "webhook_signature"),
            ({**good, "webhook-signature": ""}, body, "webhook_headers"),
            ({}, body, "webhook_headers"),
            ({**good, "webhook-timestamp": "now"}, body, "webhook_timestamp"),
            ({**good, "webhook-timestamp": "+1"}, body, "webhook_timestamp"),
            ({**good, "Webhook-Id": "msg_1"}, body, "webhook_headers"),
        ):
            with self.subTest(headers):
                self.assertEqual(self.fault(headers, text), want)

    def test_genuine_but_unreadable(self):
        for text, want in (
            (b"approved", "webhook_body"),
            (b"\xff", "webhook_body"),
            (b'{"type":"approval.resolved","timestamp":"t"}', "webhook_body"),
            (event_text(note=1), "webhook_body"),
            (event_text(votes={"needed": 1, "approved": {}}), "webhook_body"),
            (event_text(status="allowed"), "webhook_body"),
            (event_text(status="pending"), "webhook_body"),
            (event_text("approval.created"), "webhook_body"),
            (event_text("approval.more"), "webhook_unknown_event"),
            (event_text(referenceId=1), "webhook_body"),
        ):
            with self.subTest(text):
                self.assertEqual(self.fault(signed(text), text), want)

    def test_a_secret_that_is_none(self):
        for secret in ("", "whsec_", "whsec_!!!", "tg_key_abc", [], [SECRET, ""]):
            with self.subTest(secret):
                body = event_text()
                self.assertEqual(self.fault(signed(body), body, secret), "invalid_configuration")
                with self.assertRaises(toolgate.InvalidConfiguration):
                    ApprovalListener(secret)


class ListenerTest(unittest.TestCase):
    def post(self, listener, body, headers=None):
        return listener.handle(signed(body) if headers is None else headers, body)

    def test_each_delivery_is_answered_as_it_deserves(self):
        listener = ApprovalListener(SECRET)
        test = b'{"type":"webhook.test","timestamp":"t","data":{"webhookId":"w"}}'
        bodies = [event_text(), event_text(), test, event_text("approval.more"), b"nonsense"]
        statuses = [self.post(listener, body) for body in bodies]
        statuses.append(self.post(listener, event_text(), signed(b"another")))
        statuses.append(ApprovalListener().handle(signed(test), test))
        self.assertEqual(statuses, [204, 204, 204, 204, 400, 401, 503])

    def test_the_first_outcome_stands(self):
        listener = ApprovalListener(SECRET)
        self.post(listener, event_text(status="denied"))
        self.post(listener, event_text(status="approved"))
        self.assertEqual(listener.outcome("ref-1", 1).status, "denied")

    def test_a_forged_outcome_reaches_nobody_and_the_true_one_everybody(self):
        listener = ApprovalListener(SECRET)

        async def run():
            waiting = [asyncio.create_task(listener.outcome_async("ref-1", 20)) for _ in range(2)]
            await asyncio.sleep(0)
            forged = event_text()
            self.post(listener, forged, signed(forged, OTHER))
            self.post(listener, event_text(status="timed_out", resolvedBy=None))
            return [each.status for each in await asyncio.gather(*waiting)]

        self.assertEqual(asyncio.run(run()), ["timed_out", "timed_out"])

    def test_the_agent_took_its_call_back_before_anybody_answered(self):
        listener = ApprovalListener(SECRET)
        self.post(listener, event_text(status="withdrawn", resolvedBy=None, note=None))
        approval = listener.outcome("ref-1", 1)
        self.assertEqual(approval.status, "withdrawn")
        asked = SimpleNamespace(reason="somebody has to look", decision="pending")
        said = str(toolgate.ToolCallDenied(asked, approval))
        self.assertEqual(said, "The call was withdrawn before anybody answered.")

    def test_keeps_only_so_many_the_newest(self):
        listener = ApprovalListener(SECRET, remember=2)
        for reference in "abc":
            self.post(listener, event_text(referenceId=reference))
        self.assertEqual(listener.outcome("b", 1).reference_id, "b")
        self.assertEqual(listener.outcome("c", 1).reference_id, "c")
        with self.assertRaises(toolgate.CallTimedOut):
            listener.outcome("a", 0.02)
        self.assertEqual(listener._waiters, {})

    def test_a_wait_that_is_cancelled_leaves_nothing_behind(self):
        listener = ApprovalListener(SECRET)

        async def run():
            task = asyncio.create_task(listener.outcome_async("ref-1"))
            await asyncio.sleep(0)
            self.assertEqual(list(listener._waiters), ["ref-1"])
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        self.assertEqual(listener._waiters, {})

    def test_over_http(self):
        body = event_text()
        with ApprovalListener(SECRET) as listener:
            url = urlsplit(listener.start())

            def send(method, headers, text):
                connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
                try:
                    connection.request(method, "/", body=text, headers=headers)
                    return connection.getresponse().status
                finally:
                    connection.close()

            large = {"Content-Length": "2000000"}
            statuses = [
                send("POST", signed(body), body),
                send("POST", signed(body, OTHER), body),
                send("GET", {}, None),
                send("POST", large, None),
                send("POST", {"Content-Length": "-1"}, None),
            ]
            self.assertEqual(statuses, [204, 401, 501, 413, 411])
            self.assertEqual(listener.outcome("ref-1", 1).status, "approved")


if __name__ == "__main__":
    unittest.main()
