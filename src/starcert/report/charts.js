// What all plots share: colours, palettes, the frame of a plot, a scale of colours, a plain line.
const Charts = (() => {
  const [WARN, INK, BLUE] = ["#D55E00", "#1d2733", "#0072B2"];

  // Shares go from pale to violet, slacks from dark to yellow: no colour of a region is among the shares'.
  const SHARES = ["#f8f6fb", "#dfd8ec", "#bdb0d8", "#9584c0", "#6c56a3", "#472f80", "#2a1458"];
  const SLACKS = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"];

  // Certified by p_A, certified by evidence, open, broken: distinct to colour-blind readers, and in grey.
  const TONES = [["certified by p_A", "#0072B2"], ["certified by evidence", "#7CC4EE"], ["open", "#e3e7eb"], ["broken", "#D55E00"]];

  const layout = (xTitle, yTitle, more) => ({ ground: "#eef1f4", xaxis: { title: { text: xTitle } }, yaxis: { title: { text: yTitle } }, ...more });

  // The y axis of shares.
  const SHARE_AXIS = { range: [-0.02, 1.04], percent: true, grid: true };

  // On a narrow screen the scale of colours lies below the plot.
  function scale(div, title, more) {
    const narrow = div.clientWidth < 560;
    return { title: { text: title, side: narrow ? "top" : "right" }, orientation: narrow ? "h" : "v", ...more };
  }

  // Lines that may be equal: each narrower than the one before and over it, so that none hides another.
  const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#333333"];
  const MAX_LINES = 4; // axes in one plot; more have a small plot each
  const nested = (k, n) => ({ shape: "steps", width: 2.5 + 2.5 * (n - 1 - k), color: COLOURS[k % COLOURS.length] });

  // Several plots of shares side by side: for each the title of its x axis, and its lines.
  function panels(div, all, yTitle, small) {
    div.className = small ? "panels small" : "panels";
    const plots = all.map(() => Text.element("div", { class: "plot" }));
    div.replaceChildren(...(small ? [legend(all)] : []), ...plots);
    all.forEach(([title, traces], k) => {
      const shown = layout(title, small ? "" : yTitle, { ground: "#fff" });
      Object.assign(shown.yaxis, SHARE_AXIS);
      const ticks = traces.map(({ x }) => x).reduce((a, b) => (b[b.length - 1] > a[a.length - 1] ? b : a));
      const half = (ticks.length > 1 ? ticks[1] - ticks[0] : 1) / 2;
      shown.xaxis.range = [-half, ticks[ticks.length - 1] + half]; // the last count has its step, too
      if (ticks.length <= 12) shown.xaxis.tickvals = ticks;
      SvgPlot.draw(plots[k], traces.map((trace, t) => ({ type: "scatter", mode: "lines", showlegend: !small, line: nested(t, traces.length), ...trace })), shown);
    });
  }

  // One legend for small plots, which have the same lines.
  function legend(all) {
    const traces = all.map(([, each]) => each).reduce((a, b) => (b.length > a.length ? b : a), []);
    return Text.element("ul", { class: "legend" }, ...traces.map(({ name }, k) => {
      const tone = Text.element("i", { class: "tone" });
      tone.style.background = COLOURS[k % COLOURS.length];
      return Text.element("li", {}, tone, Text.name(name));
    }));
  }

  const lineTrace = (border, name, line, more = {}) => ({ type: "scatter", mode: "lines", name, ...border, line, ...more });

  return { WARN, INK, BLUE, SHARES, SLACKS, SHARE_AXIS, TONES, COLOURS, MAX_LINES, layout, scale, lineTrace, panels };
})();
