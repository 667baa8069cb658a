"""Strategies of tensors, for the codecs of KServe v2 and TensorFlow Serving."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from navi.wire.tensors import NUMBERS, strings

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
DATATYPES = ["BOOL", "BYTES", *NUMBERS]
NAMES = st.text("az09é漢", min_size=1, max_size=4)


@st.composite
def tensors(draw):
    """An array of any dtype that travels, of up to three dimensions, empty ones included."""
    shape, datatype = draw(SHAPES), draw(st.sampled_from(DATATYPES))
    if datatype == "BYTES":
        count = int(np.prod(shape))
        return strings(draw(st.lists(st.binary(max_size=5), min_size=count, max_size=count))).reshape(shape)
    return draw(hnp.arrays(NUMBERS.get(datatype, "?"), shape))


named_tensors = st.dictionaries(NAMES, tensors(), min_size=1, max_size=3)


def same_tensors(ones, others):
    """The same names, dtypes, shapes and bits, in any order."""
    return ones.keys() == others.keys() and all(same_tensor(one, others[name]) for name, one in ones.items())


def same_tensor(one, other):
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()
