"""A row whose write was acknowledged outlives the process that wrote it, whenever that is killed."""

import random
import signal
import subprocess
import sys
import time

import pytest

from navi.features.lmdb_store import LmdbStore
from navi.features.schema import FeatureSchema, Field

SCHEMA = FeatureSchema({"step": Field(dtype="int64"), "seen": Field(dtype="int64", max_length=600)})

WRITER = """
import sys
from itertools import count
from pathlib import Path
from navi.features.lmdb_store import LmdbStore
from navi.features.schema import FeatureSchema, Field

schema = FeatureSchema({"step": Field(dtype="int64"), "seen": Field(dtype="int64", max_length=600)})
store = LmdbStore.open(Path(sys.argv[1]), schema, map_size=1 << 17)
for step in count(store.count() // 2):
    store.put_many([2 * step, 2 * step + 1], [{"step": step, "seen": range(600)}, {"step": step}])
    store.put_many([0], [{"seen": [step]}], "append")
    print(step, store.generation(), flush=True)
"""


def write_until_killed(path, acknowledgements):
    """The last step that a writer acknowledged before it was killed in the middle of its work, and its generation."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    lines = [writer.stdout.readline() for _ in range(acknowledgements)]
    time.sleep(random.Random(acknowledgements).uniform(0, 0.02))  # not always at the same point of the next write
    writer.send_signal(signal.SIGKILL)
    lines += [line for line in writer.stdout if line.endswith("\n")]
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()
    return [int(number) for number in lines[-1].split()]


@pytest.mark.parametrize("read_only", [False, True])
def test_every_acknowledged_row_outlives_a_kill(tmp_path, read_only):
    for acknowledgements in (1, 7, 25):
        last, generation = write_until_killed(tmp_path / "users", acknowledgements)
        store = LmdbStore.open(tmp_path / "users", SCHEMA, read_only=read_only)
        keys = range(2 * last + 2)
        assert [row["step"].item() for row in store.get_many(keys)] == [key // 2 for key in keys]
        assert last in store.get_many([0])[0]["seen"].tolist()
        assert generation <= store.generation() <= generation + 2
        assert store.count() in (2 * last + 2, 2 * last + 4)  # both rows of a call are there, or neither
        store.close()


def test_a_writer_that_was_killed_leaves_the_store_to_others(tmp_path):
    store = LmdbStore.open(tmp_path / "users", SCHEMA)
    write_until_killed(tmp_path / "users", 3)
    store.put_many([-1], [{"step": -1}])
    assert store.get_many([-1])[0]["step"].tolist() == [-1]
    assert store.get_many([5])[0]["step"].tolist() == [2]
    store.close()
