"""Certificates for loopback, made by an authority of the test's own."""

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Files:
    """PEM files."""

    certificate: Path
    key: Path


class Authority:
    """directory: where its files go."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._ca = trustme.CA()
        self.file = directory / "ca.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def issue(self, *names: str, into: Path | None = None) -> Files:
        """A certificate of these names; into: the folder whose files it takes the place of."""
        folder = into or self._directory / names[0]
        folder.mkdir(exist_ok=True)
        made = self._ca.issue_cert(*names)
        files = Files(folder / "certificate.pem", folder / "key.pem")
        files.certificate.write_bytes(b"".join(pem.bytes() for pem in made.cert_chain_pems))
        files.key.write_bytes(made.private_key_pem.bytes())
        return files
