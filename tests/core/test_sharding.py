"""An id's shard never changes: not with the process, the machine or the language that asks."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import sharding
from windlass.core.names import run_id

# Computed by Java: Math.abs((long) id.hashCode()) % 100.
VECTORS = {
    "workflow-1": 89,
    "test-workflow": 66,
    "wf_1763216624811": 76,
    "failover-workflow-1": 70,
    "datafusion-demo-workflow": 34,
    "polygenelubricants": 48,  # hashes to -2 ** 31, which has no positive twin in 32 bits
}
ASK = "import sys; from windlass.core import sharding; print([sharding.of(i, 100) for i in sys.argv[1:]])"


@pytest.mark.accepts("S0.46")
@pytest.mark.parametrize(("ident", "shard"), VECTORS.items())
def test_an_id_has_the_shard_that_java_gives_it(ident: str, shard: int) -> None:
    assert sharding.of(ident, 100) == shard


@pytest.mark.accepts("S0.46")
@pytest.mark.parametrize("seed", ["0", "4711"])
def test_an_id_has_the_same_shard_in_every_process(seed: str) -> None:
    command = [sys.executable, "-c", ASK, *VECTORS]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == str(list(VECTORS.values()))


@pytest.mark.accepts("S0.47")
@pytest.mark.parametrize("shards", [1, 2, 30, 100, 1000])
def test_n_shards_are_exactly_those_from_0_to_n_minus_1(shards: int) -> None:
    ids = [run_id(1_763_216_624 + i, chance=i * 0x9E3779B97F4A) for i in range(30 * shards)]
    assert {sharding.of(ident, shards) for ident in ids} == set(range(shards))


def test_units_beyond_ascii_count_as_java_counts_them() -> None:
    assert sharding.java_hash("ä") == 0xE4
    assert sharding.java_hash("工作流") == 31 * (31 * 0x5DE5 + 0x4F5C) + 0x6D41
    assert sharding.java_hash("😀") == 31 * 0xD83D + 0xDE00


def test_half_a_surrogate_pair_has_a_shard_too() -> None:
    assert sharding.java_hash("\ud83d") == 0xD83D


def test_the_lowest_hash_has_a_positive_size() -> None:
    assert sharding.java_hash("polygenelubricants") == -(2**31)
    assert sharding.hash32("polygenelubricants") == 2**31


@given(st.text(), st.integers(1, 10_000))
def test_any_text_has_a_shard_within_range(ident: str, shards: int) -> None:
    assert 0 <= sharding.of(ident, shards) < shards
    assert -(2**31) <= sharding.java_hash(ident) < 2**31
