"""Workflows that start others: each child is a run of its own, with its own events, and can be looked at.

windlass up examples/child_workflows.py
windlass run onboarding -i name=Ada -i team=harbour
"""

from __future__ import annotations

from windlass import step, workflow


@step
def create_account(name: str) -> str:
    return name.lower()


@step
def grant(account: str, thing: str) -> str:
    return f"{account} may use {thing}"


@step
def greet(name: str, granted: list[str]) -> str:
    return f"Welcome, {name}: {'; '.join(granted)}."


@workflow
def access(account: str, team: str) -> list[str]:
    """Also useful by itself: `windlass run access -i account=ada -i team=harbour`."""
    return grant.map(["mail", "wiki", f"the rooms of {team}"], account=account)


@workflow
def onboarding(name: str, team: str) -> dict[str, object]:
    account = create_account(name)
    granted = access(account, team)
    return {"account": account, "letter": greet(name, granted)}
