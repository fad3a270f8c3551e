"""The tools of the examples, as plain functions, what their scripted agent does with them, and where
the answers of people arrive. No model is called: put your own where an example has its script.
"""

import os

from toolgate import ApprovalListener


def get_issue(number: int) -> str:
    """Reads an issue."""
    return f"Issue {number}: the build is broken."


def delete_repo(name: str) -> str:
    """Deletes a repository."""
    return f"Deleted {name}."


async def create_issue(title: str) -> str:
    """Files an issue."""
    return f'Created "{title}".'


TOOLS = [get_issue, delete_repo, create_issue]

# One call per turn, as a model would make them.
SCRIPT = [
    ("get_issue", {"number": 1}),
    ("delete_repo", {"name": "archive"}),
    ("create_issue", {"title": "Mend the build"}),
]
DONE = "That is all."


def listen() -> ApprovalListener:
    """With this listener, a call that needs approval waits for its person."""
    listener = ApprovalListener(os.environ["TOOLGATE_WEBHOOK_SECRET"])
    listener.start(port=int(os.environ.get("PORT", "9000")))
    return listener
