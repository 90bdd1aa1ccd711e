"""A client of v0.4: it reads answers as strictly as the real ones do. Fields it does not know it ignores."""

from typing import TypeVar

import msgspec

from tests.gateway.house import House
from windlass.core.task import Json

T = TypeVar("T")
API = "/api/v1/workflows"


class Shape(msgspec.Struct, rename="camel"):
    """All fields without a default have to be there."""


class Position(Shape):
    x: float
    y: float


class Node(Shape):
    id: str
    type: str
    node_type: str
    label: str
    position: Position
    config: dict[str, Json]
    style: dict[str, Json] | None = None


class Edge(Shape):
    id: str
    source: str
    target: str
    source_handle: str | None = None
    target_handle: str | None = None
    animated: bool | None = None
    label: str | None = None
    style: dict[str, Json] | None = None


class Schedule(Shape):
    enabled: bool
    schedule_type: str
    interval: str | None = None
    cron_expression: str | None = None


class Metadata(Shape):
    created_at: str
    updated_at: str
    schedule: Schedule | None = None


class Workflow(Shape):
    id: str
    name: str
    description: str
    version: str
    author: str
    tags: list[str]
    nodes: list[Node]
    edges: list[Edge]
    metadata: Metadata


class Created(Shape):
    message: str
    workflow_id: str
    schedule_status: str


class Said(Shape):
    message: str
    workflow_id: str


class Refused(Shape):
    error: str
    workflow_id: str


class Started(Shape):
    message: str
    execution_id: str
    workflow_id: str
    status: str
    start_time: str


class StartedEs(Shape):
    message: str
    execution_id: str
    workflow_id: str
    status: str
    note: str


class Execution(Shape):
    execution_id: str
    status: str
    start_time: int
    end_time: int | None


class Status(Shape):
    workflow_id: str
    state: str
    execution_count: int
    current_execution: Execution | None
    last_execution: Execution | None


class Listed(Shape):
    execution_id: str
    status: str
    start_time: str
    end_time: str | None
    logs_count: int


class Logs(Shape):
    execution_id: str
    logs: list[str]


class NodeExecution(Shape):
    node_id: str
    node_type: str
    start_time: int
    status: str
    records_processed: int
    end_time: int | None = None
    duration: int | None = None
    error: str | None = None


class Detail(Shape):
    execution_id: str
    workflow_name: str
    start_time: int
    status: str
    nodes: list[NodeExecution]
    end_time: int | None = None
    duration: int | None = None


class History(Shape):
    workflow_id: str
    executions: list[Detail]


class HistoryStatus(Shape):
    workflow_id: str
    state: str
    all_executions: list[Json]


class Timeline(Shape):
    execution_id: str
    start_time: int
    end_time: int | None
    duration: int | None
    nodes: list[NodeExecution]


class Config(Shape):
    type: str
    label: str
    required: bool | None = None
    default: Json = None


class NodeType(Shape):
    type: str
    display_name: str
    icon: str
    category: str
    description: str
    config: dict[str, Config]


class NodeTypes(Shape):
    source: list[NodeType]
    transform: list[NodeType]
    sink: list[NodeType]


class OldClient:
    def __init__(self, home: House) -> None:
        self._home = home

    async def ask(self, method: str, path: str, kind: type[T], status: int = 200, body: Json = None) -> T:
        """What is answered, if it is of that kind."""
        answer = await self._home.ask(method, path, body)
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.text}"
        return msgspec.convert(answer.json, kind, strict=True)
