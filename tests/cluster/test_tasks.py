"""Code tasks in a cluster: any node takes them in, and they outlive the nodes that own and run them."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.asking import API, get, post
from tests.cluster.machines import a_cluster
from tests.waiting import wait_until
from windlass.core.task import Json

TASKS = 12
# Long enough to be killed in the middle of it.
SLOW = "echo begun; sleep 2; echo $((6 * 7))"


def asked(url: str, body: Json) -> Json:
    answer = post(url, f"{API}/tasks", body)
    return answer.body["data"] if answer.status == 200 else None


def test_tasks_outlive_the_node_that_owns_and_runs_them(tmp_path: Path) -> None:
    with a_cluster(tmp_path / "of-three", "a", "b", "c", env={"WINDLASS_NO_CODE": "false"}) as cluster:
        program = {"language": "bash", "code": SLOW}
        # Given tasks that came in at every node
        tasks: list[str] = []
        for machine in cluster.others():
            wait_until(lambda url=machine.url: asked(url, program) is not None, 60)  # type: ignore[misc]
        for n in range(TASKS):
            url = cluster["abc"[n % 3]].url
            tasks.append(asked(url, program)["taskId"])

        def at_work() -> bool:
            shown = [get(cluster["a"].url, f"{API}/tasks/{task}").body["data"] for task in tasks]
            return any(task["status"] == "executing" and task["assignedClient"] == "b" for task in shown)

        wait_until(at_work, 30)
        # When one of the nodes is killed while it runs some of them
        cluster["b"].kill()

        # Then all of them end, with their whole output, and whoever is asked knows
        def ended() -> bool:
            shown = [get(cluster["c"].url, f"{API}/tasks/{task}").body["data"] for task in tasks]
            return all(task["final"] for task in shown)

        wait_until(ended, 60)
        for task in tasks:
            told = get(cluster["a"].url, f"{API}/tasks/{task}").body["data"]
            assert (told["status"], told["result"]["output"]) == ("completed", "begun\n42\n"), told
