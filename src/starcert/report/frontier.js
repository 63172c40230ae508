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

  // The radii that the graph's certificate has, as they were stored.
  function stored(data, p, g) {
    const slice = data.slices[p];
    const [flat, width] = [slice.radii[slice.of[g]], data.pairs[p].length];
    return Array.from({ length: flat.length / width }, (_, k) => flat.slice(k * width, (k + 1) * width));
  }

  return { covers, radii, stored, limits: (data, g) => data.graphs.limits.different[data.graphs.limits.of[g]] };
})();
