"""Stands between the worker and a task's processes, so that none of them outlives the task or the worker.

    worker ──socket (fd 0)── minder ──fork──▶ a shell command, or the warm Python child
                               ▲                   └──▶ whatever they start
                               └── orphans (double fork, setsid) become its children: it is a subreaper

A program of its own with one thread. It uses only the standard library, and little of that, so that it starts
fast and stays small: `python -I -S -c BOOTSTRAP folder`, which imports this package and nothing else of ours.
After every task, and at once on "kill", on the deadline and when the worker's socket ends, everything below
the minder is killed. Only an idle Python child that left nothing running stays, warm for the next task.

Frames are a length and a marshalled tuple; both ends run the same interpreter.
    in   (job, "shell" | "python", (argv, env, cwd, memory_bytes), text, timeout_s, keep_bytes, scratch,
          forward_bytes)
         (job, "kill")
    out  (job, "output", [(1 | 2, bytes), …], whether there was more)    while the job runs
         (job, "progress", details)    the same; of many, the last
         (job, how, code, answer, stdout bytes, end of stdout, stderr bytes, end of stderr)    at its end
where text is the program's stdin or the request for the Python child, scratch a folder to remove should the
worker die, and how is answered | missing | exited | signalled | timeout | killed | not_started. Of what the
job prints the ends are kept (keep_bytes each), and the beginning is sent on (forward_bytes of both).
"""

BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); import minder.loop; minder.loop.main()"

WORKER_FD = 0  # the minder's socket to the worker
REQUEST_FD, ANSWER_FD = 3, 4  # the Python child's pipes from and to the minder
KEEP, REPLACE, STALE, MISSING = b"K", b"R", b"S", b"M"  # how the Python child marks its answers,
PROGRESS = b"P"  # and what it says before
RECYCLE = 1000  # steps after which it is replaced: what it has gathered goes with it
