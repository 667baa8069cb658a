"""`navi serve` with certificates and tokens, as an operator starts it: two workers, and the commands that ask them."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from certificates import Authority

from navi.client import Client, Credentials
from navi.core import errors

LOCAL = "127.0.0.1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"))


def new_token(*words: str) -> tuple[str, str]:
    """A token, and the entry for the file of callers."""
    command = [sys.executable, "-m", "navi.cli", "token", "new", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    entry = done.stderr[done.stderr.index("[[caller]]") :]
    assert done.stdout.strip() not in done.stderr
    return done.stdout.strip(), entry


def ask(*words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "navi.cli", *map(str, words)]
    given = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=given)


def test_certificates_and_tokens_hold_for_every_process_and_command(
    trained: Path, serve, authority: Authority, tmp_path: Path
) -> None:
    files = authority.issue(LOCAL, into=tmp_path)
    (token, entry), (other, second) = new_token("--caller", "feed"), new_token("--caller", "eye", "--role", "observe")
    assert tomllib.loads(entry)["caller"][0]["roles"] == ["call"]
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(entry + second)
    words = ("--tls-certificate", files.certificate, "--tls-key", files.key, "--tokens-file", tokens)
    served = serve(trained, "--workers", 2, *words)
    query = ("query", "--target", served.address, "--ca", authority.file, "-k", 3, "--json")

    answered = ask(*query, NAVI_TOKEN=token)
    assert len(json.loads(answered.stdout)["items"]) == 3, answered.stderr
    assert "Unauthenticated: authorization: no token" in ask(*query).stderr
    assert "PermissionDenied: caller 'eye'" in ask(*query, "--token", other).stderr
    assert "Unavailable" in ask("query", "--target", served.address, NAVI_TOKEN=token).stderr

    out = tmp_path / "load.json"
    load = ("loadtest", "run", served.address, "--rate", 20, "--duration", 1, "--timeout-ms", 20_000, "--out", out)
    ask(*load, NAVI_TOKEN=token, NAVI_CA=str(authority.file))
    outcomes = json.loads(out.read_text())["outcomes"]
    assert outcomes.pop("ok") > 0
    assert not any(outcomes.values())

    page = urllib.request.Request(f"http://{served.http_address}/metrics", headers={"Authorization": f"Bearer {other}"})
    with urllib.request.urlopen(page, timeout=10) as reply:
        assert 'caller="feed"' in reply.read().decode()
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        urllib.request.urlopen(f"http://{served.http_address}/metrics", timeout=10)
    refused.value.close()

    stranger = Authority(tmp_path / "others")
    shutil.copy(stranger.issue(LOCAL).key, files.key)  # between the two there is a pair that does not fit
    with Client(served.address, timeout_s=20, credentials=Credentials(token=token, ca=authority.file)) as client:
        assert client.rank(k=1)
    stranger.issue(LOCAL, into=tmp_path)
    for number in range(4):  # connections of their own, to any of the workers
        credentials, size = Credentials(token=token, ca=stranger.file), (1 << 20) + number
        with Client(served.address, timeout_s=20, credentials=credentials, max_message_bytes=size) as client:
            assert client.rank(k=1)
        with Client(served.address, timeout_s=2, credentials=Credentials(token=token, ca=authority.file)) as client:
            with pytest.raises(errors.Unavailable):
                client.rank(k=1)
    assert served.stop() == 0
    log = served.process.stderr.read().decode()
    assert "stays in force" in log
    assert token not in log + str(answered)
