"use strict";
// Plots as SVG: lines, a legend, and what the pointer is at.
//
// A plot is a list of traces and a layout, kept at its element as `data` and `layout`. A trace is a line: name, x, y, line.
// `hovertext` says what there is at each point. Texts are text nodes: nothing in a name is markup. `\n` begins a new line.
const SvgPlot = (() => {
  const [LEGEND_ROW, TICK] = [20, 5];
  const pen = document.createElement("canvas").getContext("2d");
  const FONT = "system-ui, -apple-system, Segoe UI, Roboto, Arial, sans-serif";
  const DASHES = { dash: "9 6", dot: "3 4", dashdot: "10 4 3 4", longdash: "16 6" };

  function wide(text, size = 13) {
    pen.font = `${size}px ${FONT}`;
    return Math.max(...text.split("\n").map((line) => pen.measureText(line).width));
  }

  function shape(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
    if (text !== undefined) {
      const lines = text.split("\n");
      if (lines.length === 1) made.textContent = text;
      else lines.forEach((line, k) => made.append(shape("tspan", { x: attributes.x, dy: k ? "1.15em" : `${-0.575 * (lines.length - 1)}em` }, line)));
    }
    return made;
  }

  // About `most` round numbers in a range.
  function round(from, to, most, whole) {
    const raw = (to - from) / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(whole ? 1 : 0, [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999));
    const found = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  const plain = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 4 });

  // The range of an axis where it is not given: that of the points.
  function rangeOf(axis, traces, key) {
    if (axis.range) return axis.range;
    const values = traces.flatMap((trace) => [...trace[key]]).filter((value) => value !== null);
    const [least, most] = [axis.tozero ? 0 : Math.min(...values), Math.max(...values)];
    const pad = 0.05 * (most - least) || 0.5;
    return [axis.tozero ? 0 : least - pad, most + pad];
  }

  function ticksOf(axis, range, pixels) {
    const most = Math.max(2, Math.floor(pixels / (axis.vertical ? 42 : 64)));
    if (axis.tickvals) {
      const each = Math.ceil(axis.tickvals.length / Math.max(2, Math.floor(pixels / (axis.vertical ? 16 : 30))));
      return axis.tickvals.filter((_, k) => k % each === 0).map((value) => [value, plain(value)]);
    }
    return round(range[0], range[1], most, axis.whole).map((value) => [value, axis.percent ? `${Math.round(100 * value)}%` : plain(value)]);
  }

  function legendOf(traces, width) {
    const [items, at] = [[], { x: 0, row: 0 }];
    for (const trace of traces.filter((each) => each.name && each.showlegend !== false)) {
      const need = 44 + wide(trace.name);
      if (at.x && at.x + need > width) Object.assign(at, { x: 0, row: at.row + 1 });
      items.push({ trace, x: at.x, y: (at.row + 0.5) * LEGEND_ROW });
      at.x += need;
    }
    return { items, height: items.length ? (at.row + 1) * LEGEND_ROW + 6 : 0 };
  }

  const strokeOf = (line) => ({ fill: "none", stroke: line.color, "stroke-width": line.width, "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.dash], "stroke-linejoin": "round" });

  // A value at each count: a step as wide as the counts are apart, from the middle before it to the middle behind it.
  function stepsShape(trace, px, py) {
    const half = step(trace.x) / 2;
    const path = trace.x.map((x, k) => `${k ? "L" : "M"}${px(x - half).toFixed(1)} ${py(trace.y[k]).toFixed(1)}L${px(x + half).toFixed(1)} ${py(trace.y[k]).toFixed(1)}`);
    return shape("path", { d: path.join(""), ...strokeOf(trace.line) });
  }

  const step = (values) => (values.length > 1 ? values[1] - values[0] : 1);

  function lineShape(trace, px, py) {
    if (trace.line.shape === "steps") return stepsShape(trace, px, py);
    let [path, last] = ["", null];
    trace.x.forEach((x, k) => {
      const [at, height] = [px(x), py(trace.y[k])];
      path += `${last === null ? "M" : "L"}${at.toFixed(1)} ${height.toFixed(1)}`;
      last = height;
    });
    return shape("path", { d: path, ...strokeOf(trace.line) });
  }

  const turned = (x, y, text, name) => shape("text", { class: name, x, y, transform: `rotate(-90 ${x} ${y})`, "text-anchor": "middle" }, text);

  // Where everything stands: the box of the plot inside its element, and the pixels of a number on each axis.
  function frame(div, size) {
    const { data, layout } = div;
    const [width, height] = [size ? size[0] : div.clientWidth || 660, size ? size[1] : div.clientHeight || 400];
    const legend = legendOf(data, width - 20);
    const [xAxis, yAxis] = [{ whole: true, ...layout.xaxis }, { vertical: true, ...layout.yaxis }];
    const ranges = [rangeOf(xAxis, data, "x"), rangeOf(yAxis, data, "y")];
    const box = { top: legend.height + 8, height: height - legend.height - 54 };
    const yTicks = ticksOf(yAxis, ranges[1], box.height);
    box.left = 12 + TICK + (yAxis.title.text ? 20 : 0) + Math.max(0, ...yTicks.map(([, text]) => wide(text, 12)));
    box.width = width - box.left - 14;
    const px = (x) => box.left + ((x - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * box.width;
    const py = (y) => box.top + (1 - (y - ranges[1][0]) / (ranges[1][1] - ranges[1][0])) * box.height;
    return { width, height, legend, xAxis, yAxis, ranges, box, yTicks, xTicks: ticksOf(xAxis, ranges[0], box.width), px, py };
  }

  function render(div, size = null) {
    const { data, layout } = div;
    const at = frame(div, size);
    const { box, px, py } = at;
    const svg = shape("svg", { class: "main-svg", "aria-hidden": "true", width: at.width, height: at.height, viewBox: `0 0 ${at.width} ${at.height}`, "font-family": FONT, "font-size": 13, fill: "#1d2733" });
    svg.append(shape("rect", { x: box.left, y: box.top, width: box.width, height: box.height, fill: layout.ground || "#fff" }));
    const [middle, bottom] = [box.left + box.width / 2, box.top + box.height];
    for (const [value, text] of at.xTicks) {
      svg.append(shape("path", { d: `M${px(value)} ${bottom}v${TICK}`, stroke: "#56616e" }), shape("text", { x: px(value), y: bottom + 18, "text-anchor": "middle", "font-size": 12 }, text));
      if (at.xAxis.grid) svg.append(shape("path", { d: `M${px(value)} ${box.top}v${box.height}`, stroke: "#e3e7eb" }));
    }
    for (const [value, text] of at.yTicks) {
      svg.append(shape("path", { d: `M${box.left} ${py(value)}h${-TICK}`, stroke: "#56616e" }), shape("text", { x: box.left - TICK - 3, y: py(value), dy: "0.35em", "text-anchor": "end", "font-size": 12 }, text));
      if (at.yAxis.grid) svg.append(shape("path", { d: `M${box.left} ${py(value)}h${box.width}`, stroke: "#e3e7eb" }));
    }
    svg.append(shape("text", { class: "xtitle", x: middle, y: bottom + 38, "text-anchor": "middle" }, at.xAxis.title.text));
    if (at.yAxis.title.text) svg.append(turned(14, box.top + box.height / 2, at.yAxis.title.text, "ytitle"));
    const lines = shape("g", { class: "lines" });
    for (const trace of data) if (trace.x.length) lines.append(lineShape(trace, px, py));
    svg.append(lines);
    for (const { trace, x, y } of at.legend.items) {
      const left = box.left + x > 0 ? 10 + x : 10;
      svg.append(shape("path", { d: `M${left} ${y}h26`, ...strokeOf(trace.line) }));
      svg.append(shape("text", { class: "legendtext", x: left + 32, y, dy: "0.35em" }, trace.name));
    }
    const tip = Text.element("div", { class: "plot-tip", hidden: "" });
    div.replaceChildren(svg, saver(div, svg), tip);
    div.frame = at;
    svg.addEventListener("pointermove", (event) => pointAt(div, tip, event));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  function place(div, event) {
    const { left, top } = div.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  // The point that the pointer is at, of those that have something to say.
  function nearest(div, x, y) {
    const { px, py } = div.frame;
    let [best, least] = [null, 24];
    for (const trace of div.data) {
      if (!trace.hovertext) continue;
      trace.x.forEach((each, k) => {
        const far = Math.hypot(px(each) - x, py(trace.y[k]) - y);
        if (far < least) [best, least] = [{ text: trace.hovertext[k] }, far];
      });
    }
    return best;
  }

  function pointAt(div, tip, event) {
    const [x, y] = place(div, event);
    const found = nearest(div, x, y);
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found.text;
    tip.style.left = `${Math.max(0, Math.min(x + 14, div.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 16}px`;
  }

  function saver(div, svg) {
    const button = Text.element("button", { type: "button", class: "save", title: "Save this plot as an SVG file", "aria-label": "Save this plot as an SVG file" }, "⤓");
    button.addEventListener("click", () => {
      const link = Text.element("a", { href: URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg).replace(` aria-hidden="true"`, "")], { type: "image/svg+xml" })), download: `${div.id}.svg` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    return button;
  }

  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.clientWidth && target.frame && (target.clientWidth !== target.frame.width || target.clientHeight !== target.frame.height)) render(target);
  });

  function draw(div, traces, layout) {
    Object.assign(div, { data: traces, layout });
    render(div);
    watch.observe(div);
  }

  // On a narrow screen the rows of wide tables are cards: each cell knows its title.
  for (const table of document.querySelectorAll("table.wide")) {
    const titles = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => { if (cell.tagName === "TD") cell.dataset.title = titles[k]; });
  }

  // A page has no date in it, so that a run that is repeated writes the same bytes: the date is the file's.
  document.getElementById("written").textContent = ` Written on ${new Date(document.lastModified).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}.`;

  return { draw, resize: render };
})();
