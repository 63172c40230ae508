// What the reader has chosen, a graph, and everything that follows from it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const { graphs, classes, axes, objects, words } = data;
  const KNOWN = { "by p_A": "certified by p_A", "by evidence": "certified by evidence" };
  const objectOf = (g) => graphs.object[g];
  const state = { graph: 0, unpacked: null };

  function drawDetail() {
    const g = state.graph;
    const abstains = !Rows.frontier(data, g).length;
    $("detail-heading").replaceChildren(Text.name(graphs.names[g]));
    const lead = [`${graphs.node === null ? "" : "A node of a graph with "}${objects.about[objectOf(g)]}. `];
    if (abstains) lead.push(`The smoothed classifier abstains: no class can be shown to be ${data.fallback === null ? "the likeliest" : "its answer"}.`);
    else {
      lead.push(`The ${graphs.votes ? "smoothed classifier" : "model"} answers `, Text.name(classes[graphs.answer[g]]));
      if (!graphs.votes); // nothing was sampled
      else if (data.fallback === null) lead.push(` with p_lower = ${Text.probability(graphs.failure[g])}`);
      else lead.push(graphs.blind[g] === graphs.answer[g] ? ", the blind answer" : `, which is likelier than ${data.fallback}`);
      if (graphs.truth[g] < 0) lead.push("; the true class is not known.");
      else if (graphs.right[g]) lead.push(", which is right.");
      else lead.push("; the true class is ", Text.name(classes[graphs.truth[g]]), ".");
    }
    Text.write($("detail-lead"), ...lead);
    const short = data.in_short.different[data.in_short.of[g]];
    Text.write($("in-short"), ...short.map((text, k) => (k % 2 ? Text.element("em", {}, Text.name(text)) : text)));
    const reason = graphs.anchored.different[graphs.anchored.of[g]];
    Text.write($("detail-anchor"), reason ? `Anchored regions: ${reason}` : "");
    drawRegions();
    if (graphs.votes) drawVotes();
    drawVerdicts();
    drawAttack();
    drawPicture();
  }

  // The attack to show first, in words.
  function drawAttack() {
    if (!data.evidence) return;
    const { attack } = data.evidence.graphs[state.graph];
    $("attack-text").hidden = !attack;
    if (!attack) return;
    const further = attack.n_sites - attack.named.length;
    const listed = attack.named.join("; ") + (further ? `; and ${Text.count(further)} more` : "");
    const votes = attack.votes.map((n, c) => [n, c]).sort((a, b) => b[0] - a[0]).slice(0, 4);
    const told = votes.flatMap(([n, c], k) => [k ? ", " : "", `${Text.count(n)} for `, Text.name(classes[c])]);
    const marked = state.unpacked && (attack.pairs.length || attack.nodes.length) ? ", marked in yellow in the drawing" : "";
    Text.write($("attack-text"), Text.element("strong", {}, "An attack that changes the answer"), ` (${attack.label})${marked}: `, listed,
      ...(attack.delta === null ? [". The answer is then ", Text.name(classes[votes[0][1]]), "."] : [
        `. Votes at the attacked ${words.whole}: `, ...told,
        `. If the answer stayed, such votes would come with a probability of at most ${Text.failure(attack.delta)}.`,
      ]));
  }

  function drawRegions() {
    const o = objectOf(state.graph);
    const graph = state.unpacked = Drawing.unpack(data, state.graph);
    const head = Text.element("tr", {}, ...["region", words.sites, words.present].map((title) => Text.element("th", { scope: "col" }, title)));
    const rows = data.regions.map((region, r) => {
      const swatch = Text.element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = Drawing.colour(r);
      return Text.element("tr", {}, Text.element("td", { title: region.law }, swatch, region.name),
        Text.element("td", {}, Text.count(objects.region_sites[o][r])), Text.element("td", {}, Text.count(objects.region_edges[o][r])));
    });
    const fixed = objects.fixed_pairs[o];
    if (fixed) {
      const swatch = Text.element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = Drawing.FIXED;
      rows.push(Text.element("tr", { class: "fixed" }, Text.element("td", {}, swatch, "in no region (fixed)"),
        Text.element("td", {}, Text.count(fixed)), Text.element("td", {}, Text.count(objects.fixed_edges[o]))));
    }
    $("region-table").replaceChildren(head, ...rows);
    Text.write($("region-caption"), fixed ? `${graphs.votes ? `Fixed ${words.sites} never flip under the noise, and nothing is certified there` : `Nothing is certified about fixed ${words.sites}`}: the certificate holds as long as an attacker leaves them alone.` : "");
    $("absent-choice").hidden = !graph || !graph.absent.length;
    $("type-legend").replaceChildren();
    if (data.evidence) $("influence-choice").hidden = !graph;
    if (!graph) {
      if (data.evidence) $("attacked").hidden = true;
      const svg = data.drawings.graphs[o];
      $("drawing").replaceChildren(...(svg ? [new DOMParser().parseFromString(svg, "image/svg+xml").documentElement] : []));
      Text.write($("drawing-caption"), notDrawn(o));
      return;
    }
    if (graph.typeNames.length) $("type-legend").append(...graph.typeNames.map((name, k) => Text.element("li", {}, Drawing.sample(k + 1, graph.orders && Formula.ORDERS.indexOf(name) + 1), Text.name(name))));
    $("absent").checked = !graph.busy && !graph.molecule && graph.absent.length <= 250;
    redraw();
  }

  function notDrawn(o) {
    if (!objects.drawable[o]) return "";
    return `Not drawn: graphs with more than ${Text.count(data.drawn.nodes)} nodes or ${Text.count(data.drawn.edges)} edges, or beyond what one page can hold, are described by the table only.`;
  }

  // Where nodes are classified: their graph, each node in the colour of what is certified for it.
  const KINDS = [["certified", "#0072B2"], ["answered, but not certified there", "#9ecae9"], ["abstains", "#E69F00"], ["no target", "#ffffff"]];

  function drawPicture() {
    if (graphs.node === null) return;
    const o = objectOf(state.graph);
    const graph = state.unpacked;
    $("picture-controls").hidden = $("picture-legend").hidden = !graph;
    Text.write($("picture-caption"), graph ? "" : notDrawn(o));
    if (!graph) { $("picture-drawing").replaceChildren(); return; }
    const axis = Number($("picture-axis").value);
    const wanted = Math.max(0, parseInt($("picture-count").value, 10) || 0);
    const marks = new Map();
    const totals = [0, 0, 0, graph.n];
    graphs.node.forEach((node, g) => {
      if (objectOf(g) !== o) return;
      const frontier = Rows.frontier(data, g);
      const size = Rows.shared(graphs.sizes, g);
      const asked = size === null ? wanted : Math.min(wanted, size[axis]);
      const kind = !frontier.length ? 2 : frontier.some((radius) => radius[axis] >= asked) ? 0 : 1;
      totals[kind] += 1;
      totals[3] -= 1;
      const answer = kind === 2 ? "abstains" : classes[graphs.answer[g]];
      marks.set(node, { fill: KINDS[kind][1], dark: kind === 0, chosen: g === state.graph, title: `${graph.names[node]}: ${answer}, ${KINDS[kind][0]}`, choose: () => choose(g) });
    });
    $("picture-drawing").replaceChildren(Drawing.draw(graph, false, false, marks));
    $("picture-legend").replaceChildren(...KINDS.flatMap(([name, color], k) => {
      if (!totals[k]) return [];
      const swatch = Text.element("i", { class: "tone" });
      swatch.style.background = color;
      return [Text.element("li", {}, swatch, `${name}: ${Text.count(totals[k])}`)];
    }));
    Text.write($("picture-caption"), `A click chooses a node; the chosen one has a ring.${attackText(graph, " on it")} ${graph.directed ? "Arcs" : "Edges"} have the colour of their region.`);
  }

  function redraw() {
    const graph = state.unpacked;
    const shown = $("absent").checked && graph.absent.length > 0;
    const weighed = data.evidence && graph.pairs.length > 0 && $("influence").checked;
    if (data.evidence) $("influence-choice").hidden = !graph.pairs.length;
    $("drawing").replaceChildren(Drawing.draw(graph, shown, weighed));
    if (data.evidence) {
      const broken = graph.attack.length || graph.attackedNodes.length;
      $("attacked").hidden = !broken;
      if (broken) $("attacked").replaceChildren(Text.element("figcaption", {}, `The attacked ${words.whole}`), Drawing.draw(Drawing.attacked(graph), false, false));
    }
    const edges = graph.directed ? "Arcs" : "Edges";
    const fixed = graph.edges.some(([, , region]) => region < 0) ? ` Grey ${edges.toLowerCase()} are fixed: they lie in no region.` : "";
    const nodes = graph.home.some((region) => region >= 0) ? " Nodes have the colour of the region that holds the pairs among them." : "";
    const hints = shown ? ` Dotted lines are absent ${graph.directed ? "arcs" : "pairs"} of a region, which an attacker may add.` : "";
    const more = shown && graph.absent.length > Drawing.MAX_HINTS ? ` (${Text.count(Drawing.MAX_HINTS)} of ${Text.count(graph.absent.length)} are shown.)` : "";
    const influence = weighed ? ` The wider a ${graph.orders ? "violet band" : "pair"}, the likelier the class loses where that pair alone is flipped (estimated from where the flips of the votes fell)${graph.orders ? "" : "; dotted pairs are absent"}.` : "";
    const left = weighed && graph.busy ? " Absent pairs are left out." : "";
    const coloured = graph.blocks ? `${edges} have the colour of their region.` : "";
    Text.write($("drawing-caption"), `${coloured}${nodes}${fixed}${hints}${more}${influence}${left}${attackText(graph)}`);
  }

  // What the marks of an attack mean.
  function attackText(graph, whose = "") {
    if (!graph.attack.length && !graph.attackedNodes.length) return "";
    return ` The yellow band marks the attack${whose}: crossed out is what it deletes, dotted what it adds.`;
  }

  function drawVotes() {
    const g = state.graph;
    const votes = graphs.votes[g];
    const sum = votes.reduce((a, b) => a + b, 0);
    const order = votes.map((_, c) => c).sort((a, b) => votes[b] - votes[a] || a - b);
    const listed = order.slice(0, 8);
    if (!listed.includes(graphs.answer[g])) listed.push(graphs.answer[g]);
    const bar = (label, count, chosen) => {
      const fill = Text.element("div", { class: "fill" });
      fill.style.width = `${(100 * count) / sum}%`;
      const track = Text.element("div", { class: "track", "aria-hidden": "true" }, fill);
      if (chosen) {
        const mark = Text.element("div", { class: "mark", title: "p_lower" });
        mark.style.left = `${100 * (1 - graphs.failure[g])}%`;
        track.append(mark);
      }
      return Text.element("div", { class: chosen ? "vote chosen" : "vote" }, label, track, Text.element("span", { class: "count" }, Text.count(count)));
    };
    const bars = listed.map((c) => bar(Text.name(classes[c]), votes[c], c === graphs.answer[g]));
    const rest = order.filter((c) => !listed.includes(c));
    if (rest.length) bars.push(bar(Text.element("span", {}, `${rest.length} more classes`), rest.reduce((a, c) => a + votes[c], 0), false));
    const note = Text.element("p", { class: "caption" }, `${Text.count(sum)} votes. The mark is p_lower: the share that the class has at least, with probability ≥ ${data.holds}.`);
    $("votes").replaceChildren(...bars, note);
  }

  // What is certified, broken and open, in words.
  function drawVerdicts() {
    const g = state.graph;
    const radii = Rows.frontier(data, g);
    if (data.threat) {
      const named = (label, [kind, n, why]) => `${label}${n ? ` (${Text.count(n)} attack${n === 1 ? "" : "s"})` : ""}: ${KNOWN[kind] ?? kind}${why && why !== kind ? `, ${why}` : ""}`;
      $("threat-verdicts").replaceChildren(...data.threat.graphs[g].map((found, k) => Text.element("li", {}, named(data.threat.labels[k], found))));
    }
    if (!graphs.votes) return;
    const line = $("frontier-text");
    line.dataset.radii = JSON.stringify(radii);
    Text.write(line, `Maximal certified radii (${axes.join(", ")})${data.threat ? ", by p_A alone" : ""}: `, Text.element("span", { class: "radii" }, Text.radii(radii, 12)), ".");
    if (!data.evidence?.by_p_A) return;
    const { any_flips: any, broken } = data.evidence.graphs[g];
    const known = any ? ` Any ${any === 1 ? "one flip" : `${Text.count(any)} flips`}, wherever, ${any === 1 ? "leaves" : "leave"} the answer as it is.` : "";
    Text.write($("frontier-caption"), `By p_A alone: ${Text.radii(Rows.shared(data.evidence.by_p_A, g), 8)}. Broken: ${broken.length ? Text.levels(data, broken, 8) : "none"}.${known} A radius is broken if an attack within it is known, and open if it is neither certified nor broken.`);
    const { reasons } = data.evidence.graphs[g];
    const width = axes.length + 1;
    const looked = Array.from({ length: reasons.length / width }, (_, k) => [reasons.slice(k * width, (k + 1) * width - 1), data.evidence.texts[reasons[(k + 1) * width - 1]]]);
    $("level-reasons").replaceChildren(...looked.slice(0, 12).map(([level, why]) => Text.element("li", {}, `${Text.level(data, level)}: ${why}`)));
  }

  function choose(g) {
    state.graph = g;
    table.mark(g);
    drawDetail();
  }

  $("absent").addEventListener("change", redraw);
  if (data.evidence) $("influence").addEventListener("change", redraw);
  // Paper has its own width.
  const plots = () => [...document.querySelectorAll(".plot")].filter((div) => div.data);
  window.addEventListener("beforeprint", () => { for (const div of plots()) SvgPlot.resize(div, div.closest(".small") ? [320, 230] : [660, 400]); });
  window.addEventListener("afterprint", () => { for (const div of plots()) SvgPlot.resize(div); });

  if (graphs.node !== null) {
    axes.forEach((axis, number) => $("picture-axis").append(Text.element("option", { value: number }, axis)));
    for (const id of ["picture-axis", "picture-count"]) $(id).addEventListener("input", drawPicture);
  }

  const table = GraphTable.start(data, choose);
  choose(0); // for whoever prints or tests the page by program
})();
