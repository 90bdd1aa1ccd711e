"""The rows of the table of routes that are about workers, and how they are chosen."""

from __future__ import annotations

from typing import Final

from windlass.gateway import fleet_shapes as shapes
from windlass.gateway.fleet import ORDERS, Fleet, Order
from windlass.gateway.placement import Placements
from windlass.gateway.routes import API, FOUND, RUN, SENT, Route

AREA: Final = "Workers"
ONE: Final = f"{API}/workers/{{worker}}"
ASSIGNMENT: Final = f"{API}/assignment"
DOES: Final[dict[Order, str]] = {
    "drain": "let it finish what it runs, and go",
    "pause": "give it no new tasks",
    "resume": "give it tasks again",
    "kick": "cut it off; what it runs is lost, and runs elsewhere",
}


def table(fleet: Fleet, placements: Placements) -> list[Route]:
    return [*_workers(fleet), *_assignment(fleet), _placement(placements)]


def _workers(fleet: Fleet) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/workers",
            handler=fleet.index,
            name="listWorkers",
            needs="see",
            summary="who runs tasks: state, load, what each offers, runs, and how well it does",
            area=AREA,
            answers={200: shapes.Workers},
        ),
        Route(
            method="GET",
            path=ONE,
            handler=fleet.read,
            name="readWorker",
            needs="see",
            summary="one worker",
            area=AREA,
            answers={200: shapes.Worker},
            errors=FOUND,
        ),
        *(
            Route(
                method="POST",
                path=f"{ONE}/{order}",
                handler=fleet.order(order),
                name=f"{order}Worker",
                needs="administer",
                summary=DOES[order],
                area=AREA,
                answers={200: shapes.Worker},
                errors=(404, 409, 504),
            )
            for order in ORDERS
        ),
    ]


def _assignment(fleet: Fleet) -> list[Route]:
    return [
        Route(
            method="GET",
            path=ASSIGNMENT,
            handler=fleet.assignment,
            name="readAssignment",
            needs="see",
            spans=True,
            summary="how workers are chosen, and what switched that lately",
            area=AREA,
            answers={200: shapes.Assignment},
        ),
        Route(
            method="PUT",
            path=ASSIGNMENT,
            handler=fleet.assign,
            name="setAssignment",
            needs="administer",
            summary="choose workers otherwise from now on, on all nodes",
            area=AREA,
            body=shapes.AssignmentAsked,
            answers={200: shapes.Assignment},
            errors=SENT,
        ),
        Route(
            method="DELETE",
            path=ASSIGNMENT,
            handler=fleet.reset,
            name="resetAssignment",
            needs="administer",
            summary="choose workers as it is configured",
            area=AREA,
            answers={200: shapes.Assignment},
        ),
    ]


def _placement(placements: Placements) -> Route:
    return Route(
        method="GET",
        path=f"{RUN}/steps/{{step}}/placement",
        handler=placements.read,
        name="readPlacement",
        needs="see",
        summary="who could have a step that waits, or why its worker had it",
        area="Runs",
        answers={200: shapes.Placement},
        errors=FOUND,
    )
