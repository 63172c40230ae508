// Curves: their colours, the frame of a plot, and plots side by side.
(() => {
  const [WARN, INK, BLUE] = ["#D55E00", "#1d2733", "#0072B2"];

  const layout = (xTitle, yTitle, more) => ({ ground: "#eef1f4", xaxis: { title: { text: xTitle } }, yaxis: { title: { text: yTitle } }, ...more });

  // The y axis of shares.
  const SHARE_AXIS = { range: [-0.02, 1.04], percent: true, grid: true };

  // Lines that may be equal: each narrower than the one before and over it, so that none hides another.
  const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#333333"];
  const nested = (k, n) => ({ shape: "steps", width: 2.5 + 2.5 * (n - 1 - k), color: COLOURS[k % COLOURS.length] });

  // How the lines of a plot look: steps lie within one another, lines differ in their dashes, a mark is thin.
  const [TONES, DASHES] = [[BLUE, WARN, "#009E73", "#CC79A7", "#56B4E9", "#E69F00"], ["", "dash", "dot", "dashdot", "longdash"]];
  const look = (k) => ({ color: TONES[k % TONES.length], width: 2.5, dash: DASHES[(k + Math.floor(k / TONES.length)) % DASHES.length] });
  const looks = { step: nested, line: look, mark: (k, n) => ({ color: k === n - 1 ? INK : "#9aa4ae", width: 1.5 }) };

  // Plots with lines, side by side: a block of the report.
  function curves(div, { panels, many }) {
    const shown = panels.filter(({ lines }) => lines.length);
    div.className = many ? "panels small" : "panels";
    const plots = shown.map(() => Text.element("div", { class: "plot" }));
    div.replaceChildren(...(many ? [legend(shown)] : []), ...plots);
    shown.forEach((panel, k) => {
      const frame = layout(panel.x_title, many ? "" : panel.y_title, { ground: "#fff" });
      const ticks = panel.lines.map(({ x }) => x).reduce((a, b) => (b[b.length - 1] > a[a.length - 1] ? b : a));
      const half = panel.lines[0].look === "step" ? (ticks.length > 1 ? ticks[1] - ticks[0] : 1) / 2 : 0.01 * ticks.length;
      Object.assign(frame.yaxis, panel.shares ? SHARE_AXIS : { grid: true, tozero: true });
      frame.xaxis.range = [ticks[0] - half, ticks[ticks.length - 1] + half]; // the last count has its step, too
      if (ticks.length <= 12) frame.xaxis.tickvals = ticks;
      const traces = panel.lines.map(({ name, x, y, hover, look }, t) => lineTrace({ x, y }, name, looks[look](t, panel.lines.length), { showlegend: !many, ...(hover.length && { hovertext: hover }) }));
      SvgPlot.draw(plots[k], traces, frame);
    });
  }

  // One legend for small plots, which have the same lines.
  function legend(all) {
    const lines = all.map((each) => each.lines).reduce((a, b) => (b.length > a.length ? b : a), []);
    return Text.element("ul", { class: "legend" }, ...lines.map(({ name }, k) => {
      const tone = Text.element("i", { class: "tone" });
      tone.style.background = COLOURS[k % COLOURS.length];
      return Text.element("li", {}, tone, Text.name(name));
    }));
  }

  const lineTrace = (border, name, line, more = {}) => ({ name, ...border, line, ...more });

  for (const [name, block] of Object.entries(JSON.parse(document.getElementById("data").textContent).plots)) curves(document.getElementById(name), block);
  window.addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });
  window.addEventListener("load", () => { document.documentElement.dataset.ready = "yes"; });
})();
