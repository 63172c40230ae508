// The plots: the share of graphs certified at each radius, curves axis by axis, and one graph's frontier and verdicts.
// `view` says which slice is drawn and which of its axes is the y axis: { p, yAxis, xAxis, turned }.
const Plots = (() => {
  const { WARN, INK, BLUE, SHARES, SLACKS, SHARE_AXIS, TONES, layout, scale, lineTrace } = Charts;

  // Counts up to the first of which nothing is known.
  const knownPart = (counts) => (counts.includes(null) ? counts.slice(0, counts.indexOf(null)) : counts);

  const step = (ticks) => (ticks.length > 1 ? ticks[1] - ticks[0] : 1);
  const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
  const axisTitle = (data, axis) => data.axis_words[axis][2];

  // The border of a down-set of cells: row i covers its first covers[i] cells.
  function border(covers, xAxis, yAxis) {
    const [x, y] = [[], []];
    covers.forEach((certified, i) => {
      if (!certified) return;
      const edge = (certified - 0.5) * step(xAxis);
      x.push(edge, edge);
      y.push((i - 0.5) * step(yAxis), (i + 0.5) * step(yAxis));
    });
    if (y.length) { x.push(-0.5 * step(xAxis)); y.push(y[y.length - 1]); }
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
    if (!whole) { div.replaceChildren(); return; }
    const known = slice.majority !== null;
    const majority = known && slice.majority[1] / whole;
    const what = known ? "right and certified" : "certified";
    let { counts } = slice;
    if (view.xAxis === null) {
      const shares = knownPart(counts[0]).map((n) => n / whole);
      const x = data.surface.ticks[view.yAxis].slice(0, shares.length);
      const traces = [{
        type: "scatter", mode: x.length > 60 ? "lines" : "lines+markers", name: `share of ${data.words.many} ${what}`, x, y: shares,
        line: { shape: "steps", color: BLUE, width: 2.5 }, marker: { size: 8 }, hovertext: shares.map((share, k) => `${x[k]} flips: ${Text.percent(share)}`),
      }];
      if (known) traces.push(lineTrace({ x: [x[0], x[x.length - 1]], y: [majority, majority] }, "majority-class share", { color: WARN, dash: "dash", width: 2.5 }));
      const shown = layout(axisTitle(data, view.yAxis), `share ${what}`, { ground: "#fff" });
      Object.assign(shown.yaxis, SHARE_AXIS);
      shown.xaxis.range = [-0.5, Math.max(...x) + 0.5];
      SvgPlot.draw(div, traces, shown);
      return;
    }
    if (view.turned) counts = transpose(counts);
    const [yAxis, xAxis] = [data.surface.ticks[view.yAxis], data.surface.ticks[view.xAxis]];
    const marks = [0, 0.25, 0.5, 0.75, 1].filter((share) => !known || Math.abs(share - majority) > 0.12);
    const z = counts.map((row) => row.map((n) => (n === null ? null : n / whole)));
    const traces = [{
      type: "heatmap", x: xAxis, y: yAxis, z, zmin: 0, zmax: 1, colours: SHARES,
      colorbar: scale(div, div.clientWidth < 560 ? "" : `share ${what}`, {
        tickvals: known ? [...marks, majority] : marks, bold: known ? marks.length : undefined,
        ticktext: [...marks.map((share) => `${100 * share}%`), ...(known ? [`majority\nclass ${Text.percent(majority)}`] : [])],
      }),
      hovertext: z.map((row, i) => row.map((share, j) => `${axisTitle(data, view.yAxis)}: ${yAxis[i]}\n${axisTitle(data, view.xAxis)}: ${xAxis[j]}\n${what}: ${share === null ? "–" : Text.percent(share)}`)),
    }];
    if (known) {
      const better = border(counts.map((row) => row.filter((n) => n > slice.majority[1]).length), xAxis, yAxis);
      traces.push(lineTrace(better, "", { color: "#fff", width: 6 }, { showlegend: false }));
      traces.push(lineTrace(better, "below: more than the majority-class share", { color: WARN, width: 3 }));
    }
    const shown = layout(axisTitle(data, view.xAxis), axisTitle(data, view.yAxis), {
      annotations: z.flatMap((row, i) => row.map((share, j) => ({ x: xAxis[j], y: yAxis[i], text: share === null ? "–" : `${Math.round(100 * share)}%` }))),
    });
    for (const [axis, ticks] of [[shown.xaxis, xAxis], [shown.yaxis, yAxis]]) few(axis, ticks);
    SvgPlot.draw(div, traces, shown);
  }

  // The slice to begin with: of those that count graphs, the one with the most different shares; among equals, the larger shares.
  function telling(data) {
    const worth = data.pairs.map((_, p) => {
      const { whole, counts } = counted(data, p);
      const cells = counts.flat();
      return whole ? new Set(cells).size + cells.reduce((sum, n) => sum + n, 0) / (whole * cells.length + 1) : 0;
    });
    return worth.indexOf(Math.max(...worth));
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
    if (view.xAxis === null) {
      const x = data.slack.ticks[view.yAxis];
      return { covers, stored, line: { x: [-0.5 * step(x), x[x.length - 1] + 0.5 * step(x)], y: [failure, failure] } };
    }
    const [yAxis, xAxis] = [data.slack.ticks[view.yAxis], data.slack.ticks[view.xAxis]];
    const [first, last] = data.pairs[view.p].map((axis) => data.slack.ticks[axis]);
    const storedCovers = first.map((tick) => last.filter((t) => stored.some((radius) => radius[0] >= tick && radius[1] >= t)).length).filter(Boolean);
    const drawn = (cells) => border(view.turned ? turn(cells) : cells, xAxis, yAxis);
    return { covers, stored, line: drawn(covers), storedLine: drawn(storedCovers) };
  }

  function frontier(div, data, view, g, failure) {
    const limits = Frontier.limits(data, g);
    const lines = frontierLines(data, view, g, failure);
    const cut = (axis) => data.slack.ticks[axis].filter((tick) => limits[axis] === null || tick <= limits[axis]);
    const own = `its certificate${data.evidence ? " by p_A" : ""}${data.fallback !== null ? " (with its fallback)" : data.graphs.multi[g] ? " (multi-class margin)" : ""}`;
    if (view.xAxis === null) {
      const x = cut(view.yAxis);
      const slack = data.slack.rows[view.p][0].slice(0, x.length);
      const ends = lines.stored.length ? lines.stored[0][0] : -1;
      const traces = [
        { type: "scatter", mode: x.length > 60 ? "lines" : "lines+markers", name: "slack", x, y: slack, line: { color: BLUE, width: 1.2, dash: "dot" }, marker: { size: 8 },
          hovertext: slack.map((value, k) => `${x[k]} flips: slack ${value.toExponential(3)}`) },
        lineTrace(lines.line, "1 − p_lower", { color: WARN, width: 3 }),
        { type: "scatter", mode: "markers", name: own, x: ends < 0 ? [] : [ends], y: ends < 0 ? [] : [data.graphs.failure[g]], marker: { symbol: "diamond", size: 12, color: INK } },
      ];
      const shown = layout(axisTitle(data, view.yAxis), "failure probability", { ground: "#fff" });
      Object.assign(shown.yaxis, { type: "log", grid: true, range: [Math.log10(data.slack.least) - 0.1, 0] });
      few(shown.xaxis, x);
      SvgPlot.draw(div, traces, shown);
      return lines;
    }
    const [yAxis, xAxis] = [cut(view.yAxis), cut(view.xAxis)];
    const logs = data.slack.rows[view.p].map((row) => row.map((below) => Math.log10(below)));
    const at = (i, j) => { const [a, b] = view.turned ? [j, i] : [i, j]; return logs[a] && logs[a][b] !== undefined ? logs[a][b] : null; };
    const least = Math.floor(Math.log10(data.slack.least));
    const marks = Array.from({ length: -least }, (_, k) => least + k).filter((power) => power % Math.ceil(-least / 7) === 0);
    const traces = [
      { type: "heatmap", x: xAxis, y: yAxis, z: yAxis.map((_, i) => xAxis.map((_, j) => at(i, j))), zmin: least, zmax: Math.log10(0.5), colours: SLACKS,
        colorbar: scale(div, "slack", { tickvals: marks, ticktext: marks.map((power) => `1e${power}`) }),
        hovertext: yAxis.map((m, i) => xAxis.map((n, j) => `${axisTitle(data, view.yAxis)}: ${m}\n${axisTitle(data, view.xAxis)}: ${n}\nslack: ${at(i, j) === null ? "" : (10 ** at(i, j)).toExponential(2)}`)) },
      lineTrace(lines.line, "", { color: "#fff", width: 6 }, { showlegend: false }),
      lineTrace(lines.line, "certified at this p_lower", { color: WARN, width: 3 }),
      lineTrace(lines.storedLine, own, { color: INK, width: 2.5, dash: "dot" }),
    ];
    const shown = layout(axisTitle(data, view.xAxis), axisTitle(data, view.yAxis));
    for (const [axis, ticks] of [[shown.xaxis, xAxis], [shown.yaxis, yAxis]]) few(axis, ticks);
    SvgPlot.draw(div, traces, shown);
    return lines;
  }

  // What is known of each radius, in four tones.
  function verdicts(div, data, view, g) {
    let { ticks, cells } = Frontier.verdicts(data, view.p, g);
    const one = view.xAxis === null;
    if (view.turned) [ticks, cells] = [[ticks[1], ticks[0]], transpose(cells)];
    const [yAxis, xAxis] = one ? [[0], ticks[0]] : ticks;
    const said = cells.map((row) => row.map((cell) => TONES[cell.kind][0] + (cell.why ? `\n${cell.why}` : "")));
    const where = (i, j) => (one ? `${axisTitle(data, view.yAxis)}: ${xAxis[j]}` : `${axisTitle(data, view.yAxis)}: ${yAxis[i]}\n${axisTitle(data, view.xAxis)}: ${xAxis[j]}`);
    const traces = [{
      type: "heatmap", x: xAxis, y: yAxis, z: cells.map((row) => row.map((cell) => cell.kind)), zmin: 0, zmax: TONES.length - 1, colours: TONES.map(([, colour]) => colour), steps: true,
      customdata: said, hovertext: said.map((row, i) => row.map((text, j) => `${where(i, j)}\n${text}`)),
    }];
    for (const [name, color] of TONES) {
      traces.push({ type: "scatter", mode: "markers", name, x: [null], y: [null], marker: { symbol: "square", size: 13, color, line: { color: "#9aa4ae", width: 0.5 } } });
    }
    const shown = layout(axisTitle(data, one ? view.yAxis : view.xAxis), one ? "" : axisTitle(data, view.yAxis), { ground: "#fff" });
    few(shown.xaxis, xAxis);
    if (one) Object.assign(shown.yaxis, { hidden: true, range: [-0.5, 0.5] });
    else few(shown.yaxis, yAxis);
    SvgPlot.draw(div, traces, shown);
  }

  function moveFrontier(div, data, view, g, failure) {
    const lines = frontierLines(data, view, g, failure);
    const which = view.xAxis === null ? [1] : [1, 2];
    for (const k of which) Object.assign(div.data[k], lines.line);
    SvgPlot.move(div);
  }

  return { counted, telling, surface, frontier, verdicts, moveFrontier };
})();
