"""A sandbox that protects from nothing, for tests of what is around it: plain processes in a folder.

Wall time, output and files are as the port has them. It counts what it ran.
"""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from windlass.worker.link import Printing
from windlass.worker.sandbox import Job, Protections, Ran


class PlainSandbox:
    name = "plain"
    protections = Protections(environment=True)

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    async def run(self, job: Job, printing: Printing | None = None) -> Ran:
        self.jobs.append(job)
        folder = Path(tempfile.mkdtemp(prefix="windlass-test-"))
        work = job.keep or folder
        try:
            for name, content in job.files.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_bytes(content)
            return await _run(job, work, printing)
        finally:
            shutil.rmtree(folder)


async def _run(job: Job, work: Path, printing: Printing | None) -> Ran:
    began = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *job.argv,
            cwd=work,
            env=dict(job.env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Ran("not_started", detail=str(error))
    assert process.stdin and process.stdout and process.stderr
    kept: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
    too_much = False

    async def listen(stream: asyncio.StreamReader, number: int) -> None:
        nonlocal too_much
        while piece := await stream.read(65_536):
            room = job.limits.output_bytes - len(kept[number])
            kept[number] += piece[:room]
            if printing is not None:
                printing([(number, piece[:room])], len(piece) > room)
            if len(piece) > room:
                too_much = True
                os.killpg(process.pid, signal.SIGKILL)
                return

    async def speak(stdin: asyncio.StreamWriter) -> None:
        stdin.write(job.stdin)
        stdin.close()

    timed_out = False
    try:
        async with asyncio.timeout(job.limits.wall_s):
            await asyncio.gather(listen(process.stdout, 1), listen(process.stderr, 2), speak(process.stdin))
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = await process.wait()
    found = {name: (work / name).read_bytes() for name in job.wanted if (work / name).is_file()}
    how = "timeout" if timed_out else "output" if too_much else "signalled" if code < 0 else "exited"
    return Ran(
        how,  # type: ignore[arg-type]  # one of them
        code=abs(code),
        stdout=bytes(kept[1]),
        stderr=bytes(kept[2]),
        stdout_bytes=len(kept[1]) + too_much,
        stderr_bytes=len(kept[2]),
        wall_s=time.monotonic() - began,
        files=found,
        protections=PlainSandbox.protections,
    )
