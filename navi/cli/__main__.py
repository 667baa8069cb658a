"""`python -m navi.cli`: the `navi` command where no script is installed."""

from navi.cli.main import main

main()
