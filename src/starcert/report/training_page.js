// The learning curve: losses in one plot, shares in another, and the kept epoch as an upright line in both.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { BLUE, WARN, INK, SHARE_AXIS, layout, lineTrace } = Charts;
  const LOOKS = [{ color: BLUE, width: 2.5 }, { color: WARN, width: 2.5, dash: "dash" }, { color: "#009E73", width: 2.5, dash: "dot" }];
  const last = Math.max(...data.lines.flatMap((line) => line.x));
  const show = { loss: (value) => value.toPrecision(4), share: Text.percent };
  for (const plot of ["loss", "share"]) {
    const lines = data.lines.filter((line) => line.plot === plot);
    const most = plot === "share" ? 1 : 1.05 * Math.max(...lines.flatMap((line) => line.y));
    const traces = lines.map((line, k) => lineTrace({ x: line.x, y: line.y }, line.name, LOOKS[k],
      { hovertext: line.x.map((epoch, i) => `epoch ${epoch}: ${line.name} ${show[plot](line.y[i])}`) }));
    if (plot === "share") traces.push(lineTrace({ x: [1, last], y: [data.majority, data.majority] }, `majority class ${Text.percent(data.majority)}`, { color: "#9aa4ae", width: 1.5 }));
    traces.push(lineTrace({ x: [data.kept, data.kept], y: [0, most] }, `kept: epoch ${Text.count(data.kept)}`, { color: INK, width: 1.5 }));
    const shown = layout("epoch", plot, { ground: "#fff" });
    Object.assign(shown.xaxis, { range: last > 1 ? [1 - 0.01 * last, 1.01 * last] : [0.5, 1.5] });
    Object.assign(shown.yaxis, plot === "share" ? SHARE_AXIS : { range: [0, most || 1], grid: true });
    SvgPlot.draw(document.getElementById(`${plot}-plot`), traces, shown);
  }
  document.documentElement.dataset.ready = "yes";
})();
