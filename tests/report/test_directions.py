"""Names that command a terminal, reverse what follows them, or are written from right to left move no page."""

import re

import pytest
from browsing import open_page
from report_worlds import random_counts, world
from sweep_worlds import invented

import starcert as sc
from starcert.archive import Archive
from starcert.report import write_report
from starcert.report.comparison_report import write_comparison
from starcert.report.document import write_page
from starcert.report.other_reports import exact_report
from starcert.runs.sweep_report import sweep_report

REGION = "שלום\u202eevil\x1b[31m\a"
NOISE = sc.Noise({REGION: 0.1, "rest": 0.3})
COMMANDS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MOVING = """
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
while (walk.nextNode()) {
  const text = walk.currentNode;
  const alone = text.parentElement.closest("bdi, script, option, text, title");
  if (/[\\u0590-\\u08ff]/.test(text.data) && !alone) found.push(text.data);
}
return found;
"""


def partition(graph):
    return sc.Partition.from_node_sets({REGION: range(6), "rest": range(6, 12)})


def told():
    names = [f"{REGION} {number}" for number in range(4)]
    return {"labels": [0, 1, 0, 1], "names": names, "class_names": [REGION, "b"], "settings": {REGION: REGION}}


def report(path):
    write_report(path, *world(NOISE, random_counts(4, 2, seed=1), partition=partition, **told()), title=REGION)


def compared(path):
    runs = {f"{REGION}{seed}": world(NOISE, random_counts(4, 2, seed=seed), partition=partition, **told())[0]
            for seed in (1, 2)}  # fmt: skip
    write_comparison(path, runs)


def exact(path):
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    classifier = sc.ExactClassifier(base, regions=sc.Partition.from_node_sets({REGION: range(3)}))
    problem = classifier.problem([sc.Graph(3, [(0, 1)])])
    result = classifier.certify(problem, threat="flips:1", progress=False)
    one = {"labels": [0], "names": [REGION], "class_names": [REGION, "b"], "settings": {REGION: REGION}}
    write_page(path, exact_report(Archive.from_result(result, **one), problem.sites, REGION))


def swept(path):
    write_page(path, sweep_report(invented(f"{REGION}=0.1,0.2,rest=0.3", classes=(REGION, "b"))))


@pytest.mark.parametrize("write", [report, compared, exact, swept])
def test_a_name_moves_nothing_beside_it(quiet, tmp_path, write):
    path = tmp_path / "page.html"
    write(path)
    assert not COMMANDS.search(path.read_text(encoding="utf-8"))
    if "document.documentElement.dataset.ready" in path.read_text(encoding="utf-8"):
        open_page(quiet, path.as_uri())
    else:
        quiet.get(path.as_uri())
    assert quiet.execute_script(MOVING) == []
    everything = quiet.execute_script("return document.documentElement.outerHTML + document.body.innerText")
    assert not COMMANDS.search(everything)
    assert r"</bdi>\u202eevil\x1b[31m\x07" in everything
