"""Draws the pictures of the README and the docs: `make pictures`.

The report is that of the tutorial, whose examples are run for it, photographed in a headless Chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import examples
import starcert as sc

HERE = Path(__file__).parent
FOLDER = HERE / "pictures"
WIDTH, HEIGHT = 1180, 1500
MOST_COLOURS = 128
"""A picture of a page needs few colours, and is a third as large with so many."""


def draw_slack_map(path: Path) -> None:
    """What unanimous votes certify."""
    ax = sc.display.slack_map(sc.Noise(motif=0.1, random=0.4), (8, 40))
    ax.set_title("What unanimous votes certify: Noise(motif=0.1, random=0.4), alpha = 0.01", fontsize=9)
    ax.figure.savefig(path)


def draw_report(folder: Path) -> None:
    """The tutorial's report: its top, and one of its graphs."""
    with tempfile.TemporaryDirectory() as place:
        examples.run(HERE / "tutorial.md", Path(place), src=HERE.parent / "src")
        for name, picture in photographs(Path(place, "results", "report.html")).items():
            smaller = Image.open(io.BytesIO(picture)).convert("RGB").quantize(MOST_COLOURS)
            smaller.save(folder / f"{name}.png", optimize=True)


def photographs(page: Path) -> dict[str, bytes]:
    """What a report looks like in Chromium: all above its list of graphs, and the graph that is chosen first."""
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        sys.exit("A picture of the report needs chromium and chromedriver.")
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
        above = driver.execute_script("return document.getElementById('graphs').getBoundingClientRect().top")
        whole = Image.open(io.BytesIO(driver.get_screenshot_as_png()))
        top = io.BytesIO()
        whole.crop((0, 0, whole.width, min(int(above), whole.height))).save(top, "png")
        return {"report": top.getvalue(), "graph": driver.find_element("id", "detail").screenshot_as_png}
    finally:
        driver.quit()


if __name__ == "__main__":
    draw_slack_map(FOLDER / "slack_map.png")
    draw_report(FOLDER)
