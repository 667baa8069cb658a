"""`navi features`: look into a bundle's feature stores and fill them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from navi.cli.arguments import key_of
from navi.core.errors import BundleError, ConfigError, InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from navi.features.store import FeatureStore

app = typer.Typer(no_args_is_help=True, help="Look into a bundle's feature stores and fill them.")

BATCH = 2_000

BundleDir = Annotated[Path, typer.Argument(help="Bundle directory.", exists=True, file_okay=False)]
StoreName = Annotated[str, typer.Option(help="Feature store of the bundle.")]


@app.command()
def load(
    bundle: BundleDir,
    rows: Annotated[Path, typer.Argument(help="Parquet file: a key column, and a column a feature.", exists=True)],
    store: StoreName = "users",
    key: Annotated[str, typer.Option(help="Name of the key column.")] = "key",
    mode: Annotated[str, typer.Option(help="merge, replace or append.")] = "merge",
) -> None:
    """Write rows of a Parquet file into a store; a server of this bundle on this host answers with them at once,
    or when its row cache has aged where it has one."""
    import pyarrow.parquet as pq

    from navi.features.store import WriteMode

    if mode not in get_args(WriteMode):
        raise typer.BadParameter(f"--mode is one of {', '.join(get_args(WriteMode))}, not {mode!r}")
    opened = _open(bundle, store)
    try:
        file = pq.ParquetFile(rows)
        if key not in file.schema_arrow.names:
            raise InvalidArgument("--key", f"{rows} has no column {key!r}; it has {', '.join(file.schema_arrow.names)}")
        written = 0
        batches = -(-file.metadata.num_rows // BATCH)
        for batch in track(
            file.iter_batches(BATCH), total=batches, description="Loading", console=Console(stderr=True)
        ):
            _put(opened, batch, key, mode, first=written)
            written += batch.num_rows
        Console().print(f"{written:,} rows written to {store!r}, which holds {opened.count():,}")
    finally:
        opened.close()


@app.command()
def get(
    bundle: BundleDir,
    key: Annotated[str, typer.Argument(help="Key of the row; quote digits ('\"42\"') where keys are text.")],
    store: StoreName = "users",
) -> None:
    """Print one row of a store."""
    opened = _open(bundle, store)
    try:
        (row,) = opened.get_many([key_of(key)])
    finally:
        opened.close()
    if row is None:
        raise InvalidArgument("key", f"{key} is not in {store!r}")
    table = Table("feature", "value")
    for name, values in sorted(row.items()):
        table.add_row(name, escape(", ".join(map(str, values.tolist()))))
    Console().print(table)


@app.command()
def keys(bundle: BundleDir, store: StoreName = "users") -> None:
    """Print the keys of a store, one a line, in their order: what `navi loadtest run --users FILE` takes."""
    opened = _open(bundle, store)
    try:
        for key, _ in opened.items():  # noqa: PERF102 - a store is no dict
            print(key)  # noqa: T201 - for other programs
    finally:
        opened.close()


def _put(store: "FeatureStore", batch: "pa.RecordBatch", key: str, mode: str, *, first: int) -> None:
    rows = batch.to_pylist()
    keys = [row.pop(key) for row in rows]
    if None in keys:
        raise InvalidArgument(key, f"row {first + keys.index(None)} of the file has no key")
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    store.put_many(keys, present, mode)  # type: ignore[arg-type]


def _open(bundle: Path, name: str) -> "FeatureStore":
    from navi.bundle.config import read_config
    from navi.features.lmdb_store import LmdbStore

    config = read_config(bundle).features.get(name)
    if config is None:
        raise ConfigError("--store", f"the bundle has no feature store {name!r}")
    if config.path is None:
        raise BundleError(f"feature store {name!r} is kept in memory only: there is nothing to open")
    return LmdbStore.open(bundle / config.path, config.schema_of_rows(), key=config.key)
