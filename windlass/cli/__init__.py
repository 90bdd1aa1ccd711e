"""The command line. Each command is a module of its own, and only the one that is called is imported."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Final

import click
from click.shell_completion import CompletionItem

from windlass import __version__
from windlass.cli.ending import ENDINGS, Ending, Exit
from windlass.cli.shared import sharing, wants_json
from windlass.core.errors import WindlassError

# Name → where the command is, and what it does. `--help` shows these lines without importing the commands.
COMMANDS: Final = {
    "up": ("windlass.cli.up:up", "Start an engine here, with a worker."),
    "node": ("windlass.cli.node:node", "Start a node of a cluster, with a worker."),
    "worker": ("windlass.cli.worker:worker", "Start a worker: it connects to a node, and runs tasks."),
    "apply": ("windlass.cli.apply:apply", "Save workflows: create them, or make their next version."),
    "run": ("windlass.cli.run:run", "Run a workflow, and watch it to its end."),
    "exec": ("windlass.cli.exec:exec_", "Run a program in a sandbox, as if it ran here."),
    "workflows": ("windlass.cli.workflows:workflows", "List the workflows."),
    "delete": ("windlass.cli.delete:delete", "Delete workflows; their runs go on and stay readable."),
    "validate": ("windlass.cli.validate:validate", "Check documents, and name every mistake with its place."),
    "schema": ("windlass.cli.schema:schema", "Print the JSON Schema of documents, for editors."),
    "graph": ("windlass.cli.graph:graph", "Draw the steps of a workflow, or how far a run is."),
    "runs": ("windlass.cli.runs:runs", "List runs, the newest first."),
    "show": ("windlass.cli.show:show", "Show one run and its steps."),
    "events": ("windlass.cli.events:events", "Show what happened in a run, event by event."),
    "logs": ("windlass.cli.logs:logs", "Show what the steps of a run print."),
    "explain": ("windlass.cli.explain:explain", "Say why a run is not moving, and what would help."),
    "cancel": ("windlass.cli.orders:cancel", "Cancel a run: its steps are stopped for real."),
    "pause": ("windlass.cli.orders:pause", "Pause a run: what runs goes on, nothing new starts."),
    "resume": ("windlass.cli.orders:resume", "Let a paused run go on."),
    "signal": ("windlass.cli.steering:signal", "Send a run what a step waits for."),
    "approve": ("windlass.cli.steering:approve", "Say yes to a step that waits for approval."),
    "reject": ("windlass.cli.steering:reject", "Say no to a step that waits for approval: it fails."),
    "rerun": ("windlass.cli.steering:rerun", "Run it once more, as a new run that shares what came before."),
    "release": ("windlass.cli.release:release", "Let a parked step be tried again."),
    "retry-stuck": ("windlass.cli.stuck:retry_stuck", "List what is stuck, or let it try again."),
    "schedule": ("windlass.cli.schedule:schedule", "Let workflows run by themselves, and see when they do."),
    "limits": ("windlass.cli.limits:limits", "Show limits across runs: who holds one, and who waits."),
    "cluster": ("windlass.cli.cluster:cluster", "Show the nodes, shards and load of a cluster, live."),
    "drain": ("windlass.cli.drain:drain", "Let a node hand everything over, and leave."),
    "workers": ("windlass.cli.workers:workers", "Show the workers, live with --watch, or order one about."),
    "assignment": ("windlass.cli.assignment:assignment", "Show or set how workers are chosen."),
    "placement": ("windlass.cli.placement:placement", "Say which workers could run a step, or why one did."),
    "token": ("windlass.cli.token:token", "Make, list and revoke tokens: who may come in."),
    "audit": ("windlass.cli.audit:audit", "Show who did what, the newest first."),
    "secret": ("windlass.cli.secret:secret", "Keep passwords and keys that steps use and nobody reads."),
    "webhook": (
        "windlass.cli.webhook:webhook",
        "Tell another program when runs fail, are stuck, or are well again.",
    ),
    "hook": ("windlass.cli.hook:hook", "Let programs outside start runs, or send them signals."),
    "backup": ("windlass.cli.backup:backup", "Copy the journal into FILE, also while an engine runs."),
    "restore": ("windlass.cli.restore:restore", "Make FILE, a backup, the journal of a data folder."),
    "doctor": ("windlass.cli.doctor:doctor", "Look for what could keep an engine from working here."),
    "completion": ("windlass.cli.completion:completion", "Print what makes a shell complete commands."),
    "version": ("windlass.cli.version:version", "Say which Windlass this is."),
}


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names without importing what they name: a shell asks at every press of the tab key."""
        found = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in found] + options

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except WindlassError as error:
            raise Ending.of(error, as_json=wants_json(ctx)) from error
        except (KeyboardInterrupt, click.Abort) as error:
            words = "interrupted"
            raise Ending(Exit.INTERRUPTED, words, kind=words, as_json=wants_json(ctx)) from error
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["traceback"]:
                raise
            advice = "this is a fault of Windlass; `windlass --traceback …` shows where"
            text = f"unexpected {type(error).__name__}: {error}; {advice}"
            raise Ending(Exit.FAILED, text, kind="fault", as_json=wants_json(ctx)) from error


EPILOG: Final = f"""\b
Examples:
  windlass up --examples               start here, with something to play with
  windlass run report.yaml -i day=5    save the document, run it, watch it
  windlass exec sum.py                 run a program in a sandbox
  windlass runs --status failed        what went wrong lately
  windlass runs --json | jq .          everything as JSON

\b
Exit codes:
{ENDINGS}
"""


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="windlass %(version)s")
@click.option("--traceback", is_flag=True, help="Show where an unexpected error comes from.")
@sharing(environment=True)
def main(traceback: bool) -> None:
    """Windlass runs workflows, and what was done stays done."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a sign gets another one instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
