// A graph as a drawing: edges in the colour of their region, absent pairs of a region dotted, fixed edges grey. Arcs have heads,
// types of edges differ in their dashes, and molecules have the bonds, elements and places that RDKit gives them.
// With evidence, node pairs are as wide as their influence is great, and a known attack is marked.
const Drawing = (() => {
  // Six of Okabe and Ito's colours, a violet and a dark grey: colour-blind readers tell them apart. They repeat with dashes.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A2BE2", "#333333"];
  const FIXED = "#5c646c";
  const MAX_HINTS = 1500;
  const MAX_BUSY = 40; // nodes of a graph that shows more than its edges and an attack
  const [WIDTH, HEIGHT, MARGIN] = [640, 440, 34];

  const colour = (region) => COLOURS[region % COLOURS.length];
  const INFLUENCE = "#d9b8e8";
  const dashes = (region) => ["", "7 4", "2 4"][Math.floor(region / COLOURS.length) % 3];
  const TYPES = ["", "10 4", "4 3", "12 3 3 3", "16 3", "14 3 4 3 4 3"];
  const [WIDTHS, HEAD] = [[2.4, 3.4, 2.4, 2.4, 4, 2.4], 9];
  const dashesOf = (type) => TYPES[(type - 1) % TYPES.length];

  const sums = (gaps) => { let sum = 0; return gaps.map((gap) => (sum += gap)); };

  // The node pairs of a block, u < v, or its arcs, in the order of their numbers: what `to_json` of the library's regions wrote.
  function pairsOf(block) {
    if (block.both) return pairsOf(block.both).flatMap(([u, v]) => [[u, v], [v, u]]);
    if (block.arcs) return sums(block.arcs).map((code) => [Math.floor(code / block.n), code % block.n]);
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

  // What the page's data say about the graph of a row, unpacked; the graph itself once, however many rows are about it.
  const known = new Map();

  function unpack(data, g) {
    const o = data.graphs.object[g];
    if (!data.drawings.graphs[o] || typeof data.drawings.graphs[o] === "string") return null;
    if (!known.has(o)) known.set(o, unpackGraph(data, data.drawings.graphs[o]));
    const graph = known.get(o);
    const { region, present } = graph;
    const found = data.evidence && data.evidence.graphs[g];
    const code = (u, v) => u * graph.n + v;
    return {
      ...graph, base: graph,
      pairs: found ? found.pairs.map(([u, v, share]) => [u, v, region.get(code(u, v)), share / 100, present.has(code(u, v))]).filter((each) => each[4] || !graph.busy) : [],
      attack: found && found.attack ? found.attack.pairs.map(([u, v, after]) => [u, v, present.get(code(u, v)) || 0, after]) : [],
      attackedNodes: (found && found.attack && found.attack.nodes) || [],
    };
  }

  // The graph that an attack makes, in the same places.
  function attacked(graph) {
    const code = (u, v) => u * graph.n + v;
    const after = new Map(graph.attack.map(([u, v, before, to]) => [code(u, v), [u, v, to === -1 ? Number(!before) : to]]));
    const all = graph.edges.map(([u, v, r], e) => [[u, v, r], graph.types[e], graph.orders && graph.orders[e]]).filter(([[u, v]]) => !after.has(code(u, v)));
    for (const [u, v, to] of after.values()) if (to) all.push([[u, v, graph.region.get(code(u, v)) ?? -1], to, Formula.ORDERS.indexOf(graph.typeNames[to - 1]) + 1 || 1]);
    const labels = [...graph.labels];
    for (const [node, text] of graph.attackedNodes) if (text.includes(" → ")) labels[node] = text.split(" → ").pop();
    return {
      ...graph, labels, edges: all.map(([edge]) => edge), types: graph.types.length ? all.map(([, type]) => type) : [], orders: graph.orders && all.map(([, , order]) => order),
      present: new Map(all.map(([[u, v], type]) => [code(u, v), type || 1])), attack: [], attackedNodes: [], pairs: [], absent: [],
    };
  }

  function unpackGraph(data, packed) {
    const n = packed.n;
    const edges = pairsOf(packed.edges);
    const region = new Map();
    const blocks = packed.blocks.map((number) => (number === null ? null : data.drawings.blocks[number]));
    blocks.forEach((block, r) => { if (block) for (const [u, v] of pairsOf(block)) region.set(u * n + v, r); });
    const present = new Map(edges.map(([u, v], e) => [u * n + v, packed.types ? packed.types[e] : 1])); // with their types
    const absent = [...region].filter(([code]) => !present.has(code)).map(([code, r]) => [Math.floor(code / n), code % n, r]);
    // A node has the colour of a region if that is the only one that holds all pairs inside a set with this node.
    const homes = Array.from({ length: n }, () => []);
    blocks.forEach((block, r) => {
      const inner = block && (block.both || block);
      if (inner && inner.nodes && !inner.first && !inner.last && !inner.holes) for (const node of inner.nodes) homes[node].push(r);
    });
    const names = packed.names === undefined ? null : data.drawings.names[packed.names];
    const called = names || Array.from({ length: n }, (_, i) => String(i));
    const symbols = packed.symbols === undefined ? null : data.drawings.names[packed.symbols];
    const points = packed.points && Array.from({ length: n }, (_, i) => [packed.points[2 * i] / 150, packed.points[2 * i + 1] / 150]);
    return {
      points: points && scaled(points, 80), molecule: Boolean(points), orders: packed.orders, charges: packed.charges || [], busy: n > MAX_BUSY,
      n, absent, region, present, directed: Boolean(packed.directed), blocks: blocks.some(Boolean),
      names: symbols ? called.map((name, i) => `${symbols[i]} ${name}`) : called, labels: symbols || (points ? called.map(() => "") : called),
      typeNames: packed.types ? data.drawings.names[packed.type_names] : [],
      home: homes.map((list) => (list.length === 1 ? list[0] : -1)),
      types: packed.types || [],
      edges: edges.map(([u, v]) => [u, v, region.has(u * n + v) ? region.get(u * n + v) : -1]),
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

  // An arc: a line with a head at its target, bent where there is one back.
  function arc(points, u, v, size, bent, attributes) {
    const [[x1, y1], [x2, y2]] = [points[u], points[v]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const bend = bent ? Math.min(18, length / 6) : 0;
    const [cx, cy] = [(x1 + x2) / 2 - bend * dy * 2, (y1 + y2) / 2 + bend * dx * 2];
    const toward = Math.hypot(x2 - cx, y2 - cy) || 1;
    const [ex, ey] = [(x2 - cx) / toward, (y2 - cy) / toward];
    const [tx, ty] = [x2 - (size + 1) * ex, y2 - (size + 1) * ey];
    const [bx, by] = [tx - HEAD * ex, ty - HEAD * ey];
    const at = (...numbers) => numbers.map((number) => number.toFixed(1)).join(" ");
    const group = shape("g", { class: "arc" });
    group.append(shape("path", { d: `M ${at(x1, y1)} Q ${at(cx, cy)} ${at(bx, by)}`, fill: "none", ...attributes }));
    group.append(shape("polygon", {
      class: "head", points: `${at(tx, ty)} ${at(bx - 4 * ey, by + 4 * ex)} ${at(bx + 4 * ey, by - 4 * ex)}`,
      fill: attributes.stroke, "fill-opacity": attributes["stroke-opacity"] || 1,
    }));
    return group;
  }

  // A short piece of a line as edges of this type have it, for a legend.
  function sample(type, order) {
    const svg = shape("svg", { viewBox: "0 0 42 12", width: 42, height: 12, "aria-hidden": "true", class: "sample" });
    if (order) svg.append(...Formula.bond([1, 6], [41, 6], order, 1, { stroke: "#1d2733", "stroke-width": 2 }));
    else svg.append(shape("line", { x1: 1, y1: 5, x2: 41, y2: 5, stroke: "#1d2733", "stroke-width": WIDTHS[(type - 1) % WIDTHS.length], ...(dashesOf(type) && { "stroke-dasharray": dashesOf(type) }) }));
    return svg;
  }

  function scaled(points, most = 110) {
    const low = [0, 1].map((k) => Math.min(...points.map((point) => point[k])));
    const high = [0, 1].map((k) => Math.max(...points.map((point) => point[k])));
    const scale = Math.min(
      (WIDTH - 2 * MARGIN) / Math.max(high[0] - low[0], 1e-9), (HEIGHT - 2 * MARGIN) / Math.max(high[1] - low[1], 1e-9), most,
    );
    return points.map(([x, y]) => [
      +(WIDTH / 2 + scale * (x - (low[0] + high[0]) / 2)).toFixed(1), +(HEIGHT / 2 + scale * (y - (low[1] + high[1]) / 2)).toFixed(1),
    ]);
  }

  // `marks` say how nodes are filled, and what a click on one does: of nodes that are classified.
  function draw(graph, withAbsent, byInfluence, marks = null) {
    const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    svg.setAttribute("aria-label", `Drawing of a graph with ${graph.n} nodes and ${graph.edges.length} ${graph.directed ? "arcs" : "edges"}`);
    if (!graph.n) return svg;
    graph.points = graph.base.points ||= scaled(Layout.place(graph.n, graph.edges));
    const size = Math.max(3.2, Math.min(10, 48 / Math.sqrt(graph.n)));
    if (withAbsent) {
      for (const [u, v, r] of graph.absent.slice(0, MAX_HINTS)) {
        svg.append(line(graph.points, u, v, { class: "absent", stroke: colour(r), "stroke-opacity": 0.3, "stroke-width": 1.4, ...Formula.DOTS }));
      }
    }
    const weighed = byInfluence && graph.pairs.length > 0;
    const width = graph.edges.length > 400 ? 1.2 : weighed ? 1.6 : 2.4;
    Formula.bands(svg, graph);
    const sides = graph.orders && Formula.sides(graph);
    // Of molecules, influence lies below the bonds, in a colour of its own: orders of bonds have dashes.
    if (weighed && graph.orders) influences(svg, graph, (share) => ({ stroke: INFLUENCE, "stroke-width": (4 + 14 * share).toFixed(1), "stroke-linecap": "round" }));
    graph.edges.forEach(([u, v, r], e) => {
      const type = graph.types[e];
      if (graph.orders) {
        svg.append(...Formula.bond(graph.points[u], graph.points[v], graph.orders[e], sides[e], { stroke: r < 0 ? FIXED : colour(r), "stroke-width": 2, "stroke-opacity": weighed ? 0.6 : 1 }));
        return;
      }
      const dash = graph.typeNames.length ? dashesOf(type) : r < 0 ? "" : dashes(r);
      const attributes = {
        stroke: r < 0 ? FIXED : colour(r), "stroke-width": graph.typeNames.length ? WIDTHS[(type - 1) % WIDTHS.length] : width,
        "stroke-opacity": weighed ? 0.35 : 0.85, ...(dash && { "stroke-dasharray": dash }),
      };
      svg.append(graph.directed ? arc(graph.points, u, v, size, graph.present.has(v * graph.n + u), attributes) : line(graph.points, u, v, attributes));
    });
    if (weighed && !graph.orders) influences(svg, graph, (share, r, there) => ({ stroke: colour(r), "stroke-width": (1 + 6 * share).toFixed(1), ...(!there && Formula.DOTS) }));
    graph.points.forEach(([cx, cy], i) => {
      const mark = marks && marks.get(i);
      if (graph.molecule && !marks) { atom(svg, graph, i); return; }
      const plain = marks ? !mark || !mark.dark : graph.home[i] < 0;
      const fill = marks ? (mark ? mark.fill : "#fff") : plain ? "#fff" : colour(graph.home[i]);
      const dot = shape("circle", {
        cx, cy, r: size, fill, stroke: mark && mark.chosen ? "#1d2733" : plain ? "#56616e" : "#fff", "stroke-width": mark && mark.chosen ? 3.5 : 1.6,
        ...(mark && { class: "target", "data-node": i }),
      }, mark ? mark.title : graph.names[i]);
      if (mark) dot.addEventListener("click", mark.choose);
      svg.append(dot);
      if (graph.n <= (graph.labels === graph.names ? 40 : 120) && graph.labels[i].length <= 2) {
        const label = shape("text", {
          x: cx, y: cy, "text-anchor": "middle", "dominant-baseline": "central", "font-size": (size * 1.05).toFixed(1),
          fill: plain ? "#1d2733" : "#fff", "pointer-events": "none",
        });
        label.textContent = graph.labels[i];
        svg.append(label);
      }
    });
    Formula.marks(svg, graph);
    return svg;
  }

  // The pairs by their influence, the greatest on top.
  function influences(svg, graph, look) {
    for (const [u, v, r, share, there] of [...graph.pairs].reverse()) {
      svg.append(line(graph.points, u, v, { class: "influence", "stroke-opacity": (0.25 + 0.65 * share).toFixed(2), ...look(share, r, there) }));
    }
  }

  // An atom: its element on a ground that covers the ends of its bonds, or a point in the colour of its region.
  function atom(svg, graph, i) {
    const [[cx, cy], home, text] = [graph.points[i], graph.home[i], Formula.atomText(graph, i)];
    const attacked = graph.attackedNodes.some(([node]) => node === i);
    const fill = attacked ? Formula.MARK : text ? "#f4f6f8" : home < 0 ? "#56616e" : colour(home);
    svg.append(shape("circle", { class: "atom", cx, cy, r: text ? 4 + 4 * text.length : 2.6, fill }, graph.names[i]));
    if (!text) return;
    const label = shape("text", { x: cx, y: cy, "text-anchor": "middle", "dominant-baseline": "central", "font-size": 15, fill: home < 0 || attacked ? "#1d2733" : colour(home), "pointer-events": "none" });
    label.textContent = text;
    svg.append(label);
  }

  return { unpack, attacked, draw, colour, sample, pairsOf, shape, line, SIZE: [WIDTH, HEIGHT], FIXED, MAX_HINTS };
})();
