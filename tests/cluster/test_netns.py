"""Cables that are pulled, where this machine lets us have networks of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
APART = ["unshare", "--net", "--mount", "--propagation", "private"]
TRY = "ip link add try type bridge && ip link add one type veth peer name other"


def why_not() -> str:
    """Why it cannot be done here; "" if it can."""
    if os.geteuid() != 0:
        return "network namespaces with mounts of their own need root"
    if not shutil.which("ip") or not shutil.which("unshare"):
        return "there is no ip or unshare here"
    tried = subprocess.run([*APART, "sh", "-c", TRY], capture_output=True, text=True)
    return f"no bridge can be made here: {tried.stderr.strip()}" if tried.returncode else ""


def test_the_cluster_survives_cables_that_are_pulled() -> None:
    if reason := why_not():
        pytest.skip(reason)
    played = subprocess.run(
        [*APART, sys.executable, "-m", "tests.cluster.netns"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert played.returncode == 0, played.stdout + played.stderr
