"""The committed message code is what `protos/` say."""

from navi.wire.generate import ROOT, generate


def test_the_committed_code_is_what_the_generator_makes(tmp_path):
    written = generate(tmp_path)
    assert len(written) == 21
    for path in written:
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), f"{path}: run `make protos`"


def test_no_committed_code_is_without_its_proto(tmp_path):
    made = set(generate(tmp_path))
    committed = {path.relative_to(ROOT) for path in (ROOT / "navi/wire").rglob("*_pb2*.py*")}
    assert {path for path in committed if "__pycache__" not in path.parts} == made
