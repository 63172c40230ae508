// The frontier of a graph at any p_lower, looked up in the table of slacks.
//
// rows[i][j] is the largest number of this format below slack, proved; a radius is certified in the two-class margin iff
// the failure probability 1 − p_lower does not exceed it. Slack falls along every axis, so a row ends where it fails.
const Frontier = (() => {
  const within = (ticks, limit) => (limit === null ? ticks.length : ticks.filter((tick) => tick <= limit).length);

  // For each count on the first axis, how many counts of the last one are certified, from 0 on. One axis: one row.
  function covers(data, p, failure, limits) {
    const pair = data.pairs[p];
    const last = within(data.slack.ticks[pair[pair.length - 1]], limits[pair[pair.length - 1]]);
    const first = pair.length === 1 ? 1 : within(data.slack.ticks[pair[0]], limits[pair[0]]);
    const found = [];
    for (const row of data.slack.rows[p].slice(0, first)) {
      let certified = 0;
      while (certified < Math.min(row.length, last) && failure <= row[certified]) certified++;
      if (!certified) break;
      found.push(certified);
    }
    return found;
  }

  // The maximal certified radii, in ascending order.
  function radii(data, p, failure, limits) {
    const pair = data.pairs[p];
    const found = covers(data, p, failure, limits);
    const end = (certified) => data.slack.ticks[pair[pair.length - 1]][certified - 1];
    if (pair.length === 1) return found.map((certified) => [end(certified)]);
    return found.flatMap((certified, i) => (found[i + 1] === certified ? [] : [[data.slack.ticks[pair[0]][i], end(certified)]]));
  }

  // The radii that the graph's certificate has, as they were stored: by whichever argument, or those by p_A alone.
  function stored(data, p, g) { return radiiIn(data, data.slices, p, g); }
  function counted(data, p, g) { return radiiIn(data, data.evidence?.slices ?? data.slices, p, g); }

  function radiiIn(data, slices, p, g) {
    const slice = slices[p];
    const [flat, width] = [slice.radii[slice.of[g]], data.pairs[p].length];
    return Array.from({ length: flat.length / width }, (_, k) => flat.slice(k * width, (k + 1) * width));
  }

  // What is known of each radius on the two axes of a slice (or its one): certified by p_A (0), certified by evidence (1),
  // open (2) or broken (3), and why, where that was looked at. As far as one step beyond all that is known.
  const MOST = 120;

  function verdicts(data, p, g) {
    const [pair, limit] = [data.pairs[p], data.graphs.limits.different[data.graphs.limits.of[g]]];
    const { broken, reasons } = data.evidence.graphs[g];
    const flat = (level) => data.axes.every((_, axis) => pair.includes(axis) || !level[axis]);
    const attacked = broken.filter(flat).map((level) => pair.map((axis) => level[axis]));
    const [all, byCounts] = [stored(data, p, g), counted(data, p, g)];
    const ticks = pair.map((axis, k) => {
      const end = 1 + Math.max(1, ...[...all, ...attacked].map((radius) => radius[k]));
      const last = limit[axis] === null ? end : Math.min(end, limit[axis]);
      const step = Math.ceil((last + 1) / MOST);
      return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
    });
    const why = new Map();
    const width = data.axes.length + 1;
    for (let k = 0; k < reasons.length; k += width) {
      const level = reasons.slice(k, k + width - 1);
      if (flat(level)) why.set(pair.map((axis) => level[axis]).join(), data.evidence.texts[reasons[k + width - 1]]);
    }
    const within = (small, large) => small.every((n, k) => n <= large[k]);
    const kind = (radius) => {
      if (byCounts.some((other) => within(radius, other))) return 0;
      if (all.some((other) => within(radius, other))) return 1;
      return attacked.some((other) => within(other, radius)) ? 3 : 2;
    };
    const rows = pair.length === 1 ? [[]] : ticks[0].map((n) => [n]);
    const cells = rows.map((first) => ticks[ticks.length - 1].map((n) => {
      const radius = [...first, n];
      return { kind: kind(radius), why: why.get(radius.join()) || "" };
    }));
    return { ticks, cells };
  }

  return { covers, radii, stored, counted, verdicts, limits: (data, g) => data.graphs.limits.different[data.graphs.limits.of[g]] };
})();
