"""A loop of one's own: ask, wait for a person where the policy wants one, then act."""

import os

from toolgate import ApprovalListener, ToolCallDenied, Toolgate

DESK = {
    "get_issue": lambda number: f"Issue {number}: the build is broken.",
    "delete_repo": lambda name: f"Deleted {name}.",
    "create_issue": lambda title: f'Created "{title}".',
}
SCRIPT = [
    ("get_issue", {"number": 1}),
    ("delete_repo", {"name": "archive"}),
    ("create_issue", {"title": "Mend the build"}),
]

gate = Toolgate()
listener = ApprovalListener(os.environ["TOOLGATE_WEBHOOK_SECRET"])
listener.start(port=int(os.environ.get("PORT", "9000")))

for name, args in SCRIPT:
    try:
        # Returns only when the call may proceed, and the allow is recorded. Whatever else happens is raised.
        gate.guard_and_wait("github", name, args, listener=listener, timeout=600)
        print(f"{name}: {DESK[name](**args)}", flush=True)
    except ToolCallDenied as error:
        print(f"{name}: Denied: {error}", flush=True)
print("That is all.")
listener.close()
