"""Draws the pictures of the README and the docs: `make pictures`.

The report is that of the tutorial, whose examples are run for it, photographed in a headless Chromium.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import examples
import starcert as sc
from kind_pictures import draw_kinds
from starcert_studies import reproduce

HERE = Path(__file__).parent
GALLERY = HERE.parent / "examples" / "gallery"
FOLDER = HERE / "pictures"
RESULTS = HERE.parent / "studies" / "results"
MOST_FLIPS = 5  # in the picture of structure
WIDTH, HEIGHT = 1180, 2600
MAX_COLOURS = 256
"""A picture of a page needs few colours, and is a third as large with this many."""


def draw_slack_map(path: Path) -> None:
    """What unanimous votes certify."""
    ax = sc.display.slack_map(sc.Noise(motif=0.1, random=0.4), (8, 40))
    ax.set_title("What unanimous votes certify: Noise(motif=0.1, random=0.4), alpha = 0.01", fontsize=9)
    ax.figure.savefig(path)


def draw_evidence(path: Path) -> None:
    """The headline of the study of evidence, from its folder if it exists; otherwise the study runs for an hour."""
    study = reproduce("evidence", HERE.parent / "build" / "evidence")
    shutil.copyfile(study.folder / "figures" / "headline.png", path)


def draw_structure(path: Path) -> None:
    """Right and certified against the number of flips, beside a blind model: one panel for each data set."""
    files = sorted(RESULTS.glob("structure_*.csv"))
    figure, axes = plt.subplots(1, len(files), figsize=(3.2 * len(files), 2.6), sharey=True, layout="constrained")
    for ax, file in zip(np.atleast_1d(axes), files, strict=True):
        with file.open(encoding="utf-8") as lines:
            rows = [row for row in csv.DictReader(lines) if row["threat"].startswith("flips")]
        chosen = [row for row in rows if row["method"].endswith(f"s, for {row['size']}")]  # settings for that size
        best = {int(row["size"]): 100 * float(row["certified"]) for row in chosen if int(row["size"]) <= MOST_FLIPS}
        blind = 100 * float(next(row["blind"] for row in rows))
        majority = 100 * float(rows[0]["majority"])
        ax.plot(list(best), list(best.values()), marker="o", color="#1f4e8c", label="right and certified")
        ax.axhline(blind, color="#b45309", label="blind model")
        ax.axhline(majority, color="0.6", linestyle=":", label="majority")
        ax.set_title(rows[0]["data"].replace("_", " "), fontsize=9)
        ax.set_xlabel("any flips, at most")
        ax.set_xticks(list(best))
    np.atleast_1d(axes)[0].set_ylabel("% of test objects")
    np.atleast_1d(axes)[0].legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_report(folder: Path) -> None:
    """The tutorial's report: everything above its list of graphs, and the graph that is selected first."""
    with tempfile.TemporaryDirectory() as place:
        examples.run(HERE / "tutorial.md", Path(place), src=HERE.parent / "src")
        with opened(Path(place, "results", "report.html")) as driver:
            keep(above(driver, "graphs"), folder / "report.png")
            keep(driver.find_element("id", "detail").screenshot_as_png, folder / "graph.png")


def draw_comparison(path: Path) -> None:
    """The comparison of two runs that the page of commands makes: verdicts and curves."""
    with tempfile.TemporaryDirectory() as place:
        examples.run(HERE / "commands.md", Path(place), src=HERE.parent / "src")
        with opened(Path(place, "compare.html")) as driver:
            keep(above(driver, "differences"), path)


def keep(picture: bytes, path: Path) -> None:
    """Writes a picture of a page, in few colours."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    # Thin lines keep their colours, however few pixels have them.
    whole.quantize(MAX_COLOURS, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def above(driver: webdriver.Chrome, name: str) -> bytes:
    """The part of the page above an element."""
    end = driver.execute_script("return document.getElementById(arguments[0]).getBoundingClientRect().top", name)
    whole = Image.open(io.BytesIO(driver.get_screenshot_as_png()))
    top = io.BytesIO()
    whole.crop((0, 0, whole.width, min(int(end), whole.height))).save(top, "png")
    return top.getvalue()


@contextmanager
def opened(page: Path) -> Iterator[webdriver.Chrome]:
    """A page in Chromium, once its script reports that it is ready."""
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        sys.exit("A picture of a page needs chromium and chromedriver.")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--no-sandbox", "--headless=new", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        driver.get(page.as_uri())
        ready = "return document.documentElement.dataset.ready === 'yes'"
        WebDriverWait(driver, 60).until(lambda browser: browser.execute_script(ready))
        yield driver
    finally:
        driver.quit()


def draw_gallery(folder: Path) -> None:
    """Runs the scripts of the gallery, each of which draws its own; STARCERT_DATA names the folder of their data."""
    for script in sorted(GALLERY.glob("*.py")):
        if script.name != "picture.py":  # what they share
            subprocess.run([sys.executable, script], cwd=folder, check=True)


if __name__ == "__main__":
    draw_slack_map(FOLDER / "slack_map.png")
    draw_evidence(FOLDER / "evidence.png")
    draw_structure(FOLDER / "structure.png")
    draw_kinds(HERE / "kinds.md", FOLDER)
    draw_gallery(FOLDER)
    draw_report(FOLDER)
    draw_comparison(FOLDER / "compare.png")
