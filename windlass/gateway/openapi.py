"""The description of the API (OpenAPI 3.1), made of the one table of routes and the types in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final

import msgspec

from windlass.core.roles import holders
from windlass.core.task import Json
from windlass.gateway import document_schema, graph_schema, parameters, shapes
from windlass.gateway.authority import COOKIE
from windlass.gateway.guard import KINDS
from windlass.gateway.routes import ERRORS, EventStream, Html, Parameter, Route, Text, WebSocket

Schema = dict[str, Json]

AREAS: Final = {
    "Workflows": "Save workflows, change them, see how they are doing.",
    "Executions": "Start runs of a workflow.",
    "Runs": "Find runs, follow them, stop them.",
    "Schedules": "When workflows run by themselves.",
    "Limits": "How many may be at work at once, or begin in a period, across runs.",
    "Tasks": "Run programs in a sandbox.",
    "History": "For clients of v0.4.",
    "Workers": "Programs that run the tasks.",
    "Cluster": "Who is in the cluster, where everything is, and what happened to it.",
    "Live": "What other paths answer, as it changes.",
    "Access": "Who may come in, and who did what.",
    "Secrets": "Values that steps use and nobody reads.",
    "Webhooks": "Whom to tell when runs fail, are stuck, or are well again.",
    "Hooks": "Webhooks that come in: programs outside start runs, or send them signals.",
    "Health": "Is it well? For people, load balancers and Prometheus.",
    "Reference": "This API, described; and the web page.",
}
ABOUT: Final = (
    "Windlass runs workflows; what was done stays done.\n\n"
    "Choose the `runId` yourself or send an `Idempotency-Key`, and the same request again starts nothing "
    "twice. What is yours alone is in a namespace: that of your token, or the one that the header "
    "`X-Windlass-Namespace` names. Errors have one shape, `Problem`: 503 may be repeated, 504 may have "
    "happened already."
)
TOKEN: Final = "Where there is a login. `windlass token create` makes one; a JWT, if the server takes them."
# By status: its name in the description, and what it means here.
FAULTS: Final = {
    400: ("BadRequest", "The body could not be read"),
    401: ("Unauthorized", "There is a login, and no token, or none that is good"),
    403: ("Forbidden", "A role or namespace that is not enough, a foreign host, a page of another origin"),
    404: ("NotFound", "Nobody has that id"),
    408: ("TooSlow", "The body did not arrive in time"),
    409: ("Conflict", "It makes no sense here; do not repeat it"),
    412: ("PreconditionFailed", "Another version is the newest"),
    413: ("TooLarge", "Too large; pass large data by reference"),
    415: ("UnsupportedType", "The body is of another type than JSON or YAML, or packed"),
    422: ("Invalid", "Every mistake of the request, with its place"),
    426: ("UpgradeRequired", "This door takes WebSockets only"),
    429: ("TooMany", "Too many, or too often; nothing was done"),
    500: ("InternalError", "A fault of Windlass"),
    503: ("Unavailable", "Nothing was done; the same request may succeed"),
    504: ("OutcomeUnknown", "It may have happened; asking again with the same id is safe"),
}
PATHS: Final = {
    "workflow": "The id of a workflow",
    "run": "The id of a run",
    "step": "The id of a step of it",
    "execution": "The id of a run",
    "task": "The id of a code task",
    "shard": "The number of a shard",
    "node": "The name of a node",
    "token": "The number of a token",
    "secret": "The name of a secret",
    "webhook": "The id of a webhook",
    "hook": "The name of a hook",
    "schedule": "The name of a schedule",
    "callback": "As it was told with the task",
    "page": "One of its pages, such as `runs`",
    "worker": "The name of a worker",
}
# What is no id of ours.
PATH_TYPES: Final[dict[str, object]] = {
    "shard": Annotated[int, msgspec.Meta(ge=0)],
    "node": Annotated[str, msgspec.Meta(min_length=1)],
    "step": Annotated[str, msgspec.Meta(min_length=1)],  # also those that are made: each[3]
    "worker": Annotated[str, msgspec.Meta(min_length=1)],
    "page": str,
}
PLAIN: Final = {Text: "text/plain", Html: "text/html", EventStream: "text/event-stream"}
WATCHED: Final = "May be watched by `GET /api/v1/live`."
SCHEMAS: Final = "#/components/schemas/{name}"

_PAGE: Final = re.compile(r"Page[_[](\w+?)[_\]](?!\w)")


def describe(routes: Iterable[Route], version: str) -> dict[str, Json]:
    """The same for the same table, down to the order of its keys."""
    table = list(routes)
    paths: dict[str, dict[str, Json]] = {}
    for route in table:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": version,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": about} for name, about in AREAS.items()],
        "paths": paths,
        "components": {
            "schemas": _schemas(table),
            "responses": {name: _fault(status) for status, (name, _) in FAULTS.items()},
            "headers": _HEADERS,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": TOKEN},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "After `login`."},
            },
        },
    }


def _operation(route: Route) -> Schema:
    operation: Schema = {
        "operationId": route.name,
        "tags": [route.area],
        # What can be asked for comes as parameters: only `GET /` names it here.
        "summary": _sentence(route.summary.partition("; ?")[0]),
    }
    if route.needs == "open":
        operation["security"] = []
    else:
        scope = ", of all namespaces" if route.spans or route.needs == "administer" else ""
        roles = " or ".join(holders(route.needs))
        operation["description"] = f"Where there is a login: for a token with the role {roles}{scope}."
        operation["security"] = [{}, {"token": []}, {"cookie": []}]
    if route.live:
        operation["description"] = " ".join(filter(None, [operation.get("description"), WATCHED]))
    given = [*_path_parameters(route.path), *map(_parameter, route.parameters)]
    if given:
        operation["parameters"] = given
    if route.body is not None:
        operation["requestBody"] = {
            # Without it, all that is optional is as it usually is.
            "required": any(field.required for field in msgspec.structs.fields(route.body)),  # type: ignore[arg-type]
            "content": {kind: {"schema": _schema(route.body)} for kind in _BODY_KINDS},
        }
    told = {status: _answer(route, status, kind) for status, kind in route.answers.items()}
    faults = {status: _refused(route, status) for status in _faults(route)}
    operation["responses"] = {str(status): (faults | told)[status] for status in sorted(faults | told)}
    return operation


def _path_parameters(path: str) -> list[Schema]:
    # Histories are told of whatever was asked for: nobody is refused there for an odd id.
    usual = Annotated[str, msgspec.Meta(min_length=1)] if path.startswith("/api/history") else parameters.Id
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATHS[name],
            "schema": _plain(PATH_TYPES.get(name, usual)),
        }
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _parameter(given: Parameter) -> Schema:
    return {
        "name": given.name,
        "in": "header" if given.header else "query",
        "required": False,
        "description": _sentence(given.about),
        "schema": _plain(given.type),
    }


def _answer(route: Route, status: int, kind: object) -> Schema:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    content: dict[str, Json] = {}
    if kind is WebSocket:
        return {"description": "A WebSocket"}
    typed = [_schema(one) for one in kinds if one not in PLAIN]
    if typed:
        content["application/json"] = {"schema": typed[0] if len(typed) == 1 else {"anyOf": typed}}
    for one in kinds:
        if one in PLAIN:
            content[PLAIN[one]] = {"schema": _EVENT if one is EventStream else {"type": "string"}}
    headers = ["X-Request-Id", "ETag"] if route.etag else ["X-Request-Id"]
    about = FAULTS[status][1] if status in FAULTS else "Created" if status == 201 else "Done"
    return {"description": about, "headers": _headers(headers), "content": content}


def _faults(route: Route) -> list[int]:
    """What can go wrong, beyond what the table says of its answers."""
    asks = bool(route.parameters or route.body)
    possible = {status for status in (*ERRORS, *route.errors) if status != 422 or asks}
    return sorted(possible - route.answers.keys())


def _refused(route: Route, status: int) -> Schema:
    if route.problem is None:
        return {"$ref": f"#/components/responses/{FAULTS[status][0]}"}
    return _fault(status, route.problem)


def _fault(status: int, problem: object = shapes.Problem) -> Schema:
    late = status in (429, 503)
    return {
        "description": FAULTS[status][1],
        "headers": _headers(["X-Request-Id", "Retry-After"] if late else ["X-Request-Id"]),
        "content": {"application/json": {"schema": _schema(problem)}},
    }


def _headers(names: list[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _schema(kind: object) -> Schema:
    if kind in _WRITTEN:
        return {"anyOf": [{"$ref": SCHEMAS.format(name=name)} for name in _WRITTEN[kind]]}
    (found,), _ = msgspec.json.schema_components([kind], ref_template=SCHEMAS)
    named: Schema = _renamed(found)
    return named


def _plain(kind: object) -> Schema:
    """Of a type that refers to no other."""
    return msgspec.json.schema(kind)


def _schemas(routes: list[Route]) -> dict[str, Schema]:
    answered = [part for route in routes for kind in route.answers.values() for part in _parts(kind)]
    answered += [route.problem for route in routes if route.problem is not None]
    kinds = [kind for kind in (shapes.Problem, *answered) if kind not in PLAIN and kind is not WebSocket]
    sent = [route.body for route in routes if route.body is not None and route.body not in _WRITTEN]
    _, made = msgspec.json.schema_components([*kinds, *sent], ref_template=SCHEMAS)
    written = document_schema.definitions(SCHEMAS.format(name="{}"), deep=False)
    document = written["WorkflowDocument"]
    # Whoever reads a workflow can send it back as it came.
    document["properties"] = {**document["properties"], **_ANSWERED}
    written["WorkflowChange"] = {**document, "required": ["steps"]}
    found = {_of_page(name): _renamed(schema) for name, schema in made.items()}
    assert not found.keys() & written.keys(), "two schemas of one name"
    found |= written | graph_schema.definitions(SCHEMAS.format(name="{}"))
    return {name: found[name] for name in sorted(found)}


def _parts(kind: object) -> tuple[object, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def _of_page(name: str) -> str:
    return _PAGE.sub(r"\1Page", name)


def _renamed(schema: Json) -> Json:
    """With pages called by what is on them, wherever one is referred to."""
    match schema:
        case dict():
            return {
                name: _of_page(value) if name in ("$ref", "title") else _renamed(value)
                for name, value in schema.items()
            }
        case list():
            return [_renamed(value) for value in schema]
        case _:
            return schema


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Those that a document's own schema describes, better than its type can.
_WRITTEN: Final[dict[object, tuple[str, str]]] = {
    shapes.Document: ("WorkflowDocument", "GraphDocument"),
    shapes.Change: ("WorkflowChange", "GraphChange"),
}
_ANSWERED: Final[dict[str, Schema]] = {
    "version": {"type": "integer", "description": "As answers have it; ignored"},
    "metadata": {"type": "object", "description": "As answers have it; ignored"},
}
# Of a stream, each event by itself.
_EVENT: Final[Schema] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Goes into `Last-Event-ID` or `after`"},
        "event": {"type": "string", "description": "What it is; after `end` nothing comes"},
        "data": {"type": "string", "description": "JSON"},
        "retry": {"type": "integer", "description": "Milliseconds to wait before coming again"},
    },
}
_BODY_KINDS: Final = ("application/json", "application/yaml")
_HEADERS: Final[dict[str, Schema]] = {
    "X-Request-Id": {
        "description": "Under which the log tells more; yours, if you sent one",
        "required": True,
        "schema": {"type": "string"},
    },
    "ETag": {
        "description": "The version, in quotes; goes into `If-Match`",
        "required": True,
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    },
    "Retry-After": {
        "description": "Seconds after which the same request may succeed",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
}
assert set(_BODY_KINDS) <= KINDS.keys()
