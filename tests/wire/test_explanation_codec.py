"""An explanation comes back from the wire as it was; a damaged one is refused by the name of its field."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navi.core.errors import InvalidArgument
from navi.core.explanation import Explanation
from navi.core.ids import Ids
from navi.wire.explanation_codec import decode_explanation, encode_explanation
from navi.wire.rank_codec import decode_ranking, encode_ranking
from navi.wire.v1 import ranking_pb2


@given(st.data())
def test_an_explanation_comes_back_as_it_was(make, data):
    explanation = data.draw(make.explanations())
    ranking = replace(data.draw(make.rankings()), explanation=explanation)
    message = ranking_pb2.RankResponse.FromString(encode_ranking(ranking, "").SerializeToString())
    back = decode_ranking(message).explanation
    assert (back.ids, back.drops, back.candidates) == (explanation.ids, explanation.drops, explanation.candidates)
    for name in ("sources", "drop"):
        assert np.array_equal(getattr(back, name), getattr(explanation, name))
    assert list(back.scores) == list(explanation.scores)
    assert all(np.array_equal(back.scores[name], explanation.scores[name], equal_nan=True) for name in back.scores)


def test_no_explanation_is_told_from_an_empty_one(make):
    assert decode_ranking(ranking_pb2.RankResponse()).explanation is None
    assert decode_ranking(ranking_pb2.RankResponse(explanation=ranking_pb2.Explanation())).explanation is not None


@pytest.mark.parametrize(
    ("field", "damage", "text"),
    [
        ("ids", {"numbers": b"123"}, "explanation.ids: numbers has 3 bytes"),
        ("sources", bytes(4), "explanation: sources has 1 rows for 2 ids"),
        ("sources", bytes(3), "explanation: sources has 3 bytes"),
        ("drop", bytes(12), "explanation: drop has 3 rows for 2 ids"),
        ("drop", np.array([0, 1], "<i4").tobytes(), "explanation: drop is 1 in row 1, where drops has 1"),
        ("drop", np.array([-2, 0], "<i4").tobytes(), "explanation: drop is -2 in row 0, where drops has 1"),
        ("scores", bytes(4), "explanation.scores[0] (score): has 1 rows, where 2 are expected"),
        ("candidates", 1, "explanation: candidates is 1, where 2 are listed"),
    ],
)
def test_a_damaged_explanation_is_refused_by_the_name_of_its_field(field, damage, text):
    scores = {"score": np.zeros(2, np.float32)}
    columns = {"ids": Ids.of([1, 2]), "sources": np.zeros(2, np.uint32), "drop": np.array([-1, 0], np.int32)}
    message = encode_explanation(Explanation(**columns, scores=scores, drops=(("cut", "below_cut"),), candidates=2))
    if field == "ids":
        message.ids.numbers = damage["numbers"]
    elif field == "scores":
        message.scores[0].data = damage
    else:
        setattr(message, field, damage)
    with pytest.raises(InvalidArgument) as error:
        decode_explanation(message)
    assert str(error.value).startswith(text)
