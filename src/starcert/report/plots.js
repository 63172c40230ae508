// The two plots: the share of graphs certified at each radius, and one graph's frontier.
// `view` says which slice is drawn and which of its axes stands upright: { p, up, across, turned }.
const Plots = (() => {
  const { CONFIG, WARN, INK, BLUE, TONES, layout, scale, lineTrace } = Charts;

  const step = (ticks) => (ticks.length > 1 ? ticks[1] - ticks[0] : 1);
  const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
  const axisTitle = (data, axis) => `flips in ${Text.plain(data.axes[axis])}`;

  // The border of a down-set of cells: row i covers its first covers[i] cells.
  function border(covers, across, up) {
    const [x, y] = [[], []];
    covers.forEach((certified, i) => {
      if (!certified) return;
      const edge = (certified - 0.5) * step(across);
      x.push(edge, edge);
      y.push((i - 0.5) * step(up), (i + 0.5) * step(up));
    });
    if (y.length) { x.push(-0.5 * step(across)); y.push(y[y.length - 1]); }
    return { x, y };
  }

  // The same cells with the axes exchanged.
  function turn(covers) {
    return Array.from({ length: Math.max(0, ...covers) }, (_, j) => covers.filter((certified) => certified > j).length);
  }

  // What a slice counts: how many graphs (with a known class, if any class is known), how many of them at each radius,
  // and the most frequent class among them. Graphs with nothing to flip on one of its axes are not among them.
  function counted(data, p, tables = data.surface) {
    const known = data.labelled > 0;
    const { surface } = data;
    return { known, whole: (known ? surface.labelled : surface.graphs)[p], counts: (known ? tables.right : tables.certified)[p], majority: surface.majority[p] };
  }

  function surface(div, data, view, tables = data.surface) {
    const slice = counted(data, view.p, tables);
    const { whole } = slice;
    if (!whole) { Plotly.purge(div); return; }
    const known = slice.majority !== null;
    const majority = known && slice.majority[1] / whole;
    const what = known ? "right and certified" : "certified";
    let { counts } = slice;
    if (view.across === null) {
      const x = data.surface.ticks[view.up];
      const traces = [{
        type: "scatter", mode: x.length > 60 ? "lines" : "lines+markers", name: `share of ${data.words.many} ${what}`, x, y: counts[0].map((n) => n / whole),
        line: { shape: "hv", color: BLUE, width: 2.5 }, marker: { size: 8 }, hovertemplate: "%{x} flips: %{y:.1%}<extra></extra>",
      }];
      if (known) traces.push(lineTrace({ x: [x[0], x[x.length - 1]], y: [majority, majority] }, "majority-class share", { color: WARN, dash: "dash", width: 2.5 }));
      const shown = layout(axisTitle(data, view.up), `share ${what}`, { plot_bgcolor: "#fff", showlegend: true });
      Object.assign(shown.yaxis, { range: [-0.02, 1.04], tickformat: ".0%", showgrid: true, gridcolor: "#e3e7eb" });
      shown.xaxis.range = [-0.5, Math.max(...x) + 0.5];
      if (div.clientWidth < 560) Object.assign(shown.legend, { y: -0.22, yanchor: "top" }); // clear of the buttons
      Plotly.react(div, traces, shown, CONFIG);
      return;
    }
    if (view.turned) counts = transpose(counts);
    const [up, across] = [data.surface.ticks[view.up], data.surface.ticks[view.across]];
    const marks = [0, 0.25, 0.5, 0.75, 1].filter((share) => !known || Math.abs(share - majority) > 0.12);
    const traces = [{
      type: "heatmap", x: across, y: up, z: counts.map((row) => row.map((n) => n / whole)), zmin: 0, zmax: 1, colorscale: "Cividis",
      colorbar: scale(div, div.clientWidth < 560 ? "" : `share ${what}`, {
        tickvals: known ? [...marks, majority] : marks,
        ticktext: [...marks.map((share) => `${100 * share}%`), ...(known ? [`<b>majority<br>class ${Text.percent(majority)}</b>`] : [])],
      }),
      hovertemplate: `${axisTitle(data, view.up)}: %{y}<br>${axisTitle(data, view.across)}: %{x}<br>${what}: %{z:.1%}<extra></extra>`,
      xgap: across.length < 40 ? 1 : 0, ygap: up.length < 40 ? 1 : 0,
    }];
    if (known) {
      const better = border(counts.map((row) => row.filter((n) => n > slice.majority[1]).length), across, up);
      traces.push(lineTrace(better, "", { color: "#fff", width: 6 }, { showlegend: false }));
      traces.push(lineTrace(better, "below: more than the majority-class share", { color: WARN, width: 3 }));
    }
    const shown = layout(axisTitle(data, view.across), axisTitle(data, view.up), { showlegend: true, margin: { l: 62, r: 16, t: 40, b: 54 } });
    shown.yaxis.tickformat = ",d";
    for (const [axis, ticks] of [[shown.xaxis, across], [shown.yaxis, up]]) few(axis, ticks);
    Plotly.react(div, traces, shown, CONFIG);
  }

  // For each axis the share certified, and that right and certified, by the number of flips there alone.
  function curves(div, data) {
    const traces = data.axes.flatMap((name, axis) => {
      const p = data.pairs.findIndex((pair) => pair.includes(axis));
      const along = (table) => (data.pairs[p].length > 1 && data.pairs[p][0] === axis ? table[p].map((row) => row[0]) : table[p][0]);
      const x = data.surface.ticks[axis];
      const line = { shape: "hv", color: Drawing.colour(axis), width: 2.5 };
      const kinds = [["certified", data.surface.certified, data.surface.graphs[p], {}], ["right and certified", data.surface.right, data.surface.labelled[p], { dash: "dash" }]];
      return kinds.filter(([, , whole]) => whole).map(([what, table, whole, style]) => ({
        type: "scatter", mode: "lines", name: `${Text.plain(name)}: ${what}`, x, y: along(table).map((n) => n / whole), line: { ...line, ...style },
        hovertemplate: `%{x} flips in ${Text.plain(name)}: %{y:.1%} ${what}<extra></extra>`,
      }));
    });
    const shown = layout("flips on one axis", `share of ${data.words.many}`, { plot_bgcolor: "#fff", showlegend: true });
    Object.assign(shown.yaxis, { range: [-0.02, 1.04], tickformat: ".0%", showgrid: true, gridcolor: "#e3e7eb" });
    if (Math.max(...data.surface.ticks.flat()) <= 12) shown.xaxis.dtick = 1;
    Plotly.react(div, traces, shown, CONFIG);
    div.setAttribute("aria-label", `Shares of ${data.words.many} certified, axis by axis.`);
  }

  // A short axis has one tick for each count.
  function few(axis, ticks) {
    axis.range = [-0.5 * step(ticks), (ticks.length - 0.5) * step(ticks)];
    if (ticks.length <= 12) axis.tickvals = ticks;
  }

  // The lines that move: the frontier at the slider, and the graph's stored one.
  function frontierLines(data, view, g, failure) {
    const limits = Frontier.limits(data, g);
    const covers = Frontier.covers(data, view.p, failure, limits);
    const stored = Frontier.counted(data, view.p, g);
    if (view.across === null) {
      const x = data.slack.ticks[view.up];
      return { covers, stored, line: { x: [-0.5 * step(x), x[x.length - 1] + 0.5 * step(x)], y: [failure, failure] } };
    }
    const [up, across] = [data.slack.ticks[view.up], data.slack.ticks[view.across]];
    const [first, last] = data.pairs[view.p].map((axis) => data.slack.ticks[axis]);
    const storedCovers = first.map((tick) => last.filter((t) => stored.some((radius) => radius[0] >= tick && radius[1] >= t)).length).filter(Boolean);
    const drawn = (cells) => border(view.turned ? turn(cells) : cells, across, up);
    return { covers, stored, line: drawn(covers), storedLine: drawn(storedCovers) };
  }

  function frontier(div, data, view, g, failure) {
    const limits = Frontier.limits(data, g);
    const lines = frontierLines(data, view, g, failure);
    const cut = (axis) => data.slack.ticks[axis].filter((tick) => limits[axis] === null || tick <= limits[axis]);
    const own = `its certificate${data.evidence ? " by p_A" : ""}${data.graphs.multi[g] ? " (multi-class margin)" : ""}`;
    if (view.across === null) {
      const x = cut(view.up);
      const slack = data.slack.rows[view.p][0].slice(0, x.length);
      const ends = lines.stored.length ? lines.stored[0][0] : -1;
      const traces = [
        { type: "scatter", mode: x.length > 60 ? "lines" : "lines+markers", name: "slack", x, y: slack, line: { color: BLUE, width: 1.2, dash: "dot" }, marker: { size: 8 },
          hovertemplate: "%{x} flips: slack %{y:.3e}<extra></extra>" },
        lineTrace(lines.line, "1 − p_lower", { color: WARN, width: 3 }),
        { type: "scatter", mode: "markers", name: own, x: ends < 0 ? [] : [ends], y: ends < 0 ? [] : [data.graphs.failure[g]], hoverinfo: "skip",
          marker: { symbol: "diamond", size: 12, color: INK } },
      ];
      const shown = layout(axisTitle(data, view.up), "failure probability", { plot_bgcolor: "#fff", showlegend: true, margin: { l: 70, r: 16, t: 40, b: 54 } });
      Object.assign(shown.yaxis, { type: "log", showgrid: true, gridcolor: "#e3e7eb", exponentformat: "power", dtick: 1, range: [Math.log10(data.slack.least) - 0.1, 0] });
      few(shown.xaxis, x);
      Plotly.react(div, traces, shown, CONFIG);
      return lines;
    }
    const [up, across] = [cut(view.up), cut(view.across)];
    const logs = data.slack.rows[view.p].map((row) => row.map((below) => Math.log10(below)));
    const at = (i, j) => { const [a, b] = view.turned ? [j, i] : [i, j]; return logs[a] && logs[a][b] !== undefined ? logs[a][b] : null; };
    const least = Math.floor(Math.log10(data.slack.least));
    const marks = Array.from({ length: -least }, (_, k) => least + k).filter((power) => power % Math.ceil(-least / 7) === 0);
    const traces = [
      { type: "heatmap", x: across, y: up, z: up.map((_, i) => across.map((_, j) => at(i, j))), zmin: least, zmax: Math.log10(0.5), colorscale: "Cividis",
        colorbar: scale(div, "slack", { tickvals: marks, ticktext: marks.map((power) => `1e${power}`) }),
        customdata: up.map((_, i) => across.map((_, j) => (at(i, j) === null ? "less than this page lists" : (10 ** at(i, j)).toExponential(2)))),
        hovertemplate: `${axisTitle(data, view.up)}: %{y}<br>${axisTitle(data, view.across)}: %{x}<br>slack: %{customdata}<extra></extra>`,
        hoverongaps: false, xgap: across.length < 40 ? 1 : 0, ygap: up.length < 40 ? 1 : 0 },
      lineTrace(lines.line, "", { color: "#fff", width: 6 }, { showlegend: false }),
      lineTrace(lines.line, "certified at this p_lower", { color: WARN, width: 3 }),
      lineTrace(lines.storedLine, own, { color: INK, width: 2.5, dash: "dot" }),
    ];
    const shown = layout(axisTitle(data, view.across), axisTitle(data, view.up), { showlegend: true, margin: { l: 62, r: 16, t: 56, b: 54 } });
    shown.yaxis.tickformat = ",d";
    for (const [axis, ticks] of [[shown.xaxis, across], [shown.yaxis, up]]) few(axis, ticks);
    Plotly.react(div, traces, shown, CONFIG);
    return lines;
  }

  // What is known of each radius, in four tones.
  function verdicts(div, data, view, g) {
    let { ticks, cells } = Frontier.verdicts(data, view.p, g);
    const one = view.across === null;
    if (view.turned) [ticks, cells] = [[ticks[1], ticks[0]], transpose(cells)];
    const [up, across] = one ? [[0], ticks[0]] : ticks;
    const said = (cell) => TONES[cell.kind][0] + (cell.why ? `<br>${Text.plain(cell.why)}` : "");
    const where = one ? `${axisTitle(data, view.up)}: %{x}` : `${axisTitle(data, view.up)}: %{y}<br>${axisTitle(data, view.across)}: %{x}`;
    const steps = TONES.flatMap(([, colour], k) => [[k / TONES.length, colour], [(k + 1) / TONES.length, colour]]);
    const traces = [{
      type: "heatmap", x: across, y: up, z: cells.map((row) => row.map((cell) => cell.kind)), zmin: -0.5, zmax: 3.5, colorscale: steps, showscale: false,
      customdata: cells.map((row) => row.map(said)), hovertemplate: `${where}<br>%{customdata}<extra></extra>`,
      xgap: across.length < 40 ? 1.5 : 0, ygap: up.length < 40 ? 1.5 : 0,
    }];
    for (const [name, color] of TONES) {
      traces.push({ type: "scatter", mode: "markers", name, x: [null], y: [null], marker: { symbol: "square", size: 13, color, line: { color: "#9aa4ae", width: 0.5 } } });
    }
    const shown = layout(axisTitle(data, one ? view.up : view.across), one ? "" : axisTitle(data, view.up), { plot_bgcolor: "#fff", showlegend: true, margin: { l: 62, r: 16, t: 56, b: 54 } });
    shown.yaxis.tickformat = ",d";
    few(shown.xaxis, across);
    if (one) Object.assign(shown.yaxis, { showticklabels: false, ticks: "", range: [-0.5, 0.5] });
    else few(shown.yaxis, up);
    Plotly.react(div, traces, shown, CONFIG);
  }

  function moveFrontier(div, data, view, g, failure) {
    const lines = frontierLines(data, view, g, failure);
    const which = view.across === null ? [1] : [1, 2];
    Plotly.restyle(div, { x: which.map(() => lines.line.x), y: which.map(() => lines.line.y) }, which);
  }

  return { counted, surface, curves, frontier, verdicts, moveFrontier };
})();
