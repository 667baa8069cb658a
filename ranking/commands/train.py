"""`navi train`: a bundle out of data."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from ranking.training.dataset import Dataset

app = typer.Typer(no_args_is_help=True, help="Make a bundle: models, item table, user features and navi.toml.")

Out = Annotated[Path, typer.Argument(help="Directory of the bundle to make.")]
Folder = Annotated[Path, typer.Argument(help="Folder with the data set's files.", exists=True, file_okay=False)]
OptionsFile = Annotated[
    Path | None, typer.Option(help="TOML file of training options; see `navi train options`.", exists=True)
]
Overwrite = Annotated[bool, typer.Option(help="Replace a bundle that is already there.")]
Seed = Annotated[int, typer.Option(help="Of every random choice.")]


@app.command()
def generated(
    out: Out,
    items: Annotated[int, typer.Option(min=100)] = 20_000,
    users: Annotated[int, typer.Option(min=10)] = 5_000,
    events: Annotated[int, typer.Option(min=1_000, help="Impressions.")] = 400_000,
    seed: Seed = 7,
    options: OptionsFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Train on a generated data set with a planted structure."""
    from ranking.training.generated import generate

    with Console(stderr=True).status(f"Generating {items:,} items, {users:,} users, {events:,} impressions"):
        made = generate(items=items, users=users, events=events, seed=seed)
    origin = {"kind": "generated", "items": items, "users": users, "events": events, "seed": seed}
    _train(made.dataset, out, origin, options, seed=seed, overwrite=overwrite)


@app.command()
def movielens(
    folder: Folder, out: Out, seed: Seed = 0, options: OptionsFile = None, overwrite: Overwrite = False
) -> None:
    """Train on a MovieLens folder (ratings.csv, movies.csv)."""
    from ranking.training.movielens import load

    origin = {"kind": "movielens", "folder": str(folder.resolve())}
    _train(load(folder), out, origin, options, seed=seed, overwrite=overwrite)


@app.command()
def completejourney(
    folder: Folder, out: Out, seed: Seed = 0, options: OptionsFile = None, overwrite: Overwrite = False
) -> None:
    """Train on a completejourney folder (transactions, products, demographics)."""
    from ranking.training.completejourney import load

    origin = {"kind": "completejourney", "folder": str(folder.resolve())}
    _train(load(folder), out, origin, options, seed=seed, overwrite=overwrite)


@app.command(name="options")
def show_options() -> None:
    """Print every training option, its default and what it means."""
    from navi.cli.config import fields_of
    from ranking.training.options import TrainOptions

    Console().print(fields_of("training options (TOML)", TrainOptions))


def _train(
    dataset: "Dataset", out: Path, origin: dict[str, Any], file: Path | None, *, seed: int, overwrite: bool
) -> None:
    from navi.bundle.config import validated
    from ranking.training.options import TrainOptions
    from ranking.training.presets import preset
    from ranking.training.progress import RichProgress
    from ranking.training.train import train

    given = {} if file is None else tomllib.loads(file.read_text(encoding="utf-8"))
    chosen = {"seed": seed, **preset(dataset, given), "overwrite": overwrite}
    options = validated(TrainOptions, chosen, field="options")
    console = Console(stderr=True)
    with RichProgress(console) as progress:
        train(dataset, out, options, progress, origin=origin)
    console.print(f"[bold green]done[/] {out}: try `navi check {out}` and `navi serve {out}`", highlight=False)
