// The curves of all compared runs, narrower ones over broader ones, so that none hides another, and a map of the difference
// of two.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const signed = (share, digits = 0) => `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(digits)}%`;

  // A plot for each axis, with a line for each run.
  function drawCurves() {
    const axes = [...new Set(data.curves.map((curve) => curve.axis))];
    const panels = axes.map((axis) => [`flips in ${axis}`, data.curves.filter((curve) => curve.axis === axis && curve.x.length).map(({ run, x, y }) => ({
      name: run, x, y, hovertext: y.map((share, k) => `${run}: ${x[k]} flips in ${axis}\n${Text.percent(share)} ${data.what}`),
    }))]);
    Charts.panels($("compare-plot"), panels.filter(([, traces]) => traces.length), `share ${data.what}`, axes.length > Charts.MAX_LINES);
    $("compare-plot").setAttribute("aria-label", `Shares ${data.what}, run by run and axis by axis; the table below has the differences.`);
  }

  // The share of the second run less that of the first, at each radius; null where either says nothing.
  function differences(map, pair) {
    const [before, after] = data.pairs[pair].map((run) => map.counts[run]);
    return after.map((row, i) => row.map((n, j) => (n === null || before[i][j] === null ? null : (n - before[i][j]) / map.graphs)));
  }

  // One scale for all maps, so that they can be compared: as far as the largest difference goes, in steps of 10%.
  const largest = Math.max(0, ...data.maps.flatMap((map) => data.pairs.flatMap((_, pair) => differences(map, pair).flat().map(Math.abs))));
  const most = Math.max(0.1, Math.ceil(10 * largest - 1e-9) / 10);

  // The axes to begin with: those over which the differences are largest, all in all.
  function telling(pair) {
    const sums = data.maps.map((map) => differences(map, pair).flat().reduce((sum, share) => sum + Math.abs(share), 0));
    return sums.indexOf(Math.max(...sums));
  }

  const state = { pair: 0, map: telling(0) };

  function step(axis, ticks) {
    const each = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    Object.assign(axis, { range: [-0.5 * each, ticks[ticks.length - 1] + 0.5 * each], tickvals: ticks });
  }

  function drawMap() {
    const map = data.maps[state.map];
    const [before, after] = data.pairs[state.pair].map((run) => data.runs[run]);
    const z = differences(map, state.pair);
    const clear = map.clear[state.pair];
    const one = map.axes.length === 1;
    const [yAxis, xAxis] = one ? [[0], map.ticks[0]] : map.ticks;
    const counts = data.pairs[state.pair].map((run) => map.counts[run]);
    const where = (i, j) => [...(one ? [] : [`${yAxis[i]} flips in ${map.axes[0]}`]), `${xAxis[j]} flips in ${map.axes[map.axes.length - 1]}`].join(", ");
    const shown = (n) => (n === null ? "–" : Text.percent(n / map.graphs));
    const told = (i, j) => `${where(i, j)}\n${after}: ${shown(counts[1][i][j])}\n${before}: ${shown(counts[0][i][j])}\n`
      + (z[i][j] === null ? "not compared" : `difference ${signed(z[i][j], 1)}${clear[i][j] ? ", its interval does not hold 0" : ", its interval holds 0"}`);
    const div = $("difference-plot");
    const marks = [-1, -0.5, 0, 0.5, 1].map((share) => share * most);
    const traces = [{
      type: "heatmap", x: xAxis, y: yAxis, z, zmin: -most, zmax: most, colours: Charts.DIFFERENCES,
      colorbar: Charts.scale(div, "", { tickvals: marks, ticktext: marks.map((share) => (share ? signed(share) : "0")) }),
      hovertext: z.map((row, i) => row.map((_, j) => told(i, j))),
    }];
    const plot = Charts.layout(`flips in ${map.axes[map.axes.length - 1]}`, one ? "" : `flips in ${map.axes[0]}`, {
      annotations: z.flatMap((row, i) => row.map((share, j) => ({ x: xAxis[j], y: yAxis[i], text: share === null ? "–" : (share ? signed(share) : "0") + (clear[i][j] ? "*" : "") }))),
    });
    step(plot.xaxis, xAxis);
    if (one) Object.assign(plot.yaxis, { hidden: true, range: [-0.5, 0.5] });
    else step(plot.yaxis, yAxis);
    SvgPlot.draw(div, traces, plot);
    const sure = clear.flat().filter(Boolean).length;
    Text.write($("difference-caption"), "Blue: ", Text.name(after), " has more, orange: ", Text.name(before), " has more. ",
      `Of ${map.graphs} ${data.one}${map.graphs === 1 ? "" : "s"}${one ? "" : " with sites on both axes"}. * the 95% interval of the difference does not hold 0, each by itself: ${sure} of ${clear.flat().length} cells.`);
    div.setAttribute("aria-label", $("difference-caption").textContent);
  }

  function choice(id, names, chosen, change) {
    $(id).append(...names.map((name, value) => Text.element("option", { value }, name)));
    $(id).value = chosen;
    $(id).closest("label").hidden = names.length < 2;
    $(id).addEventListener("change", () => { change(Number($(id).value)); drawMap(); });
  }

  drawCurves();
  if (data.maps.length) {
    choice("difference-runs", data.pairs.map(([before, after]) => `${data.runs[after]} less ${data.runs[before]}`), state.pair, (pair) => { state.pair = pair; });
    choice("difference-axes", data.maps.map((map) => map.axes.join(" × ")), state.map, (map) => { state.map = map; });
    drawMap();
  }
  document.documentElement.dataset.ready = "yes";
})();
