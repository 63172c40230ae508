// What all plots share: colours, palettes, the frame of a plot, a scale of colours, a plain line.
const Charts = (() => {
  const [WARN, INK, BLUE] = ["#D55E00", "#1d2733", "#0072B2"];

  // Shares go from pale to violet, slacks from dark to yellow: no colour of a region is among the shares'.
  const SHARES = ["#f8f6fb", "#dfd8ec", "#bdb0d8", "#9584c0", "#6c56a3", "#472f80", "#2a1458"];
  const SLACKS = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"];

  // Differences go from orange, less, through white to blue, more.
  const DIFFERENCES = ["#8a3a00", "#cc6a1f", "#eeb285", "#f8f6f4", "#93c1e0", "#3c87bd", "#0b4a80"];

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

  const lineTrace = (border, name, line, more = {}) => ({ type: "scatter", mode: "lines", name, ...border, line, ...more });

  return { WARN, INK, BLUE, SHARES, SLACKS, DIFFERENCES, SHARE_AXIS, TONES, layout, scale, lineTrace };
})();
