"""What pictures show: workflows and runs in every state, made through the API like anybody's."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final
from urllib.request import Request, urlopen

from tests.waiting import wait_until
from windlass.sdk.client import Client

ETL: Final = """
id: nightly-report
name: Nightly report
description: Collects yesterday's orders, checks them, and sends a summary.
inputs:
  day: {type: string, default: "2026-01-31", description: Which day to report}
  limit: {type: integer, default: 100, min: 1, max: 1000}
steps:
  orders: {kind: shell, with: {argv: [sh, -c, 'echo "reading orders of the day"; echo 1200']}}
  stock: {kind: shell, with: {argv: [sh, -c, 'echo "reading stock"; echo 80']}}
  check: {kind: noop, needs: [orders, stock], with: {value: {rows: 1280, faulty: 0}}}
  summary: {kind: noop, needs: [check], with: {value: {total: 1280, currency: EUR}}}
  mail: {kind: shell, needs: [summary], with: {argv: [sh, -c, 'echo "sent to 3 readers"']}}
  archive: {kind: noop, needs: [summary], with: {value: archived}}
schedule: {cron: "0 2 * * *", timezone: Europe/Berlin}
"""
# One run of it shows nearly everything at once: an attempt that failed, items, a step at work, one that
# waits to be tried again, one that waits for a person, and those that wait for them.
ORDER: Final = """
id: fulfil-order
name: Fulfil an order
description: From the click to the parcel, with a person in between for large orders.
inputs:
  order: {type: integer, default: 4711}
  total: {type: number, default: 6200}
steps:
  validate: {kind: noop, with: {value: "order ${{ inputs.order }} is sound"}}
  score-fraud:
    kind: shell
    needs: [validate]
    retry: {attempts: 3, backoff: 1s}
    with:
      command: |
        echo "asking the scorer, attempt $WINDLASS_ATTEMPT"
        [ "$WINDLASS_ATTEMPT" -ge 2 ] || { echo "scorer: 503 Service Unavailable" >&2; exit 7; }
        echo "score 0.04"
  reserve:
    kind: map
    needs: [validate]
    with:
      over: [boots, socks, laces, polish, brush, bag, tree, sole]
      max_parallel: 3
      step: {kind: shell, with: {command: 'sleep 0.4; echo "reserved"'}}
  ask-manager:
    kind: approval
    needs: [score-fraud]
    with: {prompt: "Order ${{ inputs.order }} over 5,000 EUR: ship it?", timeout: 2d, on_timeout: reject}
  charge:
    kind: shell
    needs: [score-fraud]
    timeout: 3h
    with: {command: 'echo "charging 6,200.00 EUR"; echo "waiting for 3-D Secure"; sleep 7200'}
  book-carrier:
    kind: shell
    needs: [reserve]
    retry: {attempts: 5, backoff: 40m}
    with: {command: 'echo "booking a pickup"; sleep 1; echo "carrier: connection timed out" >&2; exit 4'}
  ship: {kind: noop, needs: [ask-manager, charge, book-carrier]}
  tell-customer: {kind: noop, needs: [ship]}
schedule: {cron: "*/30 8-18 * * mon-fri", timezone: Asia/Shanghai, overlap: skip}
"""
SYNC: Final = """
id: sync-stock
name: Sync stock
description: Reads the warehouse and writes the shop.
steps:
  read:
    kind: shell
    retry: {attempts: 3, backoff: 300ms}
    with: {command: '[ "$WINDLASS_ATTEMPT" -ge 2 ] || exit 9; echo "812 articles"'}
  write: {kind: noop, needs: [read], with: {value: {written: 812}}}
schedule: {every: 15m}
"""
FAILING: Final = """
id: import-orders
name: Import orders
steps:
  fetch: {kind: shell, with: {argv: [sh, -c, 'echo "connecting to the shop"; echo "timed out" >&2; exit 3']}}
  store: {kind: noop, needs: [fetch]}
"""
PARTLY: Final = """
id: clean-up
name: Clean up
steps:
  old: {kind: shell, on_failure: skip, with: {argv: [sh, -c, 'exit 1']}}
  rest: {kind: noop, needs: [old]}
"""
WAITING: Final = """
id: release
name: Release
steps:
  build: {kind: noop, with: {value: 1.4.2}}
  ask: {kind: approval, needs: [build], with: {prompt: Ship 1.4.2?, timeout: 2d}}
  ship: {kind: noop, needs: [ask]}
"""
LONG: Final = """
id: watch
name: Watch
steps:
  work: {kind: wait, with: {for: 6h}}
  tell: {kind: noop, needs: [work]}
