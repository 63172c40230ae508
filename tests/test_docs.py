"""Every example of the README and of the pages is run here, and the pages are built as in `make docs`."""

import doctest
import html
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from accessibility import problems
from typer.testing import CliRunner

import api
import examples
import plain
import reference
from starcert.archive.verification import TAKEN_AS_STATED
from starcert.cli import app
from starcert.objects.regions import BUILDERS
from starcert.objects.regions.atoms import GROUPS
from starcert.objects.threats import THREATS, read_threat

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}

NEEDS = {
    "api-files": ("matplotlib",),
    "api-models": ("torch_geometric",),
    "benchmark": ("torch_geometric", "sklearn", "matplotlib"),
    "blind": ("torch_geometric", "sklearn"),
    "evidence": ("grakel",),
    "exact": ("sklearn",),
    "index": ("torch_geometric",),
    "kinds": ("torch_geometric", "rdkit"),
    "models": ("torch_geometric", "grakel", "rdkit", "pandas", "sklearn"),
    "paper": ("grakel", "matplotlib"),
    "regions": ("rdkit", "grakel", "matplotlib"),
    "tutorial": ("torch_geometric", "grakel", "pandas"),
    "values": ("torch_geometric", "rdkit", "pandas"),
    "voting": ("distributed",),
}
"""What the examples of a page need besides the package itself; `test_gallery.py` runs those of the gallery,
and `test_recipes.py` those about additions of one's own."""

EXAMPLES = sorted(PAGES.keys() - {"gallery", "extending"})

LOADED = tuple(
    name for name in ("torch_geometric", "sklearn", "grakel", "rdkit", "matplotlib") if importlib.util.find_spec(name)
)
"""What is loaded once for all the pages that need anything."""

FOLDERS = {path.name for place in (ROOT, ROOT / "src" / "starcert") for path in place.iterdir() if path.is_dir()}
"""Folders of the repository and packages of the library: a path in the text that begins with one must exist."""

SLOW = {
    "blind", "commands", "index", "models", "paper", "regions", "threats", "tutorial", "values",
    "voting",
}  # fmt: skip
"""Run by `make test-slow`. Those of the index are the README's first commands, which every run of the tests tries."""

NOT_RUN = {
    ("benchmark", "it takes a few minutes on two cores."),
    ("voting", "it needs a Slurm cluster."),
    ("voting", "it needs certificates."),
    ("index", "it installs the package."),
    ("paper", "it takes about two hours on two cores, the studies beyond the paper included."),
}
"""The blocks that are shown and not run, each with the reason that readers see."""


