"""Settings for every test, and a browser for those that look at pages."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, settings

# A property is checked on the same examples in every run, and never timed: these machines are shared.
settings.register_profile("starcert", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("starcert")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium without any network."""
    pytest.importorskip("plotly")
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
