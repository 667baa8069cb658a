"""Files of the real converters, where those are installed (skl2onnx, onnxmltools, scikit-learn, lightgbm, xgboost).

They are not in the `dev` extra; files with the same graphs are in `plain_models.py`.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_models import loaded

from navi.core.arrays import Array
from navi.core.errors import ModelError

Convert = Callable[[Array, Array, bool], tuple[Any, Array]]
"""Trains on rows and classes; an ONNX model, with a ZipMap or without, and the probabilities that it should give."""


def rows() -> tuple[Array, Array]:
    x = (np.random.default_rng(0).standard_normal((300, 6)) * [1, 10, 1000, 0.1, 5, 50]).astype(np.float32)
    return x, (x[:, 0] + x[:, 2] / 1000 > 0).astype(np.int64)


def sklearn_pipeline(x: Array, y: Array, zipmap: bool) -> tuple[Any, Array]:
    skl2onnx = pytest.importorskip("skl2onnx")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    trained = pipeline.make_pipeline(scaler, pytest.importorskip("sklearn.linear_model").LogisticRegression()).fit(x, y)
    return skl2onnx.to_onnx(trained, x[:1], options={"zipmap": zipmap}), trained.predict_proba(x)


def sklearn_forest(x: Array, y: Array, zipmap: bool) -> tuple[Any, Array]:
    skl2onnx = pytest.importorskip("skl2onnx")
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier(8, random_state=0)
    trained = forest.fit(x, np.array(["no", "yes"])[y])
    return skl2onnx.to_onnx(trained, x[:1], options={"zipmap": zipmap}), trained.predict_proba(x)


def lightgbm(x: Array, y: Array, zipmap: bool) -> tuple[Any, Array]:
    onnxmltools, kinds = _onnxmltools()
    trained = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=20, verbose=-1).fit(x, y)
    types = [("x", kinds.FloatTensorType([None, 6]))]
    return onnxmltools.convert_lightgbm(trained, initial_types=types, zipmap=zipmap), trained.predict_proba(x)


def xgboost(x: Array, y: Array, zipmap: bool) -> tuple[Any, Array]:
    if zipmap:
        pytest.skip("XGBoost's converter writes no ZipMap")
    onnxmltools, kinds = _onnxmltools()
    trained = pytest.importorskip("xgboost").XGBClassifier(n_estimators=20).fit(x, y)
    types = [("x", kinds.FloatTensorType([None, 6]))]
    return onnxmltools.convert_xgboost(trained, initial_types=types), trained.predict_proba(x)


def _onnxmltools() -> tuple[Any, Any]:
    return pytest.importorskip("onnxmltools"), pytest.importorskip("onnxmltools.convert.common.data_types")


CONVERTERS = pytest.mark.parametrize("convert", [sklearn_pipeline, sklearn_forest, lightgbm, xgboost])


def converted(convert: Convert, directory: Path, *, zipmap: bool) -> tuple[Array, Array]:
    x, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the converters' own
        model, expected = convert(x, y, zipmap)
    (directory / "model.onnx").write_bytes(model.SerializeToString())
    return x, expected


@CONVERTERS
def test_a_converted_classifier_shares_runs_and_gives_its_probabilities(tmp_path: Path, convert: Convert) -> None:
    x, expected = converted(convert, tmp_path, zipmap=False)
    model = loaded(tmp_path)
    assert model.layout.calls == "shared", model.layout.reason
    outputs = model.backend.run({model.signature.inputs[0].name: x})
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-5)
    assert outputs["label"].shape == (len(x),)


@CONVERTERS
def test_a_converted_classifier_with_a_zipmap_is_refused(tmp_path: Path, convert: Convert) -> None:
    converted(convert, tmp_path, zipmap=True)
    with pytest.raises(ModelError, match="convert it with zipmap off"):
        loaded(tmp_path)
