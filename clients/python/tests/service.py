"""The running service that the tests speak to: its address and admin token come from the
environment. Without them the tests that need it are skipped, and say so.
"""

import json
import os
import time
import unittest
import urllib.request
import uuid

from toolgate import AsyncToolgate, Toolgate

BASE_URL = os.environ.get("TOOLGATE_BASE_URL", "")
ADMIN_TOKEN = os.environ.get("TOOLGATE_ADMIN_TOKEN", "")

needs_service = unittest.skipUnless(
    BASE_URL and ADMIN_TOKEN, "no running service: set TOOLGATE_BASE_URL and TOOLGATE_ADMIN_TOKEN"
)


def admin(method, path, body=None):
    """One administrative call; the JSON that came back, or None."""
    request = urllib.request.Request(
        f"{BASE_URL}/admin/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read()
    return json.loads(text) if text else None


def new_key(rules, **more):
    """A policy of these rules, and what else it has, and a key attached to it."""
    policy = admin("POST", "/policies", {"name": f"policy-{uuid.uuid4()}", "rules": rules, **more})
    return admin("POST", "/keys", {"name": "python", "policyId": policy["id"]})


def until(what, reached, seconds=60):
    """Polls for a condition; its first true value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = reached()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"never happened within {seconds} seconds: {what}")


def new_name(start):
    """A server name that no other call has, so that its question can be told from others."""
    return f"{start}-{uuid.uuid4()}"


def question(server):
    """The reference of the open question about a call to this server."""

    def find():
        pending = admin("GET", "/approvals?status=pending")["approvals"]
        return next((each["referenceId"] for each in pending if each["serverName"] == server), None)

    return until("the question is open", find)


def resolve(reference_id, action, **more):
    admin("POST", f"/approvals/{reference_id}/resolve", {"action": action, **more})


RULES = [
    {"tool": "read_*", "action": "allow"},
    {"tool": "drop_*", "action": "deny", "reason": "Never."},
    {"tool": "deploy", "action": "require_approval"},
]


@needs_service
class ServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.key = new_key(RULES)
        cls.gate = Toolgate(cls.key["key"], BASE_URL)
        cls.waiting_gate = AsyncToolgate(cls.key["key"], BASE_URL)
