// The curves of all compared runs, narrower ones over broader ones, so that none hides another.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  // A plot for each axis, with a line for each run.
  function drawCurves() {
    const axes = [...new Set(data.curves.map((curve) => curve.axis))];
    const panels = axes.map((axis) => [`flips in ${axis}`, data.curves.filter((curve) => curve.axis === axis && curve.x.length).map(({ run, x, y }) => ({
      name: run, x, y, hovertext: y.map((share, k) => `${run}: ${x[k]} flips in ${axis}\n${Text.percent(share)} ${data.what}`),
    }))]);
    Charts.panels($("compare-plot"), panels.filter(([, traces]) => traces.length), `share ${data.what}`, axes.length > Charts.MAX_LINES);
    $("compare-plot").setAttribute("aria-label", `Shares ${data.what}, run by run and axis by axis; the table below has the differences.`);
  }

  drawCurves();
  document.documentElement.dataset.ready = "yes";
})();
