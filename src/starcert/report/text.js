"use strict";
// Elements and numbers as text. Data reach the page as text nodes only, never as markup.
const Text = (() => {
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // A name from data, in its own direction of writing.
  const name = (text) => element("bdi", { dir: "auto" }, text === "" ? "(no name)" : text);

  const count = (value) => value.toLocaleString("en-US");
  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  // A failure probability, rounded up to three digits.
  function failure(value) {
    if (value === 0) return "0";
    let power = Math.floor(Math.log10(value));
    let digits = Math.ceil((value / 10 ** power) * 100 - 1e-9) / 100;
    if (digits >= 10) [digits, power] = [1, power + 1];
    return power >= -3 ? (digits * 10 ** power).toFixed(2 - power) : `${digits.toFixed(2)}e${power}`;
  }

  // 1 − failure, rounded down to six digits everywhere.
  function probability(fail) {
    const p = 1 - fail;
    const digits = 6;
    let scaled = Math.round(p * 10 ** digits);
    if (scaled / 10 ** digits > p) scaled -= 1;
    return (scaled / 10 ** digits).toFixed(digits);
  }

  const radius = (counts) => (counts.length === 1 ? count(counts[0]) : `(${counts.map(count).join(", ")})`);

  function radii(list, most) {
    if (!list.length) return "none";
    const shown = list.slice(0, most).map(radius).join(list[0].length === 1 ? "; " : ", ");
    return list.length > most ? `${shown} … and ${count(list.length - most)} more` : shown;
  }

  // Plotly reads markup and %{…} in its texts: nothing of that is left of a name.
  const plain = (text) => text.replace(/[&<>"'%{}$]/g, (sign) => `&#${sign.codePointAt(0)};`);

  return { element, name, count, percent, failure, probability, radius, radii, plain };
})();
