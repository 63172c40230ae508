// What is special about drawings of molecules (single, double, triple and aromatic bonds, elements with their charges), and
// the marks of an attack in any drawing: a yellow band with a dark rim, which no region and no colour-blind reader mistakes.
const Formula = (() => {
  const [MARK, RIM] = ["#F0E442", "#1d2733"];
  const ORDERS = ["single", "double", "triple", "aromatic"];
  const CHARGES = { 1: "⁺", 2: "²⁺", 3: "³⁺", "-1": "⁻", "-2": "²⁻", "-3": "³⁻" };
  const DOTS = { "stroke-dasharray": "0.1 6", "stroke-linecap": "round" }; // absent pairs: no type of edge is dotted so

  // Lines beside the one from a point to another: how far off, whether dashed, and shortened where inside a ring.
  const BESIDE = { 1: [[0]], 2: [[-2.6], [2.6]], 3: [[-4.2], [0], [4.2]], 4: [[0], [5, "4 3", 0.14]] };

  function bond([x1, y1], [x2, y2], order, side, attributes) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    return BESIDE[order].map(([off, dash, cut = 0]) => {
      const [ox, oy, short] = [-dy * off * side, dx * off * side, cut * length];
      return Drawing.shape("line", {
        x1: (x1 + ox + dx * short).toFixed(1), y1: (y1 + oy + dy * short).toFixed(1), x2: (x2 + ox - dx * short).toFixed(1), y2: (y2 + oy - dy * short).toFixed(1),
        ...attributes, ...(dash && { "stroke-dasharray": dash, class: "aromatic" }),
      });
    });
  }

  // On which side of each bond the other neighbours of its ends are: there the second line of an aromatic bond is drawn.
  function sides(graph) {
    const neighbours = Array.from({ length: graph.n }, () => []);
    for (const [u, v] of graph.edges) { neighbours[u].push(v); neighbours[v].push(u); }
    return graph.edges.map(([u, v]) => {
      const [[x, y], [x2, y2]] = [graph.points[u], graph.points[v]];
      const sum = [...neighbours[u], ...neighbours[v]].reduce((all, w) => all + Math.sign((x2 - x) * (graph.points[w][1] - y) - (y2 - y) * (graph.points[w][0] - x)), 0);
      return sum < 0 ? -1 : 1;
    });
  }

  // The name of an atom: carbon has none where it has bonds.
  function atomText(graph, i) {
    const symbol = graph.labels[i];
    if (!symbol) return ""; // its element is not known
    const charge = CHARGES[graph.charges[i]] || "";
    return symbol === "C" && !charge && graph.edges.some(([u, v]) => u === i || v === i) ? "" : symbol + charge;
  }

  // What is said about a place, away from the middle of the drawing and inside it.
  function note(svg, graph, x, y, far, text) {
    const [width, height] = Drawing.SIZE;
    const middle = [0, 1].map((k) => graph.points.reduce((sum, point) => sum + point[k], 0) / graph.n);
    const [dx, dy] = [x - middle[0], y - middle[1]];
    const length = Math.hypot(dx, dy) || 1;
    const half = 4 * text.length + 4; // about half as wide as the text
    const inside = (value, low, high) => Math.min(high, Math.max(low, value)).toFixed(1);
    const made = Drawing.shape("text", { class: "note", x: inside(x + (dx / length) * (far + half), half, width - half), y: inside(y + (dy / length) * far + 5, 14, height - 6), "text-anchor": "middle", "font-size": 13, "font-weight": 600, fill: RIM, stroke: "#fff", "stroke-width": 4, "paint-order": "stroke" });
    made.textContent = text;
    svg.append(made);
  }

  // The band under an attacked pair or node, drawn before the edges.
  function bands(svg, graph) {
    for (const [u, v] of graph.attack) {
      for (const [width, stroke, name] of [[17, RIM, "rim"], [14, MARK, "attack"]]) {
        svg.append(Drawing.line(graph.points, u, v, { class: name, stroke, "stroke-width": width, "stroke-linecap": "round" }));
      }
    }
    for (const [node] of graph.attackedNodes) {
      const [cx, cy] = graph.points[node];
      svg.append(Drawing.shape("circle", { class: "attacked-node", cx, cy, r: 15, fill: MARK, stroke: RIM, "stroke-width": 1.5 }));
    }
  }

  // What becomes of attacked pairs and nodes, drawn last: deleted edges are crossed out, added ones dotted, others labelled.
  function marks(svg, graph) {
    const named = graph.attack.length + graph.attackedNodes.length <= 12;
    for (const [u, v, before, after] of graph.attack) {
      const [[x1, y1], [x2, y2]] = [graph.points[u], graph.points[v]];
      const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
      const types = graph.typeNames;
      const deleted = before > 0 && after <= 0;
      if (!before) svg.append(Drawing.line(graph.points, u, v, { class: "added", stroke: RIM, "stroke-width": 4, ...DOTS, "stroke-dasharray": "0.1 8" }));
      if (deleted) svg.append(Drawing.shape("path", { class: "crossed", d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12`, stroke: RIM, "stroke-width": 2.6, fill: "none" }));
      const text = deleted ? "deleted" : before ? `${types[before - 1]} → ${types[after - 1]}` : after > 0 ? `added: ${types[after - 1]}` : "added";
      if (named) note(svg, graph, x, y, 20, text);
    }
    for (const [node, text] of graph.attackedNodes) if (named && text) note(svg, graph, ...graph.points[node], 24, text);
  }

  return { ORDERS, DOTS, MARK, bond, sides, atomText, bands, marks };
})();
