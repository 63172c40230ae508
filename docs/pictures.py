"""Draws the picture of the README: `make pictures`."""

from pathlib import Path

import starcert as sc

FOLDER = Path(__file__).parent / "pictures"

if __name__ == "__main__":
    ax = sc.display.slack_map(sc.Noise(motif=0.1, random=0.4), (8, 40))
    ax.set_title("What unanimous votes certify: Noise(motif=0.1, random=0.4), alpha = 0.01", fontsize=9)
    ax.figure.savefig(FOLDER / "slack_map.png")