def run(*words: str, folder: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The pages' examples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXAMPLES])
def test_the_examples_of_a_page_do_what_it_says(name, tmp_path):
    for package in NEEDS.get(name, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    done = examples.run(DOCS / f"{name}.md", tmp_path, src=ROOT / "src", imports=LOADED if name in NEEDS else ())
    assert done == [block.line for block in examples.blocks_of(PAGES[name]) if block.runs]


def test_no_block_is_skipped_in_silence():
    assert NEEDS.keys() <= PAGES.keys()
    skipped = set()
    for name, text in PAGES.items():
        blocks = examples.blocks_of(text)
        assert text.count("```") == 2 * len(blocks), f"{name}: a fence that is not understood"
        for block in blocks:
            where = f"{name}.md, line {block.line}"
            assert block.language in examples.LANGUAGES, f"{where}: what is a {block.language!r}?"
            assert "Not run" not in block.code or block.not_run, f"{where}: the reason must be the first line"
            if block.language in ("text", "csv", "toml") and not block.file:
                assert block.language == "text", f"{where}: is for no file"
                assert not re.search(r"^(\$ |starcert |python |import |from )", block.code, re.MULTILINE), where
            elif block.not_run:
                skipped.add((name, block.not_run))
            else:
                assert block.runs, where
        assert not re.search(r"^    (starcert|python|pip|import|>>>)\b", _outside_fences(text), re.MULTILINE), name
    assert skipped == NOT_RUN


def test_every_file_that_a_page_shows_is_used_by_another_block():
    for name, text in PAGES.items():
        blocks = examples.blocks_of(text)
        for block in blocks:
            others = "\n".join(each.code for each in blocks if each is not block)
            known = (block.file, Path(block.file).stem, str(Path(block.file).parent) if "/" in block.file else "")
            used = any(re.search(rf"\b{re.escape(word)}\b", others) for word in known if word)
            assert not block.file or used, f"{name}.md, line {block.line}: no other block uses {block.file}"


def _outside_fences(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


# The runner itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n1 + 1  # 3\n```\n", "the page says\n3\nbut this was printed:\n2"),
        ("```python\nprint('a', 'b')\n# a\n# c\n```\n", "the page says\na\nc"),
        ("```python\n1 / 0\n```\n", "line 2"),
        ("```bash\nfalse\ntrue\n```\n", "ended with status 1"),
        ("```console\n$ echo one two\none three\n```\n", "but this was printed:\none two"),
        ("```console\n$ echo one two\none … four\n```\n", "but this was printed:\none two"),
        ('```console title="numbers may differ"\n$ echo 12.5% right\n99% wrong\n```\n', "12.5% right"),
        ("```toml\na = 1\n```\n", "give it the title of a file"),
    ],
)
def test_a_page_that_says_something_else_is_refused(text, complaint, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError) as refused:
        examples.run(page, tmp_path, src=ROOT / "src")
    assert complaint in str(refused.value)


def test_the_runner_is_documented_truly():
    assert doctest.testmod(examples).failed == 0
    assert doctest.testmod(examples).attempted


def test_blocks_share_a_folder_and_a_session(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '```csv title="in/one.csv"\n1,2\n```\n\n'
        "```python\nvalue = open('in/one.csv').read()\nlen(value)  # 4\n```\n\n"
        "```python\n# Not run by the tests: it would fail.\n1 / 0\n```\n\n"
        '```console title="numbers may differ"\n$ cat in/one.csv && \\\n  echo "and 3.5% more"\n7,8\nand 42% …\n```\n\n'
        "```python\nvalue  # '1,2…\n```\n",
        encoding="utf-8",
    )
    assert examples.run(page, tmp_path, src=ROOT / "src") == [2, 6, 16, 23]


# What the pages take from the code ----------------------------------------------------------------------------------


def test_the_table_of_region_builders_is_current():
    assert reference.builders_table() in PAGES["regions"], f"docs/regions.md must have\n{reference.builders_table()}"
    assert set(re.findall(r"^\| `(\w+)", PAGES["regions"], flags=re.MULTILINE)) == set(BUILDERS)


def test_the_table_of_functional_groups_is_current():
    section = (
        PAGES["regions"].partition("### The names of functional groups")[2].partition("\n\n|")[2].partition("\n\n")[0]
    )
    assert dict(re.findall(r"^\| (\w+) \| `(.+)` \|$", section, flags=re.MULTILINE)) == GROUPS
    assert list(re.findall(r"^\| (\w+) \| `", section, flags=re.MULTILINE)) == list(GROUPS)


def test_the_table_of_threats_has_each_of_them_with_its_text():
    def near(frame, u, v):
        return u == v

    near.__name__ = "rules.py:near"  # as texts name it
    rows = re.findall(r"^\| `(\w+\(.*\))` \| `(\w+:.*?)` \| [^|`]* \| [^|]* \|$", PAGES["threats"], flags=re.MULTILINE)
    names = {each.__name__: each for each in THREATS} | {"near": near}
    threats = [(eval(made, names), text.replace("\\|", "|")) for made, text in rows]
    assert {type(threat) for threat, _ in threats} == set(THREATS)
    for threat, text in threats:
        assert read_threat(text, find=lambda _: near) == threat, text


def test_the_reference_has_every_command_with_every_option_and_its_examples():
    text = reference.expanded(PAGES["commands"])
    assert reference.MARKER not in text
    for command in re.findall(r"^│ (\w+)  ", _help(), flags=re.MULTILINE):
        (section,) = re.findall(rf"^## starcert {command}\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        options = set(re.findall(r"--[a-z][a-z-]+", _help(command))) - {"--help"}
        assert options, command
        assert options <= set(re.findall(r"--[a-z][a-z-]+", section)), command
        assert f"\nstarcert {command}" in section or f"&& starcert {command}" in section, command
    assert text.count("\n## starcert ") == len(re.findall(r"^│ (\w+)  ", _help(), flags=re.MULTILINE)) >= 7


def test_the_reference_has_every_public_name_once_with_an_example():
    names = api.public_names()
    listed = [name for page in PAGES.values() for found in api.MARKER.finditer(page) for name in api.names_in(found)]
    assert sorted(listed) == sorted(names), "each name belongs in one marker of docs/api-*.md"
    assert [name for name in names if not api.has_example(name)] == [], "give it a doctest, or use it in its section"
    assert len(names) > 100


@pytest.mark.parametrize("name", sorted({*api.homes().values()}))
def test_the_lists_of_names_are_current(name):
    """Names and files; the sentences follow the docstrings whenever `make docs` is run."""
    now, shown = (
        [line.partition(": ")[0] for line in text.splitlines()]
        for text in (api.with_lists(PAGES[Path(name).stem]), PAGES[Path(name).stem])
    )
    assert now == shown, "run: python docs/plain.py"


def test_the_reference_shows_signatures_arguments_fields_and_examples():
    text = api.expanded("<!-- api starcert: Voting, ABSTAIN, Frontier -->")
    for part in (
        "### `Voting` { #starcert.Voting }",
        "    selection_samples: int | None = None,",
        "- `executor`: where to count: any `concurrent.futures.Executor`, or None for this process.",
        ">>> starcert.ABSTAIN\n-1\n",
        "```pycon\n>>> from starcert import Voting\n>>> Voting(",
        "- `radii`: ",
    ):
        assert part in text, part
    assert ">>> import starcert as sc\n>>> open_ended = sc." in api.expanded(
        "<!-- api starcert.metrics: open_ended -->"
    )
    assert "(api-objects.md#starcert.Graph)" in api.expanded("<!-- api starcert: CleanObject -->")


@pytest.mark.slow  # each is also a doctest of its module
@pytest.mark.parametrize("name", sorted({*api.homes().values()}))
def test_the_examples_of_the_reference_run_as_they_are_shown(name, tmp_path, monkeypatch):
    for package in ("torch_geometric", "grakel", "rdkit", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    text = api.expanded((DOCS / name).read_text(encoding="utf-8"))
    runner, parser = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), doctest.DocTestParser()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing PyTorch Geometric warns about other packages
        for entry in re.split(r"^#{3,4} ", text, flags=re.MULTILINE):
            code = "\n\n".join(re.findall(r"^```pycon\n(.*?)^```$", entry, flags=re.MULTILINE | re.DOTALL))
            runner.run(parser.get_doctest(code, {}, entry.partition("\n")[0], name, 0))
    assert runner.failures == 0
    assert runner.tries > 10


def _help(*command: str) -> str:
    shown = CliRunner(env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).invoke(app, [*command, "--help"])
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.mark.parametrize("name", PAGES)
def test_names_in_the_text_exist(name):
    """Options, paths, modules and make targets that the text mentions are there under these names."""
    words = re.findall(r"`([^`\n]+)`", _outside_fences(PAGES[name]))
    known = set(re.findall(r"--[a-z][a-z-]+", reference.commands())) | {"--help", "--install-completion"}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for word in words:
        assert set(re.findall(r"--[a-z][a-z-]+", word)) <= known, word
        for dotted in re.findall(r"\b(?:sc|starcert)\.([a-z_]+(?:\.\w+)*)", word):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # importing PyTorch Geometric warns about other packages
                _resolve(dotted)
        if word.endswith(".py") and word.partition("/")[0] in FOLDERS:
            assert (ROOT / word).exists() or (ROOT / "src" / "starcert" / word).exists(), word
        if word.startswith("make "):
            assert word.removeprefix("make ") in targets, word


def _resolve(dotted: str) -> None:
    found = importlib.import_module("starcert")
    for part in dotted.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")


def test_what_is_taken_as_stated_is_said_in_the_words_of_the_command():
    assert TAKEN_AS_STATED in " ".join(PAGES["certificates"].split()), f"the page must say: {TAKEN_AS_STATED}"


def test_the_paper_page_quotes_the_claims_that_do_not_hold():
    studies = tomllib.loads((ROOT / "studies/starcert_studies/texts.toml").read_text(encoding="utf-8"))
    claims = [claim for study in studies.values() for claim in study["claims"].values()]
    quoted = re.findall(r"^> (.*)$", PAGES["paper"], flags=re.MULTILINE)
    assert quoted
    assert sorted(quoted) == sorted(claim["claim"] for claim in claims if not claim.get("documented", True))


# The site -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The pages, built strictly: MkDocs complains about every missing link, anchor and page."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    plain.write(folder / "markdown")
    settings = (
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: markdown\nsite_dir: site\nhooks: [{DOCS / 'accessible.py'}]\n"
    )
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


class _Links(HTMLParser):
    """What a page loads, where it links to, and the anchors that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ("src", "srcset", "data", "poster", "action"):
            if name in given and tag != "meta":
                self.loads.add(given[name])
        if "href" in given:
            (self.links if tag == "a" else self.loads).add(given["href"])


def test_the_plain_pages_need_no_plugin():
    for name, text in PAGES.items():
        whole = plain.page(text)
        assert not re.search(r"<!-- (api|commands)|^The script:", whole, re.MULTILINE), name
        assert text.count("\n# ") == whole.count("\n# "), name


def test_the_site_has_every_page(site):
    assert {page.stem for page in site.glob("*.html")} == {*PAGES, "404"}
    assert not list(site.rglob("*.py"))
    assert "starcert certify" in html.unescape((site / "commands.html").read_text(encoding="utf-8"))


def test_no_link_of_the_site_is_broken_or_leads_to_the_network(site):
    pages = {page: _Links(page) for page in site.glob("*.html") if page.name != "404.html"}
    n_links = 0
    for page, found in pages.items():
        for link in found.links | found.loads:
            parts = urlsplit(link)
            assert parts.scheme + parts.netloc == "", f"{page.name} refers to {link}"
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file() or link in (".", "./"), f"{page.name} links to {link}, which is not there"
            if parts.fragment:
                assert unquote(parts.fragment) in pages[target].anchors, f"{page.name}: no anchor {link}"
            n_links += 1
    assert n_links > 100
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
def test_the_site_opens_from_disk_is_searched_there_and_asks_the_network_for_nothing(site, tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--no-sandbox", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path}")
    options.add_argument("--window-size=1400,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        for name in ("index", "api-files", "tutorial"):
            driver.get((site / f"{name}.html").as_uri())
            assert problems(driver) == []
            assert driver.execute_script("return document.querySelectorAll('h1').length") == 1
        broken = (
            "return [...document.images].filter((each) => each.complete && !each.naturalWidth).map((each) => each.src)"
        )
        assert driver.execute_script(broken) == []
        box = driver.find_element("css selector", ".md-search__input")
        assert box.get_attribute("aria-label") == "Search"
        driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        WebDriverWait(driver, 30).until(lambda _: box.is_displayed())
        box.send_keys("rewire")
        found = WebDriverWait(driver, 30).until(
            lambda _: driver.find_elements("css selector", ".md-search-result__link")
        )
        assert "api-objects.html" in found[0].get_attribute("href"), "the class of that name comes first"
        assert driver.get_log("browser") == []
        messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    finally:
        driver.quit()
    requested = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert len(requested) > 4
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:", "about:", "chrome"))] == []


def test_pictures_are_small_enough_to_keep():
    for picture in (DOCS / "pictures").iterdir():
        assert picture.stat().st_size <= 300_000, picture.name


# The README ---------------------------------------------------------------------------------------------------------


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", README):
        assert urlsplit(link).scheme or (ROOT / link).exists(), link


def test_the_first_example_certifies_and_keeps_its_votes(tmp_path):
    said = run(str(ROOT / "examples" / "first_certificate.py"), "votes.db", folder=tmp_path)
    assert said.count("1 in motif, 45 in random.") == 2
    assert (tmp_path / "votes.db").exists()


def test_the_blocks_of_the_readme_do_what_it_says(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(README, encoding="utf-8")
    blocks = examples.blocks_of(page.read_text(encoding="utf-8"))
    assert {block.language for block in blocks} == {"console", "python"}
    assert examples.run(page, tmp_path, src=ROOT / "src") == [block.line for block in blocks if block.runs]
