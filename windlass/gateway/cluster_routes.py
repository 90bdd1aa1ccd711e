"""The rows of the table of routes that are about the cluster."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from windlass.gateway import cluster_shapes as shapes
from windlass.gateway import parameters
from windlass.gateway.cluster import Cluster
from windlass.gateway.figures import Figures
from windlass.gateway.routes import API, FOUND, Parameter, Route, Text
from windlass.leases import EventType

AREA: Final = "Cluster"
CLUSTER: Final = f"{API}/cluster"


def table(cluster: Cluster) -> list[Route]:
    return [*_whole(cluster), *_parts(cluster), *_figures(Figures(cluster.node))]


def _whole(cluster: Cluster) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{CLUSTER}/stats",
            handler=cluster.stats,
            name="getClusterStats",
            live=True,
            passing=("asOf",),
            needs="see",
            spans=True,
            summary="members, shards and entities of the whole cluster",
            area=AREA,
            answers={200: shapes.ClusterStats},
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/nodes",
            handler=cluster.nodes,
            name="listNodes",
            live=True,
            passing=("asOf", "beatAgeSeconds", "cpu", "memory", "memoryBytes"),
            needs="see",
            spans=True,
            summary="who is in it, what each owns, and how busy it is",
            area=AREA,
            answers={200: shapes.ClusterNodes},
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/shards",
            handler=cluster.shards,
            name="listShards",
            live=True,
            passing=("asOf", "lastUpdated"),
            needs="see",
            spans=True,
            summary="where each shard is, and how much lives in it",
            area=AREA,
            answers={200: shapes.ClusterShards},
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/events",
            handler=cluster.events,
            name="listClusterEvents",
            live=True,
            needs="see",
            spans=True,
            summary="what happened to it, newest first; ?type= &limit= &before=",
            area=AREA,
            answers={200: shapes.ClusterEvents},
            parameters=(
                Parameter("type", EventType, "only these"),
                Parameter("limit", parameters.Limit, "at most so many; 100 unless it is said"),
                Parameter(
                    "before",
                    Annotated[int, Meta(ge=1, le=parameters.NUMBER_MAX)],
                    "what `next` of the page before said",
                ),
            ),
        ),
        Route(
            method="GET",
            path="/monitoring/cluster/status",
            handler=cluster.status,
            name="getClusterStatus",
            needs="see",
            spans=True,
            summary="the cluster in a few lines",
            area=AREA,
            answers={200: Text},
        ),
    ]


def _parts(cluster: Cluster) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{CLUSTER}/shards/{{shard}}",
            handler=cluster.shard,
            name="getShard",
            live=True,
            passing=("asOf", "lastUpdated"),
            needs="see",
            spans=True,
            summary="one shard, and the first of what lives in it; ?limit=",
            area=AREA,
            answers={200: shapes.ShardDetail},
            errors=FOUND,
            parameters=(
                Parameter("limit", parameters.Limit, "list at most so many entities; 100 unless it is said"),
            ),
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/workflow/{{workflow}}/location",
            handler=cluster.workflow_location,
            name="locateWorkflow",
            live=True,
            passing=("asOf",),
            needs="see",
            summary="which node has a workflow",
            area=AREA,
            answers={200: shapes.WorkflowLocation},
            errors=FOUND,
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/run/{{run}}/location",
            handler=cluster.run_location,
            name="locateRun",
            live=True,
            passing=("asOf",),
            needs="see",
            summary="which node has a run",
            area=AREA,
            answers={200: shapes.RunLocation},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{CLUSTER}/nodes/{{node}}/drain",
            handler=cluster.drain,
            name="drainNode",
            needs="administer",
            summary="let a node hand over everything it owns",
            area=AREA,
            answers={202: shapes.Draining},
            errors=(404, 409, 504),
        ),
    ]


def _figures(figures: Figures) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{CLUSTER}/figures",
            handler=figures.read,
            name="getNodeFigures",
            live=True,
            passing=("asOf",),
            needs="see",
            spans=True,
            summary="journal, commits and tasks of the node that answers, since it started",
            area=AREA,
            answers={200: shapes.NodeFigures},
        ),
        Route(
            method="GET",
            path=f"{CLUSTER}/figures/all",
            handler=figures.all,
            name="listNodeFigures",
            live=True,
            passing=("asOf",),
            needs="see",
            spans=True,
            summary="the same of every node, each asked for its own",
            area=AREA,
            answers={200: shapes.ClusterFigures},
        ),
    ]
