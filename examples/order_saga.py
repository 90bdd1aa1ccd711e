"""An order as a saga: when a later step fails, what the earlier ones did is taken back, last first.

windlass up examples/order_saga.py
windlass run order -i 'order={"id": "A-1", "item": "anchor", "count": 2, "price": 40, "address": "Harbour 7"}'
windlass run order -i 'order={"id": "A-2", "item": "anchor", "count": 2, "price": 40, "address": ""}'

The second one cannot be shipped: `windlass show RUN` has the steps undo:charge and undo:reserve.
"""

from __future__ import annotations

from dataclasses import dataclass

from windlass import step, workflow


@dataclass
class Order:
    id: str
    item: str
    count: int
    price: float
    address: str


class NoAddress(ValueError):
    pass


@step
def release(output: str) -> str:
    """`output` is what the step returned that is taken back."""
    return f"released {output}"


@step(undo=release)
def reserve(order: Order) -> str:
    return f"{order.count} x {order.item} for {order.id}"


@step(retries=5, backoff="1s")
def refund(order: Order, output: str) -> str:
    """A parameter named as one of the step's own gets the same value."""
    return f"gave {order.price * order.count:.2f} back on {output}"


@step(retries=3, backoff="1s", timeout="20s", undo=refund)
def charge(order: Order) -> str:
    return f"charge-{order.id}"


@step(not_on=[NoAddress], retries=2)
def ship(order: Order, charged: str) -> str:
    if not order.address:
        raise NoAddress(f"order {order.id}, paid by {charged}, has no address")
    return f"parcel to {order.address}"


@workflow
def order(order: Order) -> dict[str, str]:
    reserved = reserve(order)
    charged = charge.options(needs=[reserved])(order)
    return {"reserved": reserved, "charged": charged, "parcel": ship(order, charged)}
