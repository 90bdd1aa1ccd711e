"""The rows of the table of routes that are about workers, and how they are chosen."""

from __future__ import annotations

from typing import Final

from windlass.gateway import fleet_shapes as shapes
from windlass.gateway import parameters
from windlass.gateway.choices import USUAL, Choices
from windlass.gateway.fleet import ORDERS, Fleet, Order
from windlass.gateway.placement import Placements
from windlass.gateway.routes import API, FOUND, RUN, SENT, Parameter, Route

AREA: Final = "Workers"
ONE: Final = f"{API}/workers/{{worker}}"
ASSIGNMENT: Final = f"{API}/assignment"
VITALS: Final = ("lastHeartbeat", "roundTripSeconds", "cpu", "memory")
DOES: Final[dict[Order, str]] = {
    "drain": "let it finish what it runs, and go",
    "pause": "give it no new tasks",
    "resume": "give it tasks again",
    "kick": "cut it off; what it runs is lost, and runs elsewhere",
}


def table(fleet: Fleet, placements: Placements) -> list[Route]:
    return [*_workers(fleet), *_assignment(fleet), _choices(Choices(fleet.node)), _placement(placements)]


def _workers(fleet: Fleet) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/workers",
            handler=fleet.index,
            name="listWorkers",
            live=True,
            passing=("asOf", *VITALS),
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
            live=True,
            passing=VITALS,
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
            live=True,
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


def _choices(choices: Choices) -> Route:
    return Route(
        method="GET",
        path=f"{ASSIGNMENT}/choices",
        handler=choices.read,
        name="listChoices",
        live=True,
        passing=("asOf",),
        needs="see",
        summary="to whom tasks were given lately, by what and why; ?workflow= &worker= &limit=",
        area=AREA,
        answers={200: shapes.AssignmentChoices},
        parameters=(
            Parameter("limit", parameters.Limit, f"at most so many; {USUAL} unless it is said"),
            Parameter("workflow", str, "only of its runs"),
            Parameter("worker", str, "only those it was chosen for"),
        ),
    )


def _placement(placements: Placements) -> Route:
    return Route(
        method="GET",
        path=f"{RUN}/steps/{{step}}/placement",
        handler=placements.read,
        name="readPlacement",
        live=True,
        needs="see",
        summary="who could have a step that waits, or why its worker had it",
        area="Runs",
        answers={200: shapes.Placement},
        errors=FOUND,
    )
