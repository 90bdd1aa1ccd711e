"""The rows of the table of routes that are about runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from windlass.core.vocabulary import RunStatus, StepStatus
from windlass.gateway import control_shapes, parameters, shapes
from windlass.gateway.batches import Batches
from windlass.gateway.explain import Explain
from windlass.gateway.logs import TAIL_MAX, Logs
from windlass.gateway.reruns import Reruns
from windlass.gateway.routes import (
    AFTER,
    API,
    FOUND,
    KEY,
    LAST_SEEN,
    LIMIT,
    OWNED,
    RUN,
    SENT,
    SEQ,
    SINCE,
    EventStream,
    Parameter,
    Route,
)
from windlass.gateway.runs import Runs
from windlass.gateway.signals import Signals
from windlass.gateway.steps import Steps
from windlass.gateway.stream import Streams
from windlass.gateway.stuck import Stuck


@dataclass(frozen=True, slots=True)
class RunHandlers:
    runs: Runs
    batches: Batches
    streams: Streams
    logs: Logs
    explain: Explain
    stuck: Stuck
    reruns: Reruns


def table(to: RunHandlers) -> list[Route]:
    return [replace(route, area="Runs") for route in (*_runs(to), *_one_run(to), *_steering(to))]


def _runs(to: RunHandlers) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/runs",
            handler=to.runs.index,
            name="listRuns",
            live=True,
            needs="see",
            summary="runs; ?search= &workflow= &status= &label=name=value &waitingFor= &startedAfter= "
            "&startedBefore= &after=",
            answers={200: shapes.Page[shapes.RunItem]},
            parameters=(
                Parameter("search", parameters.Search, parameters.SEARCHED),
                Parameter("workflow", str, "of this one"),
                Parameter("status", RunStatus, "in this one"),
                Parameter("label", parameters.Label, "with this one, as name=value"),
                Parameter("waitingFor", parameters.WaitingFor, "that wait for this from outside"),
                Parameter("startedAfter", str, SINCE),
                Parameter("startedBefore", str, SINCE),
                LIMIT,
                AFTER,
            ),
        ),
        Route(
            method="POST",
            path=f"{API}/runs:batch",
            handler=to.batches.start,
            name="startRuns",
            needs="start",
            summary="start up to 1000 runs at once",
            body=shapes.BatchRequest,
            answers={200: shapes.Batch},
            errors=SENT,
        ),
        Route(
            method="GET",
            path=f"{API}/stuck",
            handler=to.stuck.index,
            name="listStuck",
            live=True,
            needs="see",
            summary="what was set aside and waits to be freed",
            answers={200: shapes.Page[shapes.StuckItem]},
        ),
    ]


def _one_run(to: RunHandlers) -> list[Route]:
    runs = to.runs
    return [
        Route(
            method="GET",
            path=RUN,
            handler=runs.read,
            name="getRun",
            live=True,
            needs="see",
            summary="one run with its steps",
            answers={200: shapes.Run},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{RUN}/events",
            handler=runs.events,
            name="listEvents",
            needs="see",
            summary="what happened to it; ?step= &after=seq &limit=",
            answers={200: shapes.Events},
            errors=FOUND,
            parameters=(Parameter("step", str, "only what names this one"), SEQ, LIMIT),
        ),
        Route(
            method="GET",
            path=f"{RUN}/stream",
            handler=to.streams.stream,
            name="streamEvents",
            needs="see",
            summary="what happens to it, as it happens (server-sent events)",
            answers={200: EventStream},
            errors=(404, 429),
            parameters=(SEQ, LAST_SEEN),
            head=False,
        ),
        Route(
            method="GET",
            path=f"{RUN}/logs",
            handler=to.logs.read,
            name="readLogs",
            needs="see",
            summary="what its steps printed; ?step= &tail= &follow=true",
            answers={200: (shapes.Page[shapes.LogLine], EventStream)},
            errors=(404, 429),
            parameters=(
                Parameter("step", str, "only this one's"),
                Parameter("tail", Annotated[int, Meta(ge=1, le=TAIL_MAX)], "the last so many"),
                Parameter("follow", bool, "as server-sent events, until the run has ended"),
                Parameter("after", parameters.Number, "only lines after this number"),
                LAST_SEEN,
                LIMIT,
            ),
        ),
        Route(
            method="GET",
            path=f"{RUN}/explain",
            handler=to.explain.explain,
            name="explainRun",
            live=True,
            passing=("sentence", "detail", "leftS"),  # they count down
            needs="see",
            summary="why it is not moving",
            answers={200: shapes.Explanation},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{RUN}/steps",
            handler=Steps(runs.node).index,
            name="listSteps",
            live=True,
            needs="see",
            summary="its steps, page by page; ?of=step &status= &after=",
            answers={200: shapes.Page[shapes.Step]},
            errors=FOUND,
            parameters=(
                Parameter("of", str, "made for the items or turns of this one, or to undo it"),
                Parameter("status", StepStatus, "in this one"),
                Parameter("after", parameters.Number, "what `next` of the page before said"),
                LIMIT,
            ),
        ),
        Route(
            method="GET",
            path=f"{RUN}/steps/{{step}}",
            handler=Steps(runs.node).read,
            name="getStep",
            live=True,
            needs="see",
            summary="one of its steps, also of those that are left out of the run",
            answers={200: shapes.Step},
            errors=FOUND,
        ),
    ]


def _steering(to: RunHandlers) -> list[Route]:
    runs, steps = to.runs, Steps(to.runs.node)
    return [
        Route(
            method="POST",
            path=f"{RUN}/cancel",
            handler=runs.cancel,
            name="cancelRun",
            needs="operate",
            summary="stop it for good",
            body=shapes.Cancel,
            answers={200: shapes.Ordered},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        Route(
            method="POST",
            path=f"{RUN}/signal",
            handler=Signals(runs.node).send,
            name="signalRun",
            needs="operate",
            summary="send it what a step waits for, or will wait for",
            body=control_shapes.Signal,
            answers={200: shapes.Ordered},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        Route(
            method="POST",
            path=f"{RUN}/rerun",
            handler=to.reruns.rerun,
            name="rerunRun",
            needs="operate",  # it may say what came of a step: of an approval, for one
            summary="run it once more, from any step, as a new run that shares what came before",
            body=control_shapes.Rerun,
            answers={200: control_shapes.Reran},
            errors=(*SENT, *OWNED),
            parameters=(KEY,),
        ),
        *(
            Route(
                method="POST",
                path=f"{RUN}/steps/{{step}}/{word}",
                handler=handler,
                name=f"{word}Step",
                needs="operate",
                summary=f"{says} a step that waits for approval",
                body=control_shapes.Decision,
                answers={200: shapes.Step},
                errors=(*SENT, *OWNED),
                parameters=(KEY,),
            )
            for word, handler, says in (
                ("approve", steps.approve, "say yes to"),
                ("reject", steps.reject, "say no to"),
            )
        ),
        Route(
            method="POST",
            path=f"{RUN}/steps/{{step}}/release",
            handler=steps.release,
            name="releaseStep",
            needs="operate",
            summary="try a parked step again",
            answers={200: shapes.Step},
            errors=OWNED,
            parameters=(KEY,),
        ),
        *(
            Route(
                method="POST",
                path=f"{RUN}/{order}",
                handler=handler,
                name=name,
                needs="operate",
                summary=summary,
                answers={200: shapes.Ordered},
                errors=OWNED,
                parameters=(KEY,),
            )
            for order, handler, name, summary in (
                ("pause", runs.pause, "pauseRun", "begin no further step"),
                ("resume", runs.resume, "resumeRun", "go on after a pause"),
                ("retry-stuck", to.stuck.retry_run, "retryStuckRun", "free it after it was set aside"),
            )
        ),
    ]
