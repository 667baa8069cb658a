"""A text column by number, so that comparing it with a request's texts compares integers."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from navi.core.arrays import I64, Mask
from navi.core.column import Column
from navi.features.arrow_column import text_ids
from navi.features.arrow_file import ArrowArray
from navi.features.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class CodedText:
    """codes: int64 [n], the values' codes in `vocabulary` (the column's distinct values); 0 where missing."""

    codes: I64
    vocabulary: Vocabulary

    @classmethod
    def of(cls, column: Column) -> "CodedText":
        """From a string column with one value a row."""
        texts = column.values.reshape(-1)
        missing = None if column.valid is None else ~column.valid
        encoded: ArrowArray = pa.array(texts, pa.large_string(), mask=missing).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        return cls(codes, Vocabulary(text_ids(encoded.dictionary)))

    def take(self, rows: I64, known: Mask | None) -> "CodedText":
        """The values of `rows`; missing where not known."""
        codes = self.codes[rows]
        return CodedText(codes if known is None else np.where(known, codes, 0), self.vocabulary)
