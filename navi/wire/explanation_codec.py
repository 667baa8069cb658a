"""An explanation on the wire."""

import numpy as np

from navi.core.errors import InvalidArgument
from navi.core.explanation import Explanation
from navi.wire.buffers import read, write
from navi.wire.ids_codec import decode_ids, encode_ids
from navi.wire.report_codec import decode_tasks, encode_tasks
from navi.wire.v1 import ranking_pb2

PATH = "explanation"


def encode_explanation(explanation: Explanation) -> ranking_pb2.Explanation:
    return ranking_pb2.Explanation(
        ids=encode_ids(explanation.ids, f"{PATH}.ids"),
        sources=write(explanation.sources, "<u4"),
        scores=encode_tasks(explanation.scores),
        drop=write(explanation.drop, "<i4"),
        drops=[ranking_pb2.Explanation.Drop(stage=stage, reason=reason) for stage, reason in explanation.drops],
        candidates=explanation.candidates,
    )


def decode_explanation(message: ranking_pb2.Explanation) -> Explanation:
    """The explanation in a reply; InvalidArgument, naming the field, where its columns do not fit each other."""
    ids = decode_ids(message.ids, f"{PATH}.ids")
    sources = read(message.sources, "<u4", PATH, "sources")
    drop = read(message.drop, "<i4", PATH, "drop")
    for name, values in (("sources", sources), ("drop", drop)):
        if len(values) != len(ids):
            raise InvalidArgument(PATH, f"{name} has {len(values)} rows for {len(ids)} ids")
    wrong = np.flatnonzero((drop < -1) | (drop >= len(message.drops)))
    if len(wrong):
        raise InvalidArgument(PATH, f"drop is {drop[wrong[0]]} in row {wrong[0]}, where drops has {len(message.drops)}")
    if message.candidates < len(ids):
        raise InvalidArgument(PATH, f"candidates is {message.candidates}, where {len(ids)} are listed")
    return Explanation(
        ids=ids,
        sources=sources,
        scores=decode_tasks(message.scores, len(ids), f"{PATH}.scores"),
        drop=drop,
        drops=tuple((one.stage, one.reason) for one in message.drops),
        candidates=message.candidates,
    )