"""
TRAIN: Final = """
id: train-model
name: Train the model
steps:
  features: {kind: noop, with: {value: 96 columns}}
  train: {kind: shell, needs: [features], requires: [gpu], with: {command: "sleep 600"}}
  publish: {kind: noop, needs: [train]}
"""
MANY: Final = """
id: resize-images
name: Resize images
steps:
  each:
    kind: map
    with:
      over: "${{ inputs.files }}"
      max_parallel: 20
      step: {kind: noop, with: {value: done}}
inputs:
  files: {type: list, required: true}
"""
WORKFLOWS: Final = {
    "nightly-report": ETL,
    "fulfil-order": ORDER,
    "sync-stock": SYNC,
    "import-orders": FAILING,
    "clean-up": PARTLY,
    "release": WAITING,
    "watch": LONG,
    "train-model": TRAIN,
    "resize-images": MANY,
}
RUNS: Final = (  # run, workflow, how it will be
    *((f"report-{day:02}", "nightly-report", "succeeded") for day in range(1, 9)),
    ("import-7", "import-orders", "failed"),
    ("import-8", "import-orders", "failed"),
    ("clean-3", "clean-up", "partial_success"),
    ("stock-31", "sync-stock", "succeeded"),
    ("release-1-4-2", "release", "running"),
    ("train-9", "train-model", "running"),
    ("watch-1", "watch", "running"),
    ("watch-2", "watch", "paused"),
    ("watch-3", "watch", "cancelled"),
    ("images-40", "resize-images", "succeeded"),
    ("order-4711", "fulfil-order", "running"),
)
PROGRAMS: Final = (
    ("python", "print(sum(n * n for n in range(10)))"),
    ("python", "import socket; socket.create_connection(('192.0.2.1', 80), 1)"),
    ("bash", "for n in 1 2 3; do echo line $n; done"),
)
TRAFFIC: Final = (  # what goes on while pictures are taken, again and again
    *("nightly-report", "sync-stock", "nightly-report", "sync-stock", "resize-images") * 2,
    *("nightly-report", "clean-up", "sync-stock", "nightly-report", "nightly-report", "sync-stock"),
    *("import-orders", "nightly-report", "sync-stock", "resize-images"),
)
EVERY_S: Final = 1.5
WITHIN_S: Final = 60.0


def seed(client: Client) -> None:
    for name, document in WORKFLOWS.items():
        client.apply(name, document.encode(), "application/yaml")
    client.apply(
        "nightly-report", ETL.replace("3 readers", "4 readers").encode(), "application/yaml"
    )  # so that there is a version to compare
    for run, workflow, wanted in RUNS:
        _start(client, workflow, run)
        match wanted:
            case "paused":
                client.order(run, "pause")
            case "cancelled":
                client.order(run, "cancel", reason="not needed any more")
    wait_until(lambda: all(client.run(run)["status"] == wanted for run, _, wanted in RUNS), WITHIN_S)
    wait_until(lambda: _order_is_everywhere(client), WITHIN_S)
    client.set_secret("SHOP_KEY", "not for pictures")
    client.set_secret("CARRIER_TOKEN", "not for pictures")
    client.create_token("read", name="dashboard")
    client.create_token("operator", name="night shift")


def seed_tasks(url: str) -> None:
    """Programs as the playground sends them: one that works, and one that a sandbox stops."""
    for language, code in PROGRAMS:
        body = json.dumps({"language": language, "code": code}).encode()
        ask = Request(f"{url}/api/v1/tasks?wait=20s", body, {"Content-Type": "application/json"})
        with urlopen(ask, timeout=60) as answer:
            answer.read()


@contextmanager
def traffic(client: Client) -> Iterator[None]:
    """Runs that come and go, so that charts have something to draw."""
    over = threading.Event()

    def go_on() -> None:
        for number in count(100):
            workflow = TRAFFIC[number % len(TRAFFIC)]
            _start(client, workflow, f"{workflow.partition('-')[0]}-{number}")
            if over.wait(EVERY_S * (0.4 + (number // 7) % 3 * 0.6)):  # now more, now fewer
                return

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _start(client: Client, workflow: str, run: str) -> None:
    files = {"files": [f"photo-{number}.jpg" for number in range(40)]}
    client.start(
        workflow,
        run_id=run,
        input=files if workflow == "resize-images" else None,
        labels={"team": "reports" if workflow == "nightly-report" else "ops"},
    )


def _order_is_everywhere(client: Client) -> bool:
    steps = {step["id"]: step for step in client.run("order-4711")["steps"]}
    return bool(
        steps["charge"]["status"] == "running"
        and steps["ask-manager"]["awaits"] is not None
        and steps["book-carrier"]["retryAt"] is not None
    )
