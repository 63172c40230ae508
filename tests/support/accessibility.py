"""What keeps a page from being used by keyboard or by screen reader, found in the browser."""

MIN_CONTRAST = 4.5  # of text and its ground: WCAG 2.2, level AA

_AUDIT = """
const found = [], hidden = "[aria-hidden=true]";
const shown = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest(hidden);
const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
const complain = (what, each) => found.push(`${what}: ${each.outerHTML.slice(0, 100)}`);
if (!document.documentElement.lang) found.push("the page has no language");
if (!document.title) found.push("the page has no title");
if (all("main").length !== 1) found.push("the page has no main part, or several");

const headings = all("h1, h2, h3, h4, h5, h6");
if (headings.filter((each) => each.tagName === "H1").length !== 1) found.push("there must be one h1");
headings.forEach((each, k) => {
  if (!each.textContent.trim()) complain("an empty heading", each);
  if (k && Number(each.tagName[1]) > Number(headings[k - 1].tagName[1]) + 1) complain("a heading skips a level", each);
});

for (const each of all("th")) {
  if (!each.hasAttribute("scope")) complain("a table header without scope", each);
  if (!each.textContent.trim()) complain("an empty table header", each);
}
for (const each of all("table")) if (!each.querySelector("th")) complain("a table without headers", each);

for (const each of all("[role=img], [role=figure], svg, img")) {
  if (each.parentElement.closest("[role=img], svg, a, button, label")) continue; // part of a picture, or an icon
  const words = each.getAttribute("aria-label") || each.getAttribute("alt") || "";
  if (!words.trim()) complain("a picture without words", each);
  const inside = each.matches("[role=img]") && each.querySelector("button, a, input, select");
  if (inside) complain("a control inside a picture", each);
}

const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const linear = (each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = colour.map((each) => linear(each / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (each) => {
  for (let at = each; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
for (const each of all("body *:not(svg *):not(script):not(style)")) {
  if (![...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  if (each.matches(":disabled") || !each.checkVisibility({ opacityProperty: true })) continue;
  const [one, other] = [light(parse(getComputedStyle(each).color)), light(ground(each))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (other + 0.05);
  if (ratio < arguments[0]) complain(`text with a contrast of ${ratio.toFixed(2)}`, each);
}
return found;
"""

_FOCUS = """
const each = document.activeElement;
if (each === document.body) return null;
const { outlineStyle, outlineWidth } = getComputedStyle(each), box = each.getBoundingClientRect();
const visible = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && box.right > 0 && box.width > 0;
window.reached = window.reached || [];
if (window.reached.includes(each)) return null;
window.reached.push(each);
return visible ? "" : `no visible focus: ${each.outerHTML.slice(0, 100)}`;
"""

_MISSED = """
const wanted = [...document.querySelectorAll("a[href], button, input, select, textarea")];
return wanted.filter((each) => !each.disabled && each.checkVisibility() && !window.reached.includes(each))
  .map((each) => `not reached by the tab key: ${each.outerHTML.slice(0, 100)}`);
"""


def problems(browser):
    """What is wrong with the page as it is: language, headings, tables, pictures, contrast, names of controls."""
    found = browser.execute_script(_AUDIT, MIN_CONTRAST)
    for control in browser.find_elements("css selector", "a[href], button, input, select, textarea"):
        if control.is_displayed() and not control.accessible_name.strip():
            found.append(f"a control without a name: {control.get_attribute('outerHTML')[:100]}")
    return found


def keyboard_problems(browser, most=300):
    """What the tab key shows: controls that it does not reach, and those that have the focus without showing it."""
    from selenium.webdriver import ActionChains, Keys  # noqa: PLC0415

    browser.execute_script("window.reached = []; document.activeElement.blur(); window.scrollTo(0, 0)")
    found = []
    for _ in range(most):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        told = browser.execute_script(_FOCUS)
        if told is None:
            break
        found += [told] if told else []
    return found + browser.execute_script(_MISSED)
