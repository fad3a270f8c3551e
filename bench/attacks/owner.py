"""What the owner of a suite's environment would put on a list, and what no policy may name because a task or an injection
names it."""

import re

# A word that could stand for one thing only: an address, an account, a number, a file.
TELLING = re.compile(r"\w\S*[@._/-]\S*\w|\w*\d\w*")
QUOTED = re.compile(r"(?<!\w)'([^']{2,80})'(?!\w)")


def lists(suite):
    """The owner's own contacts, payees, colleagues and channels, by the name that a policy asks for them with."""
    env = suite.load_and_inject_default_environment({})
    found = {}
    if hasattr(env, "inbox"):
        found["contacts"] = [contact.email for contact in env.inbox.contact_list]
    if hasattr(env, "bank_account"):
        account = env.bank_account
        paid = [each.recipient for each in account.transactions if each.sender == account.iban]
        found["payees"] = paid + [each.recipient for each in account.scheduled_transactions]
    if hasattr(env, "slack"):
        found["members"] = env.slack.users
        found["channels"] = env.slack.channels
    return {name: sorted(set(values)) for name, values in found.items()}


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from strings(each)


def values(suite):
    """Every value of a call of a task or a goal, what prompts and goals quote, and the telling words of all these."""
    env = suite.load_and_inject_default_environment({})
    found = set()
    for task in [*suite.user_tasks.values(), *suite.injection_tasks.values()]:
        said = getattr(task, "PROMPT", None) or task.GOAL
        found.update(QUOTED.findall(said))
        found.update(TELLING.findall(said))
        for call in task.ground_truth(env):
            for text in strings(dict(call.args)):
                found.add(text)
                found.update(TELLING.findall(text))
    tidy = {value.strip(" \t\n.,;:!?'\"()").casefold() for value in found}
    return {"values": sorted(value for value in tidy if len(value) > 1)}
