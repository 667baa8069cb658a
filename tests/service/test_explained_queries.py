"""`explain` and stage times over a real server."""

import json
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from navi.core.errors import InvalidArgument


def test_every_candidate_of_a_query_is_explained(server) -> None:
    with server.client() as client:
        plain = client.rank(user=3, k=10)
        ranking = client.rank(user=3, k=10, as_of=plain.as_of, seed=plain.seed, explain=True)
    told = ranking.explanation
    assert plain.explanation is None
    assert ranking.ids == plain.ids
    assert told.ids.tolist()[:10] == ranking.ids.tolist()
    assert len(set(told.ids.tolist())) == len(told.ids) == told.candidates
    assert {"blend", "coarse", "task.click", "task.long_read", "score"} <= set(told.scores)
    assert np.array_equal(told.scores["score"][:10], ranking.scores)
    stages = [stage for stage in ranking.stages if not stage.name.startswith("source.")]
    counted = Counter({(stage.name, reason): n for stage in stages for reason, n in stage.dropped.items()})
    assert Counter(told.drops[at] for at in told.drop.tolist() if at >= 0) == counted
    assert all(told.sources)


def test_every_stage_says_when_it_began(server) -> None:
    with server.client() as client:
        stages = client.rank(k=10).stages
    inside = [stage for stage in stages if not stage.name.startswith("source.")]
    assert all(one.offset + one.microseconds <= two.offset + 1 for one, two in pairwise(inside))
    assert inside[-1].offset > 0


def test_query_prints_what_became_of_the_candidates(server, navi) -> None:
    shown = navi("query", "--target", server.address, "-k", 3, "--explain", "--explain-rows", 5).stdout
    for words in ("start ms", "dropped at", "beyond_k", "answered", "coarse", "explained: 5 of"):
        assert words in shown, words
    answer = json.loads(navi("query", "--target", server.address, "-k", 3, "--explain", "--json").stdout)
    told = answer["explanation"]
    assert [row["id"] for row in told["items"][:3]] == [item["id"] for item in answer["items"]]
    assert [row["drop"] for row in told["items"][:3]] == [None] * 3
    assert sum(drop["candidates"] for drop in told["drops"]) == told["candidates"] - 3
    assert all("start_us" in stage for stage in answer["stages"])


def test_explanations_can_be_turned_off_and_bounded(serve, bundle: Path) -> None:
    config = tomllib.loads((bundle / "navi.toml").read_text())
    home = config["pipelines"]["home"]
    config["pipelines"]["silent"] = {**home, "options": {**home["options"], "explain": False}}
    home["options"] = {**home["options"], "explain_limit": 20}
    (bundle / "navi.toml").write_text(tomli_w.dumps(config))
    with serve(bundle).client() as client:
        with pytest.raises(InvalidArgument, match="turned off") as error:
            client.rank(pipeline="silent", k=3, explain=True)
        assert error.value.field == "explain"
        assert len(client.rank(pipeline="silent", k=3).ids) == 3
        told = client.rank(pipeline="home", k=3, explain=True).explanation
    assert len(told.ids) == 20 < told.candidates
