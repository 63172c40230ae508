"""Settings for every test, and a browser for those that look at pages."""

import gc
import json
import shutil
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

# A property is checked on the same examples in every run, and never timed: these machines are shared.
settings.register_profile("starcert", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("starcert")


def pytest_collection():
    """Collecting makes a million objects that stay: the garbage collector need not look at them again and again."""
    gc.disable()


def pytest_collection_finish():
    """Nor at what was imported, during each test."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """A shell starts what runs in the background with Ctrl-C ignored, and children inherit that; tests send it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium without any network."""
    pytest.importorskip("selenium")
    chromium, driver_file = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_file):
        pytest.skip("needs chromium and chromedriver")
    from selenium import webdriver  # noqa: PLC0415
    from selenium.webdriver.chrome.options import Options  # noqa: PLC0415
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = Options()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("--no-sandbox", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={profile}")
    options.add_argument("--window-size=1280,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_file))
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(60)
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


@pytest.fixture
def quiet(browser):
    """A browser that has nothing to complain of during the test, and loads nothing but the page itself."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    yield browser
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    inside = ("data:", "blob:", "about:", "chrome:")  # the page's own, and the browser's empty first tab
    assert {url for url in requested if not url.startswith(inside)} <= {browser.current_url}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project as a user has one: model, graphs and run file, in the folder that the test works in."""
    import runs_worlds as worlds  # noqa: PLC0415  (only for the tests of runs)

    worlds.project(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / "project"


@pytest.fixture
def here(monkeypatch, capsys):
    """The command in this process: status, standard output, standard error."""

    from starcert.cli import main  # noqa: PLC0415

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["starcert", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def starcert(here):
    """The command in this process, as `subprocess.run` tells of one: `test_cli.py` shows that a process says the same.

    Python and its packages are loaded once, not for every command.
    """
    return lambda *words: subprocess.CompletedProcess(words, *here(*words))
