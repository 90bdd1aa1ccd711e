"""Workflows in Python: ordinary functions that compile to the same documents as YAML.

@step(retries=3)
def fetch(day: str) -> list[int]: ...

@workflow
def report(day: str) -> int:
    return total(fetch(day))
"""
