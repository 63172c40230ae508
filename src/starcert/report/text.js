"use strict";
// Elements and numbers as text. Data reach the page as text nodes only, never as markup.
const Text = (() => {
  // Text that is written from right to left stands by itself, so that it does not move what is beside it.
  const FROM_RIGHT = "\\u0590-\\u08ff\\u200f\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
  const RUN = new RegExp(`([${FROM_RIGHT}](?:[${FROM_RIGHT}\\s]*[${FROM_RIGHT}])?)`, "u");

  const isolated = (child) => (typeof child !== "string" ? [child] : child.split(RUN).map((part, k) => (k % 2 ? element("bdi", {}, document.createTextNode(part)) : part)));

  // Puts children in place of those that an element has.
  const write = (place, ...children) => place.replaceChildren(...(place.tagName === "OPTION" ? children : children.flatMap(isolated)));

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    write(made, ...children);
    return made;
  }

  // A name from data, in its own direction of writing.
  const name = (text) => element("bdi", { dir: "auto" }, document.createTextNode(text === "" ? "(no name)" : text));

  const count = (value) => value.toLocaleString("en-US");

  // A failure probability, rounded up to three digits: to the nearest first, then up where that is less.
  function failure(value) {
    if (value === 0) return "0";
    const [nearest, exponent] = value.toExponential(2).split("e");
    let [digits, power] = [Number(nearest.replace(".", "")), Number(exponent)];
    if (Number(`${digits}e${power - 2}`) < value) digits += 1;
    if (digits === 1000) [digits, power] = [100, power + 1];
    const mantissa = (digits / 100).toFixed(2);
    return power >= -3 ? Number(`${mantissa}e${power}`).toFixed(2 - power) : `${mantissa}e${power}`;
  }

  // 1 − failure, rounded down to six digits: what is left when the failure probability is rounded up.
  function probability(fail) {
    let millionths = Math.round(fail * 1e6);
    if (Number(`${millionths}e-6`) < fail) millionths += 1;
    return ((1e6 - millionths) / 1e6).toFixed(6);
  }

  const radius = (counts) => (counts.length === 1 ? count(counts[0]) : `(${counts.map(count).join(", ")})`);

  function radii(list, most) {
    if (!list.length) return "none";
    const shown = list.slice(0, most).map(radius).join(list[0].length === 1 ? "; " : ", ");
    return list.length > most ? `${shown} … and ${count(list.length - most)} more` : shown;
  }

  // A level or radius on all axes: what it counts, in words, as "1 bond deleted and 1 atom changed". On one or two axes, its numbers.
  function level(data, counts) {
    const said = counts.flatMap((n, axis) => (n ? [`${count(n)} ${data.axis_words[axis][n === 1 ? 0 : 1]}`] : []));
    return said.length > 1 ? `${said.slice(0, -1).join(", ")} and ${said[said.length - 1]}` : said[0] ?? "no flip";
  }

  function levels(data, list, most) {
    if (data.axes.length < 3 || !list.length) return radii(list, most);
    const shown = list.slice(0, most).map((each) => level(data, each)).join("; ");
    return list.length > most ? `${shown}; and ${count(list.length - most)} more` : shown;
  }

  return { element, write, name, count, failure, probability, radii, level, levels };
})();
