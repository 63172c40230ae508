"use strict";
// Plots as SVG: maps of colours, lines, points, a legend, a scale of colours, and what the pointer is at.
//
// A plot is a list of traces and a layout, kept at its element as `data` and `layout`. A trace is a map ("heatmap": x, y, z,
// zmin, zmax, colours) or a line with points ("scatter": x, y, mode, line, marker, text). `hovertext` says what there is at
// each point. Texts are text nodes: nothing in a name is markup. `\n` begins a new line.
const SvgPlot = (() => {
  const [LEGEND_ROW, TICK, SCALE] = [20, 5, 16];
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

  // The colour at a share of the way through a palette: between its colours, or the nearest one of them.
  function mix(colours, share, steps) {
    const at = Math.min(1, Math.max(0, share)) * (colours.length - 1);
    if (steps) return colours[Math.round(at)];
    const [k, rest] = [Math.min(colours.length - 2, Math.floor(at)), at - Math.min(colours.length - 2, Math.floor(at))];
    const part = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
    return `#${[0, 1, 2].map((i) => Math.round(part(colours[k], i) * (1 - rest) + part(colours[k + 1], i) * rest).toString(16).padStart(2, "0")).join("")}`;
  }

  // Black or white, whichever is read more easily on a colour.
  function inkOn(colour) {
    const [r, g, b] = [1, 3, 5].map((i) => (parseInt(colour.slice(i, i + 2), 16) / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.26 ? "#1d2733" : "#ffffff";
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
      return axis.tickvals.map((value, k) => [value, axis.ticktext ? axis.ticktext[k] : plain(value)]).filter((_, k) => axis.ticktext || k % each === 0);
    }
    if (axis.type === "log") return round(Math.ceil(range[0]), range[1], most, true).map((power) => [10 ** power, power ? `1e${power}` : "1"]);
    return round(range[0], range[1], most, axis.whole).map((value) => [value, axis.percent ? `${Math.round(100 * value)}%` : plain(value)]);
  }

  function legendOf(traces, width) {
    const [items, at] = [[], { x: 0, row: 0 }];
    for (const trace of traces.filter((each) => each.type === "scatter" && each.name && each.showlegend !== false)) {
      const need = 44 + wide(trace.name);
      if (at.x && at.x + need > width) Object.assign(at, { x: 0, row: at.row + 1 });
      items.push({ trace, x: at.x, y: (at.row + 0.5) * LEGEND_ROW });
      at.x += need;
    }
    return { items, height: items.length ? (at.row + 1) * LEGEND_ROW + 6 : 0 };
  }

  function pointShape(marker, x, y) {
    const [size, edge] = [marker.size / 2, marker.line || {}];
    const look = { fill: marker.color, stroke: edge.color, "stroke-width": edge.width };
    if (marker.symbol === "x-thin") return shape("path", { d: `M${x - size * 0.7} ${y - size * 0.7}l${size * 1.4} ${size * 1.4}m0 ${-size * 1.4}l${-size * 1.4} ${size * 1.4}`, ...look });
    if (marker.symbol === "square") return shape("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size, ...look });
    if (marker.symbol === "diamond") return shape("path", { d: `M${x} ${y - size}l${size} ${size}l${-size} ${size}l${-size} ${-size}z`, ...look });
    return shape("circle", { cx: x, cy: y, r: size, ...look });
  }

  const strokeOf = (line) => ({ fill: "none", stroke: line.color, "stroke-width": line.width, "stroke-opacity": line.opacity, "stroke-dasharray": DASHES[line.dash], "stroke-linejoin": "round" });

  // A value at each count: a step as wide as the counts are apart, from the middle before it to the middle behind it.
  function stepsShape(trace, px, py) {
    const half = step(trace.x) / 2;
    const path = trace.x.map((x, k) => `${k ? "L" : "M"}${px(x - half).toFixed(1)} ${py(trace.y[k]).toFixed(1)}L${px(x + half).toFixed(1)} ${py(trace.y[k]).toFixed(1)}`);
    return shape("path", { d: path.join(""), ...strokeOf(trace.line) });
  }

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

  function scatter(group, trace, px, py) {
    if (trace.mode.includes("lines") && trace.x.length) group.append(lineShape(trace, px, py));
    trace.x.forEach((x, k) => {
      if (x === null) return;
      if (trace.mode.includes("markers")) group.append(pointShape({ color: (trace.line || {}).color, ...trace.marker }, px(x), py(trace.y[k])));
      if (trace.mode.includes("text") && trace.text[k]) {
        group.append(shape("text", { class: "textpoint", x: px(x), y: py(trace.y[k]) - trace.marker.size / 2 - 4, "text-anchor": "middle", "font-size": 11, fill: "#1d2733" }, trace.text[k]));
      }
    });
  }

  const share = (trace, value) => (value - trace.zmin) / (trace.zmax - trace.zmin);
  const step = (values) => (values.length > 1 ? values[1] - values[0] : 1);

  function heatmap(group, trace, px, py) {
    const [w, h] = [step(trace.x) / 2, step(trace.y) / 2];
    const gap = Math.min(Math.abs(px(2 * w) - px(0)), Math.abs(py(2 * h) - py(0))) > 6 ? 1 : 0;
    trace.y.forEach((y, i) => trace.x.forEach((x, j) => {
      const value = trace.z[i][j];
      if (value === null) return;
      const [left, right, top, bottom] = [px(x - w), px(x + w), py(y + h), py(y - h)];
      group.append(shape("rect", { x: left.toFixed(1), y: top.toFixed(1), width: (right - left - gap).toFixed(1), height: (bottom - top - gap).toFixed(1), fill: mix(trace.colours, share(trace, value), trace.steps) }));
    }));
    if (!gap) group.setAttribute("shape-rendering", "crispEdges");
  }

  // What stands in the cells of a map, where all of it fits.
  function cellTexts(group, trace, notes, px, py) {
    const room = [px(step(trace.x)) - px(0), py(0) - py(step(trace.y))];
    if (!notes.length || Math.max(...notes.map((note) => wide(note.text, 12))) + 6 > room[0] || room[1] < 16) return;
    for (const { x, y, text } of notes) {
      const colour = mix(trace.colours, share(trace, trace.z[trace.y.indexOf(y)][trace.x.indexOf(x)]), trace.steps);
      group.append(shape("text", { class: "cell", x: px(x), y: py(y), dy: "0.35em", "text-anchor": "middle", "font-size": 12, fill: inkOn(colour) }, text));
    }
  }

  function scaleShapes(svg, trace, box) {
    const { colorbar } = trace;
    const lying = colorbar.orientation === "h";
    const n = 60;
    const [long, x0, y0] = lying ? [box.width, box.left, box.top + box.height + 58] : [box.height, box.left + box.width + 14, box.top];
    for (let k = 0; k < n; k++) {
      const fill = mix(trace.colours, (k + 0.5) / n, trace.steps);
      const piece = lying ? { x: x0 + (long * k) / n, y: y0, width: long / n + 0.5, height: 12 } : { x: x0, y: y0 + long * (1 - (k + 1) / n), width: SCALE, height: long / n + 0.5 };
      svg.append(shape("rect", { ...piece, fill }));
    }
    const vals = colorbar.tickvals || round(trace.zmin, trace.zmax, 5, false);
    vals.forEach((value, k) => {
      const at = share(trace, value);
      const bold = k === colorbar.bold ? "600" : undefined;
      const text = colorbar.ticktext ? colorbar.ticktext[k] : plain(value);
      svg.append(lying ? shape("text", { x: x0 + long * at, y: y0 + 27, "text-anchor": at > 0.97 ? "end" : "middle", "font-size": 11, "font-weight": bold }, text)
        : shape("text", { x: x0 + SCALE + 5, y: y0 + long * (1 - at), dy: "0.35em", "font-size": 12, "font-weight": bold }, text));
    });
    if (!colorbar.title.text) return;
    if (lying) svg.append(shape("text", { x: x0 + long, y: y0 - 4, "text-anchor": "end", "font-size": 11 }, colorbar.title.text));
    else svg.append(turned(box.right - 6, box.top + box.height / 2, colorbar.title.text, ""));
  }

  const turned = (x, y, text, name) => shape("text", { class: name, x, y, transform: `rotate(-90 ${x} ${y})`, "text-anchor": "middle" }, text);

  // Where everything stands: the box of the plot inside its element, and the pixels of a number on each axis.
  function frame(div, size) {
    const { data, layout } = div;
    const [width, height] = [size ? size[0] : div.clientWidth || 660, size ? size[1] : div.clientHeight || 400];
    const legend = legendOf(data, width - 20);
    const scaled = data.find((trace) => trace.colorbar);
    const lying = scaled && scaled.colorbar.orientation === "h";
    const marks = scaled && !lying ? (scaled.colorbar.ticktext || ["0.000"]).map((text) => wide(text, 12)) : [0];
    const right = scaled && !lying ? 14 + SCALE + 8 + Math.max(...marks) + (scaled.colorbar.title.text ? 24 : 4) : 14;
    const [xAxis, yAxis] = [{ whole: true, ...layout.xaxis }, { vertical: true, ...layout.yaxis }];
    const ranges = [rangeOf(xAxis, data, "x"), rangeOf(yAxis, data, "y")];
    const box = { top: legend.height + 8, height: 0, right: width };
    box.height = height - box.top - 46 - (lying ? 52 : 0);
    const yTicks = yAxis.hidden ? [] : ticksOf(yAxis, ranges[1], box.height);
    box.left = 12 + TICK + (yAxis.title.text ? 20 : 0) + Math.max(0, ...yTicks.map(([, text]) => wide(text, 12)));
    box.width = width - box.left - right;
    const px = (x) => box.left + ((x - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * box.width;
    const y01 = (y) => ((yAxis.type === "log" ? Math.log10(y) : y) - ranges[1][0]) / (ranges[1][1] - ranges[1][0]);
    const py = (y) => box.top + (1 - y01(y)) * box.height;
    return { width, height, legend, scaled, xAxis, yAxis, ranges, box, yTicks, xTicks: ticksOf(xAxis, ranges[0], box.width), px, py };
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
    const maps = shape("g", {});
    const lines = shape("g", { class: "lines" });
    for (const trace of data) if (trace.type === "heatmap") { heatmap(maps, trace, px, py); cellTexts(maps, trace, layout.annotations || [], px, py); }
    svg.append(maps, lines);
    if (at.scaled) scaleShapes(svg, at.scaled, box);
    for (const { trace, x, y } of at.legend.items) {
      const left = box.left + x > 0 ? 10 + x : 10;
      if (trace.mode.includes("lines")) svg.append(shape("path", { d: `M${left} ${y}h26`, ...strokeOf(trace.line) }));
      if (trace.mode.includes("markers")) svg.append(pointShape({ color: (trace.line || {}).color, ...trace.marker, size: Math.min(12, trace.marker.size) }, left + 13, y));
      svg.append(shape("text", { class: "legendtext", x: left + 32, y, dy: "0.35em" }, trace.name));
    }
    const tip = Text.element("div", { class: "plot-tip", hidden: "" });
    div.replaceChildren(svg, saver(div, svg), tip);
    div.frame = at;
    moveLines(div);
    svg.addEventListener("pointermove", (event) => pointAt(div, tip, event));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.addEventListener("click", (event) => {
      const found = nearest(div, ...place(div, event));
      if (found) div.dispatchEvent(new CustomEvent("point", { detail: found }));
    });
  }

  function moveLines(div) {
    const group = div.querySelector(".lines");
    group.replaceChildren();
    for (const trace of div.data) if (trace.type === "scatter") scatter(group, trace, div.frame.px, div.frame.py);
  }

  function place(div, event) {
    const { left, top } = div.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  // The point or cell that the pointer is at, of those that have something to say.
  function nearest(div, x, y) {
    const { px, py } = div.frame;
    let [best, least] = [null, 24];
    for (const trace of div.data) {
      if (!trace.hovertext) continue;
      if (trace.type === "heatmap") {
        const j = trace.x.findIndex((each) => Math.abs(px(each) - x) <= Math.abs(px(step(trace.x)) - px(0)) / 2);
        const i = trace.y.findIndex((each) => Math.abs(py(each) - y) <= Math.abs(py(step(trace.y)) - py(0)) / 2);
        if (i >= 0 && j >= 0 && trace.z[i][j] !== null) best = { text: trace.hovertext[i][j] };
      } else trace.x.forEach((each, k) => {
        const far = Math.hypot(px(each) - x, py(trace.y[k]) - y);
        if (far < least) [best, least] = [{ text: trace.hovertext[k], custom: trace.customdata && trace.customdata[k] }, far];
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

  return { draw, move: moveLines, resize: render, mix, inkOn };
})();
