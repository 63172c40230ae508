// The plots of a sweep: the trade-off front, and a measure over the grid as a map or, with one factor, as a line.
// The share of the majority class stands in each of them.
const Sweeps = (() => {
  const { WARN, INK, BLUE, SHARES, SHARE_AXIS, layout, scale, lineTrace } = Charts;
  const GREY = "#9aa4ae";
  const [LETTER, LINE] = [6.5, 16]; // about how wide and high a letter of a point's name is, in pixels
  const MARGIN = { l: 62, r: 24, t: 66, b: 54 };

  const kind = (level) => (level.constant ? "constant" : level.unbeaten ? "unbeaten" : "beaten");
  const KINDS = {
    beaten: { name: "dominated by another level", marker: { color: GREY, size: 9, symbol: "circle" } },
    constant: { name: "no better than a constant answer", marker: { color: WARN, size: 11, symbol: "x-thin", line: { color: WARN, width: 3 } } },
    unbeaten: { name: "Pareto-optimal", marker: { color: BLUE, size: 13, symbol: "circle", line: { color: INK, width: 1.5 } } },
  };
  const short = (data, level) => data.varied.map((f) => data.factors[f].values[level.at[f]]).join(", ") || level.noise;
  const percent = (share) => Text.percent(share);

  // The unbeaten of two numbers alone, more of each being better: from the most accurate down.
  function staircase(levels, of) {
    const sorted = levels.map((level, n) => [of(level), level.accuracy, n]).sort((a, b) => b[1] - a[1] || b[0] - a[0]);
    const front = [];
    for (const point of sorted) if (!front.length || point[0] > front[front.length - 1][0]) front.push(point);
    return front;
  }

  // Levels that stand at the same point of the plot, the unbeaten ones first; one of them carries the name of all.
  function crowds(data, measure) {
    const at = new Map();
    data.levels.forEach((level, n) => {
      const key = `${measure.of(level)} ${level.accuracy}`;
      at.set(key, [...(at.get(key) || []), n]);
    });
    const found = [];
    for (const crowd of at.values()) {
      crowd.sort((a, b) => data.levels[b].unbeaten - data.levels[a].unbeaten || a - b);
      for (const n of crowd) found[n] = crowd;
    }
    return found;
  }

  // The line through that front; null where it is a single point.
  function frontLine(data, measure) {
    const line = { x: [], y: [] };
    for (const [x, y] of staircase(data.levels.filter((level) => !level.constant), measure.of)) {
      if (line.x.length) { line.x.push(line.x[line.x.length - 1]); line.y.push(y); }
      line.x.push(x); line.y.push(y);
    }
    return line.x.length > 1 ? line : null;
  }

  // Of the points' names those that do not lie on one another, the unbeaten levels' first; hovering tells the others.
  function apart(levels, names, pixels) {
    const placed = [];
    const rank = (n) => ["unbeaten", "constant", "beaten"].indexOf(kind(levels[n]));
    for (const n of levels.map((_, n) => n).sort((a, b) => rank(a) - rank(b) || a - b)) {
      const [x, y] = pixels(levels[n]);
      const half = (names[n].length * LETTER) / 2;
      const free = placed.every((other) => Math.abs(y - other.y) > LINE || Math.abs(x - other.x) > half + other.half);
      if (names[n] && free) placed.push({ n, x, y, half });
    }
    const kept = new Set(placed.map((each) => each.n));
    return names.map((name, n) => (kept.has(n) ? name : ""));
  }

  function front(div, data, measure) {
    const crowd = crowds(data, measure);
    const name = (level, n) => (crowd[n][0] !== n ? "" : short(data, level) + (crowd[n].length > 1 ? ` (+${crowd[n].length - 1})` : ""));
    const ends = data.levels.map(measure.of);
    const pad = 0.06 * Math.max(...ends) || 0.5;
    const across = [Math.min(0, ...ends) - pad, Math.max(...ends) + pad];
    const up = [-0.03, 1.08];
    const wide = (div.clientWidth - MARGIN.l - MARGIN.r) / (across[1] - across[0]);
    const tall = (div.clientHeight - MARGIN.t - MARGIN.b) / (up[1] - up[0]);
    const names = apart(data.levels, data.levels.map(name), (level) => [measure.of(level) * wide, level.accuracy * tall]);
    const told = (n) => {
      const names = crowd[n].slice(0, 6).map((m) => `${data.levels[m].noise}: ${data.levels[m].verdict}`);
      const more = crowd[n].length > 6 ? [`… and ${crowd[n].length - 6} more`] : [];
      return [...names, ...more, `accuracy ${percent(data.levels[n].accuracy)}`, `${measure.name} ${measure.show(measure.of(data.levels[n]))}`].join("\n");
    };
    const traces = [];
    const line = frontLine(data, measure);
    if (line) traces.push(lineTrace(line, "front of these two", { color: BLUE, width: 2, dash: "dot" }));
    for (const [which, look] of Object.entries(KINDS)) {
      const numbers = data.levels.map((_, n) => n).filter((n) => kind(data.levels[n]) === which);
      const levels = numbers.map((n) => data.levels[n]);
      traces.push({
        type: "scatter", mode: "markers+text", name: look.name, marker: look.marker,
        x: levels.map(measure.of), y: levels.map((level) => level.accuracy), customdata: numbers,
        text: numbers.map((n) => names[n]),
        hovertext: numbers.map(told),
      });
    }
    traces.push(lineTrace({ x: across, y: [data.majority, data.majority] }, `majority-class share ${percent(data.majority)}`, { color: WARN, dash: "dash", width: 2.5 }));
    const shown = layout(measure.name, "accuracy", { ground: "#fff" });
    Object.assign(shown.yaxis, { ...SHARE_AXIS, range: up });
    Object.assign(shown.xaxis, { range: across, whole: false, grid: true, percent: measure.share });
    SvgPlot.draw(div, traces, shown);
  }

  const mark = (level) => (level.constant ? " ✗" : level.unbeaten ? " ★" : "");

  // A measure over one factor, the levels in their order.
  function line(div, data, measure, view) {
    const factor = data.factors[view.across];
    const levels = view.levels.filter((level) => measure.of(level) !== null);
    const x = levels.map((level) => level.at[view.across]);
    const traces = [lineTrace({ x, y: levels.map(measure.of) }, measure.name, { color: BLUE, width: 2.5 })];
    for (const [which, look] of Object.entries(KINDS)) {
      const some = levels.filter((level) => kind(level) === which);
      if (some.length) traces.push({
        type: "scatter", mode: "markers", name: look.name, marker: look.marker, x: some.map((level) => level.at[view.across]), y: some.map(measure.of),
        hovertext: some.map((level) => `${level.noise}: ${measure.show(measure.of(level))}`),
      });
    }
    const reach = [-0.5, factor.values.length - 0.5];
    if (measure.share) traces.push(lineTrace({ x: reach, y: [data.majority, data.majority] }, `majority-class share ${percent(data.majority)}`, { color: WARN, dash: "dash", width: 2.5 }));
    else traces.push(majorityMark(data));
    const shown = layout(`noise in ${factor.name}`, measure.name, { ground: "#fff" });
    Object.assign(shown.xaxis, { tickvals: factor.values.map((_, i) => i), ticktext: factor.values, range: reach });
    Object.assign(shown.yaxis, measure.share ? SHARE_AXIS : { grid: true, tozero: true });
    SvgPlot.draw(div, traces, shown);
  }

  // Where accuracy is no axis: the majority's share in the legend, with the mark of the levels that do not exceed it.
  const majorityMark = (data) => ({
    type: "scatter", mode: "markers", x: [null], y: [null], name: `at most the majority-class share ${percent(data.majority)}`, marker: { color: WARN, symbol: "x-thin", line: { color: WARN, width: 3 }, size: 10 },
  });

  // A measure over two factors; the others are held at the values of the view.
  function map(div, data, measure, view) {
    const [up, across] = [data.factors[view.up], data.factors[view.across]];
    const cell = (i, j) => view.levels.find((level) => level.at[view.up] === i && level.at[view.across] === j);
    const cells = up.values.map((_, i) => across.values.map((_, j) => cell(i, j)));
    const isShare = measure.share;
    const most = isShare ? 1 : Math.max(...data.levels.map(measure.of)) || 1;
    const marks = [0, 0.25, 0.5, 0.75, 1].filter((share) => Math.abs(share - data.majority) > 0.12);
    const ticks = isShare ? { tickvals: [...marks, data.majority], ticktext: [...marks.map((share) => `${100 * share}%`), `majority\nclass ${percent(data.majority)}`], bold: marks.length } : {};
    const traces = [
      { type: "heatmap", x: across.values.map((_, j) => j), y: up.values.map((_, i) => i), z: cells.map((row) => row.map(measure.of)), zmin: 0, zmax: most, colours: SHARES,
        colorbar: scale(div, "", ticks),
        hovertext: cells.map((row) => row.map((level) => `${level.noise}\n${measure.name} ${measure.show(measure.of(level))}\n${level.verdict}`)) },
    ];
    traces.push(majorityMark(data));
    const shown = layout(`noise in ${across.name}`, `noise in ${up.name}`);
    for (const [axis, factor] of [[shown.xaxis, across], [shown.yaxis, up]]) Object.assign(axis, { tickvals: factor.values.map((_, i) => i), ticktext: factor.values, range: [-0.5, factor.values.length - 0.5] });
    shown.annotations = cells.flatMap((row, i) => row.map((level, j) => ({ x: j, y: i, text: measure.show(measure.of(level)) + mark(level) })));
    SvgPlot.draw(div, traces, shown);
  }

  return { front, frontLine, line, map };
})();
