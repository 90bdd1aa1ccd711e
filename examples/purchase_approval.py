"""Somebody has to say yes before money is spent; small sums need nobody.

windlass up examples/purchase_approval.py
windlass run purchase -i item=winch -i price=900 --detach
windlass approve RUN ask --comment "well spent"
"""

from __future__ import annotations

from windlass import approval, sleep, step, workflow


@step
def buy(item: str, price: float) -> str:
    return f"bought {item} for {price:.2f}"


@step
def tell(item: str) -> str:
    return f"{item} should have arrived by now: is it any good?"


@workflow
def purchase(item: str, price: float) -> dict[str, str]:
    """Everything after `approval` waits for it, as everything after `sleep` waits for that."""
    approval(f"Buy {item} for {price}?", id="ask", when=price > 100, timeout="7d", on_timeout="reject")
    bought = buy(item, price)
    sleep("30d")
    return {"bought": bought, "followup": tell(item)}
