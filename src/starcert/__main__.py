"""`python -m starcert` is the command `starcert`."""

from starcert.cli import main

main()
