"""What a tool returns, before a model has it: the policy hides a token and an address in one ticket, and
withholds the other. The tool knows nothing of it.
"""

from toolgate import ToolResultWithheld, guarded

TICKETS = [
    "ann@example.com cannot log in. She sent her token: acme_live_4f1c09a7d2b83e56.",
    "CONFIDENTIAL: the figures of the last quarter, which nobody may know before Friday.",
]


@guarded("desk", "read_ticket")
def read_ticket(number: int) -> str:
    return TICKETS[number]


for number in (0, 1):
    try:
        print(f"ticket {number}: {read_ticket(number)}")
    except ToolResultWithheld as withheld:
        print(f"ticket {number} is withheld: {withheld}")
