// A graph as a drawing: edges in the colour of their region, absent pairs of a region hinted at, fixed edges grey.
// With evidence, node pairs are as wide as their influence is great, and the pairs of a known attack are red.
const Drawing = (() => {
  // Okabe and Ito's colours, which colour-blind readers tell apart; the eight repeat with dashes.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#333333"];
  const FIXED = "#9aa4ae";
  const ATTACK = "#c1121f";
  const MOST_HINTS = 1500;
  const [WIDTH, HEIGHT, MARGIN] = [640, 440, 34];

  const colour = (region) => COLOURS[region % COLOURS.length];
  const dashes = (region) => ["", "7 4", "2 4"][Math.floor(region / COLOURS.length) % 3];

  const sums = (gaps) => { let sum = 0; return gaps.map((gap) => (sum += gap)); };

  // The node pairs of a block, u < v, in the order of their numbers: what `to_json` of the library's blocks wrote.
  function pairsOf(block) {
    if (block.pairs) return sums(block.pairs).map((code) => [Math.floor(code / block.n), code % block.n]);
    const { nodes, first, last } = block;
    const holes = new Set(sums(block.holes || []));
    const found = [];
    let number = 0;
    nodes.forEach((one, row) => {
      const end = last ? last[row] : nodes.length;
      for (let column = first ? first[row] : row + 1; column < end; column++, number++) {
        if (!holes.has(number)) found.push([Math.min(one, nodes[column]), Math.max(one, nodes[column])]);
      }
    });
    return found;
  }

  // What the page's data say about one graph, unpacked.
  function unpack(data, g) {
    const packed = data.drawings.graphs[g];
    if (!packed) return null;
    const n = packed.n;
    const edges = pairsOf(packed.edges);
    const region = new Map();
    const blocks = packed.blocks.map((number) => data.drawings.blocks[number]);
    blocks.forEach((block, r) => { for (const [u, v] of pairsOf(block)) region.set(u * n + v, r); });
    const present = new Set(edges.map(([u, v]) => u * n + v));
    const absent = [...region].filter(([code]) => !present.has(code)).map(([code, r]) => [Math.floor(code / n), code % n, r]);
    // A node has the colour of a region if that is the only one that holds all pairs inside a set with this node.
    const homes = Array.from({ length: n }, () => []);
    blocks.forEach((block, r) => {
      if (block.nodes && !block.first && !block.last && !block.holes) for (const node of block.nodes) homes[node].push(r);
    });
    const known = data.evidence && data.evidence.graphs[g];
    const names = packed.names === undefined ? null : data.drawings.names[packed.names];
    return {
      n, absent, names: names || Array.from({ length: n }, (_, i) => String(i)),
      home: homes.map((list) => (list.length === 1 ? list[0] : -1)),
      edges: edges.map(([u, v]) => [u, v, region.has(u * n + v) ? region.get(u * n + v) : -1]),
      pairs: known ? known.pairs.map(([u, v, share]) => [u, v, region.get(u * n + v), share / 100, present.has(u * n + v)]) : [],
      attack: known && known.attack ? known.attack.pairs.map(([u, v]) => [u, v, present.has(u * n + v)]) : [],
    };
  }

  function shape(tag, attributes, title) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (title) {
      const hint = document.createElementNS("http://www.w3.org/2000/svg", "title");
      hint.textContent = title;
      made.append(hint);
    }
    return made;
  }

  function line(points, u, v, attributes) {
    const [[x1, y1], [x2, y2]] = [points[u], points[v]];
    return shape("line", { x1, y1, x2, y2, ...attributes });
  }

  function scaled(points) {
    const low = [0, 1].map((k) => Math.min(...points.map((point) => point[k])));
    const high = [0, 1].map((k) => Math.max(...points.map((point) => point[k])));
    const scale = Math.min(
      (WIDTH - 2 * MARGIN) / Math.max(high[0] - low[0], 1e-9), (HEIGHT - 2 * MARGIN) / Math.max(high[1] - low[1], 1e-9), 110,
    );
    return points.map(([x, y]) => [
      +(WIDTH / 2 + scale * (x - (low[0] + high[0]) / 2)).toFixed(1), +(HEIGHT / 2 + scale * (y - (low[1] + high[1]) / 2)).toFixed(1),
    ]);
  }

  function draw(graph, withAbsent, byInfluence) {
    const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    svg.setAttribute("aria-label", `Drawing of a graph with ${graph.n} nodes and ${graph.edges.length} edges`);
    if (!graph.n) return svg;
    graph.points ||= scaled(Layout.place(graph.n, graph.edges));
    const size = Math.max(3.2, Math.min(10, 48 / Math.sqrt(graph.n)));
    if (withAbsent) {
      for (const [u, v, r] of graph.absent.slice(0, MOST_HINTS)) {
        svg.append(line(graph.points, u, v, { stroke: colour(r), "stroke-opacity": 0.16, "stroke-width": 1, "stroke-dasharray": "3 4" }));
      }
    }
    const weighed = byInfluence && graph.pairs.length > 0;
    const width = graph.edges.length > 400 ? 1.2 : weighed ? 1.6 : 2.4;
    for (const [u, v, r] of graph.edges) {
      const dash = r < 0 ? "" : dashes(r);
      svg.append(line(graph.points, u, v, {
        stroke: r < 0 ? FIXED : colour(r), "stroke-width": width, "stroke-opacity": weighed ? 0.35 : 0.85, ...(dash && { "stroke-dasharray": dash }),
      }));
    }
    if (weighed) {
      for (const [u, v, r, share, there] of [...graph.pairs].reverse()) {
        svg.append(line(graph.points, u, v, {
          class: "influence", stroke: colour(r), "stroke-width": (1 + 6 * share).toFixed(1), "stroke-opacity": (0.25 + 0.65 * share).toFixed(2),
          ...(!there && { "stroke-dasharray": "6 4" }),
        }));
      }
    }
    for (const [u, v, there] of graph.attack) {
      svg.append(line(graph.points, u, v, { stroke: "#fff", "stroke-width": 9, "stroke-linecap": "round" }));
      svg.append(line(graph.points, u, v, { class: "attack", stroke: ATTACK, "stroke-width": 5, ...(!there && { "stroke-dasharray": "9 5" }) }));
    }
    graph.points.forEach(([cx, cy], i) => {
      const fill = graph.home[i] < 0 ? "#fff" : colour(graph.home[i]);
      svg.append(shape("circle", { cx, cy, r: size, fill, stroke: graph.home[i] < 0 ? "#56616e" : "#fff", "stroke-width": 1.6 }, graph.names[i]));
      if (graph.n <= 40 && graph.names[i].length <= 2) {
        const label = shape("text", {
          x: cx, y: cy, "text-anchor": "middle", "dominant-baseline": "central", "font-size": (size * 1.05).toFixed(1),
          fill: graph.home[i] < 0 ? "#1d2733" : "#fff", "pointer-events": "none",
        });
        label.textContent = graph.names[i];
        svg.append(label);
      }
    });
    return svg;
  }

  return { unpack, draw, colour, pairsOf, FIXED, MOST_HINTS };
})();
