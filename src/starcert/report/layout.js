// Where the nodes of a drawing stand: distances on paper follow distances in the graph, as far as a plane allows.
// The stress Σ (|x_u − x_v| − d_uv)² / d_uv² is lowered pair by pair, with steps that grow smaller; the same graph always looks the same.
const Layout = (() => {
  function distances(n, edges) {
    const neighbours = Array.from({ length: n }, () => []);
    for (const [u, v] of edges) { neighbours[u].push(v); neighbours[v].push(u); }
    const found = new Float64Array(n * n).fill(-1);
    let longest = 1;
    for (let start = 0; start < n; start++) {
      const queue = [start];
      found[start * n + start] = 0;
      for (let head = 0; head < queue.length; head++) {
        const at = found[start * n + queue[head]];
        longest = Math.max(longest, at);
        for (const next of neighbours[queue[head]]) {
          if (found[start * n + next] < 0) { found[start * n + next] = at + 1; queue.push(next); }
        }
      }
    }
    // Nodes of different components stand about as far apart as the rim of the largest from its middle.
    return found.map((distance) => (distance < 0 ? longest / 2 + 1 : distance));
  }

  function shuffle(list) {
    let state = 12345;
    for (let i = list.length - 1; i > 0; i--) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const j = state % (i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
  }

  // The longest extent lies across.
  function turn(points) {
    const n = points.length;
    const mean = [0, 1].map((k) => points.reduce((sum, point) => sum + point[k], 0) / n);
    let [xx, xy, yy] = [0, 0, 0];
    for (const point of points) {
      const [x, y] = [point[0] - mean[0], point[1] - mean[1]];
      xx += x * x; xy += x * y; yy += y * y;
    }
    const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return points.map(([x, y]) => [
      cos * (x - mean[0]) + sin * (y - mean[1]), cos * (y - mean[1]) - sin * (x - mean[0]),
    ]);
  }

  function place(n, edges) {
    const points = Array.from({ length: n }, (_, i) => {
      const angle = (2 * Math.PI * i) / Math.max(n, 1);
      const away = Math.sqrt(n) / 2 * (1 + 0.05 * ((i * 7) % 5));
      return [away * Math.cos(angle), away * Math.sin(angle)];
    });
    if (n < 2) return points;
    const wanted = distances(n, edges);
    const pairs = [];
    let longest = 1;
    for (let u = 0; u < n; u++) {
      for (let v = u + 1; v < n; v++) { pairs.push([u, v]); longest = Math.max(longest, wanted[u * n + v]); }
    }
    const rounds = 40;
    const decay = Math.log(longest * longest / 0.1) / (rounds - 1);
    for (let round = 0; round < rounds; round++) {
      const step = longest * longest * Math.exp(-decay * round);
      shuffle(pairs);
      for (const [u, v] of pairs) {
        const distance = wanted[u * n + v];
        const share = Math.min(1, step / (distance * distance));
        const [dx, dy] = [points[u][0] - points[v][0], points[u][1] - points[v][1]];
        const now = Math.hypot(dx, dy) || 1e-6;
        const move = (share * (now - distance)) / (2 * now);
        points[u][0] -= move * dx; points[u][1] -= move * dy;
        points[v][0] += move * dx; points[v][1] += move * dy;
      }
    }
    return turn(points);
  }

  return { place };
})();
