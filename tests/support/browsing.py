"""Looking at a page in the browser of the fixtures `browser` and `quiet`."""


def open_page(browser, uri):
    """Opens a page, and waits until its script says that it is ready."""
    from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415

    browser.get(uri)
    ready = "return location.href === arguments[0] && document.documentElement.dataset.ready === 'yes'"
    WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda driver: driver.execute_script(ready, uri))


def texts(browser, selector):
    """The texts of all elements that match."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector
    )


def set_value(browser, selector, value, event):
    """Gives a control a value, and says so to the page."""
    browser.execute_script(
        "const each = document.querySelector(arguments[0]); each.value = arguments[1];"
        "each.dispatchEvent(new Event(arguments[2], { bubbles: true }))",
        selector,
        value,
        event,
    )
