// The curves of all compared runs: a colour for each run, dashes for each axis.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const DASHES = [undefined, "dash", "dot", "dashdot", "longdash"];
  const axes = [...new Set(data.curves.map((curve) => curve.axis))];
  const traces = data.curves.map(({ run, axis, x, y }) => ({
    type: "scatter", mode: "lines", name: `${run}: ${axis}`, x, y,
    line: { shape: "hv", width: 2.5, color: COLOURS[data.runs.indexOf(run) % COLOURS.length], dash: DASHES[axes.indexOf(axis) % DASHES.length] },
    hovertext: y.map((share, k) => `${run}: ${x[k]} flips in ${axis}\n${Text.percent(share)} ${data.what}`),
  }));
  const shown = Charts.layout("flips on one axis", `share ${data.what}`, { ground: "#fff" });
  Object.assign(shown.yaxis, Charts.SHARE_AXIS);
  const plot = document.getElementById("compare-plot");
  SvgPlot.draw(plot, traces, shown);
  plot.setAttribute("aria-label", `Shares ${data.what}, run by run and axis by axis; the table below has the differences.`);
  document.documentElement.dataset.ready = "yes";
})();
