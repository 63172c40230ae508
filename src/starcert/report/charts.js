// What all plots share: colours, type, the frame of a plot, a scale of colours, a plain line.
const Charts = (() => {
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "resetScale2d"]] };
  const FONT = { family: "system-ui, -apple-system, Segoe UI, Roboto, Arial, sans-serif", size: 13, color: "#1d2733" };
  const [WARN, INK, BLUE] = ["#D55E00", "#1d2733", "#0072B2"];

  // Certified by p_A, certified by evidence, open, broken: told apart by colour-blind readers, and in grey.
  const TONES = [["certified by p_A", "#0072B2"], ["certified by evidence", "#7CC4EE"], ["open", "#e3e7eb"], ["broken", "#D55E00"]];

  function layout(xTitle, yTitle, more) {
    return {
      margin: { l: 62, r: 16, t: 12, b: 54 }, font: FONT, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "#eef1f4",
      xaxis: { title: { text: xTitle }, zeroline: false, showgrid: false, ticks: "outside", tickformat: ",d", automargin: true },
      yaxis: { title: { text: yTitle, standoff: 12 }, zeroline: false, showgrid: false, ticks: "outside", automargin: true },
      modebar: { bgcolor: "rgba(255,255,255,0.85)", color: "#56616e", activecolor: INK },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, ...more,
    };
  }

  // On a narrow screen the scale of colours lies below the plot.
  function scale(div, title, more) {
    const narrow = div.clientWidth < 560;
    const lying = narrow ? { orientation: "h", y: -0.3, yanchor: "top", thickness: 12 } : { thickness: 16 };
    return { title: { text: title, side: narrow ? "top" : "right" }, outlinewidth: 0, ticks: "outside", ...lying, ...more };
  }

  const lineTrace = (border, name, line, more = {}) => ({ type: "scatter", mode: "lines", name, ...border, line, hoverinfo: "skip", ...more });

  return { CONFIG, FONT, WARN, INK, BLUE, TONES, layout, scale, lineTrace };
})();
