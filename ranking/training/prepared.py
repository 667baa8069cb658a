"""Everything that both models are trained on, made once."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch

from navi.core.arrays import F32, F64, I64
from navi.core.column import Column
from navi.core.errors import ConfigError
from navi.features.encoder import Encoder
from ranking.training.corpus import Corpus
from ranking.training.declarations import Declarations, declare
from ranking.training.encoded import RawFeatures, encode_pairs, encode_requests
from ranking.training.model_shape import ModelShape
from ranking.training.moments import Moments, moments_of
from ranking.training.negatives import NegativeSampler, corrected
from ranking.training.options import TrainOptions
from ranking.training.ranker_objective import EncodedRows
from ranking.training.rows import Rows, event_rows, with_negatives
from ranking.training.tensors import InputTensors
from ranking.training.trainer import seed_of
from ranking.training.vocabularies import item_vocabularies, request_vocabularies

_OBSERVED = 200_000
"""Rows from which means and deviations are taken, at most."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prepared:
    """A corpus' features, encoded.

    rows: one an event, by moment. cut: rows of moments from here on are for validation.
    """

    corpus: Corpus
    options: TrainOptions
    raw: RawFeatures
    declarations: Declarations
    encoder: Encoder
    moments: Moments
    inputs: InputTensors
    rows: Rows
    cut: int

    @property
    def training_rows(self) -> Rows:
        return self.rows.take(np.flatnonzero(self.rows.moment < self.cut))

    @property
    def validation_rows(self) -> Rows:
        return self.rows.take(np.flatnonzero(self.rows.moment >= self.cut))

    @property
    def positive_task(self) -> int:
        return self.corpus.dataset.tasks.index(self.corpus.dataset.positive)

    def sampler(self, *, popular_share: float) -> NegativeSampler:
        """Draws items, by their positives in the training rows."""
        rows = self.training_rows
        positive = rows.item[rows.labels[:, self.positive_task] > 0]
        return NegativeSampler(np.bincount(positive, minlength=len(self.corpus.table)), popular_share)

    def encode(self, rows: Rows) -> EncodedRows:
        pair = encode_pairs(self.encoder, self.raw, self.moments, (rows.moment, rows.item))
        return EncodedRows(rows, pair)

    def drawn(self, rows: Rows, draw: str) -> Rows:
        """The rows with negatives beside them, others for each name `draw`; as they are where impressions are known."""
        if self.corpus.dataset.complete_impressions:
            return rows
        options = self.options
        sampler = self.sampler(popular_share=options.popular_share)
        generator = np.random.default_rng(seed_of(options.seed, draw))
        return with_negatives(rows, sampler, drawn=options.negatives, positive=self.positive_task, generator=generator)

    def unlabelled(self, moment: I64, item: I64) -> Rows:
        """Rows that are only scored. moment: ascending."""
        labels = np.full((len(item), len(self.corpus.dataset.tasks)), np.nan, dtype=np.float32)
        return Rows(moment=moment, item=item, labels=labels, weights=np.ones(len(item), dtype=np.float32))

    @property
    def sampling(self) -> dict[str, float]:
        """By task: the share of negatives that training rows keep, where negatives are drawn."""
        dataset = self.corpus.dataset
        if dataset.complete_impressions:
            return {}
        rate = self.sampler(popular_share=0.0).rate(self.options.negatives)
        missing = np.logical_or.reduce(np.isnan(self.rows.labels))
        return {task: rate for at, task in enumerate(dataset.tasks) if not missing[at]}

    def probabilities(self, logits: F32) -> F64:
        """Each task's probability [n, tasks], corrected for the negatives that were not drawn."""
        rates = np.array([self.sampling.get(task, 1.0) for task in self.corpus.dataset.tasks])
        return corrected(np.exp(-np.logaddexp(0.0, -logits.astype(np.float64))), rates)

    def shape(self, scopes: tuple[str, ...]) -> ModelShape:
        inputs = {spec.name: spec for spec in self.declarations.all if spec.scope in scopes}
        return ModelShape(inputs, {name: known.size for name, known in self.declarations.vocabularies.items()})


def prepare(corpus: Corpus, options: TrainOptions) -> Prepared:
    """Snapshots, declarations and encoded inputs of a corpus."""
    raw = RawFeatures.of(corpus, history=options.history)
    moments, moment = moments_of(corpus.dataset.events)
    cut = _validation_cut(corpus, moments, options.validation)
    rows = event_rows(corpus, moment)
    declarations = _declarations(raw, moments, rows, (cut, options))
    encoder = Encoder(declarations.all, declarations.vocabularies)
    table = corpus.table
    inputs = InputTensors.of(encode_requests(encoder, raw, moments), encoder.items(raw.items(), len(table)))
    return Prepared(
        corpus=corpus,
        options=options,
        raw=raw,
        declarations=declarations,
        encoder=encoder,
        moments=moments,
        inputs=inputs,
        rows=rows,
        cut=cut,
    )


def fingerprint(corpus: Corpus, options: TrainOptions) -> str:
    """A digest of everything that the trained weights depend on."""
    digest = hashlib.sha256(options.model_dump_json(exclude={"overwrite", "funnel", "sample_rows"}).encode())
    digest.update(f"{corpus.table.digest} {corpus.dataset.split} {corpus.dataset.plan} {torch.__version__}".encode())
    events = corpus.dataset.events
    for array in (events.user, events.item, events.time, *events.labels.values()):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _validation_cut(corpus: Corpus, moments: Moments, share: float) -> int:
    """The first moment of the last `share` of the events; ConfigError where no positive comes before it."""
    events = corpus.dataset.events
    start = events.time[int(len(events) * (1 - share))]
    if not np.any(corpus.positive & (events.time < start)):
        raise ConfigError("validation", "leaves no positive to train on: the data covers too few moments")
    return int(np.searchsorted(moments.time, start, side="left"))


def _declarations(raw: RawFeatures, moments: Moments, rows: Rows, how: tuple[int, TrainOptions]) -> Declarations:
    cut, options = how
    plan = raw.corpus.dataset.plan
    trained = rows.take(np.flatnonzero(rows.moment < cut))
    past = moments.take(np.arange(cut))
    vocabularies = item_vocabularies(plan, raw.corpus.table, trained.item, min_count=options.min_count)
    vocabularies |= request_vocabularies(plan, raw.corpus.dataset.users, past)
    return declare(plan, _observed(raw, past, trained), vocabularies, history=options.history)


def _observed(raw: RawFeatures, moments: Moments, rows: Rows) -> dict[str, Column]:
    """What features looked like in training rows, evenly chosen."""
    plan = raw.corpus.dataset.plan
    chosen = rows.take(_evenly(len(rows)))
    columns = (*plan.item_categories, *plan.item_numbers, *plan.item_log_numbers, *(item for _, item in plan.gaps))
    names = frozenset(f"item.{name}" for name in columns)
    return raw.pairs(moments.take(chosen.moment), chosen.item, names) | raw.request(moments.take(_evenly(len(moments))))


def _evenly(n: int) -> I64:
    """Positions of at most _OBSERVED of n rows."""
    return np.arange(n) if n <= _OBSERVED else np.linspace(0, n - 1, _OBSERVED).astype(np.int64)
