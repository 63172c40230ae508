// What the reader has chosen (a graph, two axes, a p_lower), and everything that follows from it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const { graphs, classes, axes, objects, words } = data;
  const byRadius = data.evidence?.slices; // of listed attacks, evidence says nothing about radii
  const KNOWN = { "by p_A": "certified by p_A", "by evidence": "certified by evidence" };
  const objectOf = (g) => graphs.object[g];
  const first = data.pairs[Plots.telling(data)];
  const state = { graph: 0, failure: graphs.failure[0], yAxis: first[0], xAxis: first[1] ?? null, samples: null, unpacked: null };
  const SLIDER_END = Math.min(15, -Math.log10(data.slack.least)); // 1 − p differs from 0 this far
  const stepOf = (ticks) => (ticks.length > 1 ? ticks[1] - ticks[0] : 1);

  // Which slice the two chosen axes are, and whether they stand the other way round in it.
  function view() {
    const { yAxis, xAxis } = state;
    const wanted = xAxis === null ? [yAxis] : [Math.min(yAxis, xAxis), Math.max(yAxis, xAxis)];
    return { yAxis, xAxis, p: data.pairs.findIndex((pair) => pair.join() === wanted.join()), turned: xAxis !== null && xAxis < yAxis };
  }

  function inSteps(ticks) {
    const coarse = view().xAxis === null ? [state.yAxis] : [state.yAxis, state.xAxis];
    const steps = coarse.filter((axis) => stepOf(ticks[axis]) > 1).map((axis) => `${axes[axis]} in steps of ${Text.count(stepOf(ticks[axis]))} flips`);
    return steps.length ? ` To keep this page small it lists ${steps.join(" and ")}; each verdict is about the very radius it stands at.` : "";
  }

  const others = () => (axes.length > 2 ? " All other axes are at 0 here: nothing is said about flips on three axes at once." : "");

  // Which graphs a slice does not count: those with nothing to flip on one of its axes.
  function leftOut({ known, whole }) {
    const all = known ? data.labelled : graphs.names.length;
    if (whole === all) return "";
    const where = (state.xAxis === null ? [state.yAxis] : [state.yAxis, state.xAxis]).map((axis) => axes[axis]).join(" or in ");
    return ` ${Text.count(all - whole)} of ${Text.count(all)} ${words.many} have nothing to flip in ${where} and are not counted here.`;
  }

  function drawSurface() {
    const slice = Plots.counted(data, view().p);
    const { known, counts, whole, majority } = slice;
    $("surface-heading").textContent = known ? "Certified accuracy" : "Certified share";
    const among = known && data.labelled < graphs.names.length ? ` Only the ${Text.count(data.labelled)} ${words.many} with a known class count.` : "";
    $("surface-lead").textContent = (known
      ? `The share of ${words.many} that are answered right and certified, for an attacker who may flip this many ${words.sites}.`
      : `The share of ${words.many} that are certified, for an attacker who may flip this many ${words.sites}. The true classes are not known, so this says nothing about being right.`) + among;
    $("surface-plot").hidden = !whole;
    Text.write($("surface-caption"), (whole ? `Without any flip: ${Text.percent(counts[0][0] / whole)}.` : `There is no such ${words.one}.`)
      + (majority ? ` Always answering the majority class, "${classes[majority[0]]}", would be right on ${Text.percent(majority[1] / whole)}, whatever is flipped.` : "")
      + leftOut(slice) + ` ${words.whole === "object" ? "An object" : `A ${words.whole}`} with fewer ${words.sites} than there are flips counts there if it is certified even with all of them flipped.` + others() + inSteps(data.surface.ticks));
    $("surface-plot").setAttribute("aria-label", `${$("surface-heading").textContent}. ${$("surface-caption").textContent}`);
    Plots.surface($("surface-plot"), data, view());
    if (!byRadius) return;
    $("surface-counted").hidden = !whole;
    Plots.surface($("surface-counted"), data, view(), data.evidence.surface);
    const least = Plots.counted(data, view().p, data.evidence.surface);
    $("surface-counted").setAttribute("aria-label", `${$("surface-heading").textContent} by p_A alone. Without any flip: ${whole ? Text.percent(least.counts[0][0] / whole) : "none"}.`);
  }

  function drawDetail() {
    const g = state.graph;
    const stored = Frontier.stored(data, view().p, g);
    const abstains = !stored.length;
    $("detail-heading").replaceChildren(Text.name(graphs.names[g]));
    const lead = [`${graphs.node === null ? "" : "A node of a graph with "}${objects.about[objectOf(g)]}. `];
    if (abstains) lead.push(`The smoothed classifier abstains: no class can be shown to be ${data.fallback === null ? "the likeliest" : "its answer"}.`);
    else {
      lead.push("The smoothed classifier answers ", Text.name(classes[graphs.answer[g]]));
      if (data.fallback === null) lead.push(` with p_lower = ${Text.probability(graphs.failure[g])}`);
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
    drawVotes();
    drawSamples();
    drawFrontier();
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
      `. Votes at the attacked ${words.whole}: `, ...told,
      `. If the answer stayed, such votes would come with a probability of at most ${Text.failure(attack.delta)}.`);
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
    Text.write($("region-caption"), fixed ? `Fixed ${words.sites} never flip under the noise, and nothing is certified there: the certificate holds as long as an attacker leaves them alone.` : "");
    $("absent-choice").hidden = !graph || !graph.absent.length;
    $("type-legend").replaceChildren();
    if (data.evidence) $("influence-choice").hidden = !graph;
    if (!graph) {
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
    const p = data.pairs.findIndex((pair) => pair.includes(axis));
    const place = data.pairs[p].indexOf(axis);
    const marks = new Map();
    const totals = [0, 0, 0, graph.n];
    graphs.node.forEach((node, g) => {
      if (objectOf(g) !== o) return;
      const stored = Frontier.stored(data, p, g);
      const limit = Frontier.limits(data, g)[axis];
      const asked = limit === null ? wanted : Math.min(wanted, limit);
      const kind = !stored.length ? 2 : stored.some((radius) => radius[place] >= asked) ? 0 : 1;
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
    const edges = graph.directed ? "Arcs" : "Edges";
    const fixed = graph.edges.some(([, , region]) => region < 0) ? ` Grey ${edges.toLowerCase()} are fixed: they lie in no region.` : "";
    const nodes = graph.home.some((region) => region >= 0) ? " Nodes have the colour of the region that holds the pairs among them." : "";
    const hints = shown ? ` Dotted lines are absent ${graph.directed ? "arcs" : "pairs"} of a region, which an attacker may add.` : "";
    const more = shown && graph.absent.length > Drawing.MAX_HINTS ? ` (${Text.count(Drawing.MAX_HINTS)} of ${Text.count(graph.absent.length)} are shown.)` : "";
    const influence = weighed ? " The wider a pair, the likelier the class loses where that pair alone is flipped (estimated from where the flips of the votes fell); dotted pairs are absent." : "";
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

  // Other numbers of samples, as if the votes fell in the same shares.
  function drawSamples() {
    const g = state.graph;
    const own = graphs.votes[g].reduce((a, b) => a + b, 0);
    const known = data.more_samples.failure[data.more_samples.of[g]];
    const choices = data.more_samples.samples.map((samples, i) => [`${Text.count(samples)}`, known[i], samples]).filter(([, , samples]) => samples !== own);
    choices.push([`${Text.count(own)} (this ${words.one})`, graphs.failure[g], own]);
    choices.sort((a, b) => a[2] - b[2]);
    const buttons = choices.map(([text, failure, samples]) => {
      const button = Text.element("button", { type: "button", "data-samples": samples }, text);
      button.addEventListener("click", () => move(failure, samples));
      return button;
    });
    state.samples = own;
    $("samples").replaceChildren(Text.element("span", {}, "or what if the votes fell in the same shares, with this many samples:"), ...buttons);
  }

  function drawFrontier() {
    if (data.threat) {
      const named = (label, [kind, n, why]) => `${label}${n ? ` (${Text.count(n)} attack${n === 1 ? "" : "s"})` : ""}: ${KNOWN[kind] ?? kind}${why && why !== kind ? `, ${why}` : ""}`;
      $("threat-verdicts").replaceChildren(...data.threat.graphs[state.graph].map((found, k) => Text.element("li", {}, named(data.threat.labels[k], found))));
    }
    if (byRadius) {
      Plots.verdicts($("verdict-plot"), data, view(), state.graph);
      const { any_flips: any, broken } = data.evidence.graphs[state.graph];
      const known = any ? ` Any ${any === 1 ? "one flip" : `${Text.count(any)} flips`}, wherever, ${any === 1 ? "leaves" : "leave"} the answer as it is.` : "";
      Text.write($("verdict-caption"), `Certified: ${Text.radii(Frontier.stored(data, view().p, state.graph), 8)}; by p_A alone: ${Text.radii(Frontier.counted(data, view().p, state.graph), 8)}. Broken: ${broken.length ? Text.levels(data, broken, 8) : "none"}.${known} A radius is broken if an attack within it is known.${others()}`);
      $("verdict-plot").setAttribute("aria-label", `Verdicts. ${$("verdict-caption").textContent}`);
    }
    Plots.frontier($("frontier-plot"), data, view(), state.graph, state.failure);
    readout();
  }

  function move(failure, samples = null) {
    state.failure = Math.min(1, Math.max(failure, data.slack.least));
    state.samples = samples;
    Plots.moveFrontier($("frontier-plot"), data, view(), state.graph, state.failure);
    readout();
  }

  function readout() {
    const { p } = view();
    const [g, failure] = [state.graph, state.failure];
    const found = Frontier.radii(data, p, failure, Frontier.limits(data, g));
    const named = `(${(state.xAxis === null ? [state.yAxis] : data.pairs[p]).map((axis) => axes[axis]).join(", ")})`;
    $("slider").value = Math.min(SLIDER_END, -Math.log10(failure));
    $("slider").setAttribute("aria-valuetext", `p_lower ${Text.probability(failure)}`);
    $("p-lower").value = failure === graphs.failure[g] ? Text.probability(failure) : String(1 - failure);
    $("failure").textContent = Text.failure(failure);
    for (const button of $("samples").querySelectorAll("button")) button.setAttribute("aria-pressed", Number(button.dataset.samples) === state.samples);
    const radii = Text.element("span", { class: "radii" }, Text.radii(found, 12));
    const line = $("frontier-text");
    Text.write(line, `Maximal certified radii ${named} at this p_lower: `, radii, ".");
    line.dataset.radii = JSON.stringify(found);
    line.dataset.failure = String(failure);
    if (!found.length) Text.write(line, "At this p_lower the two-class margin certifies nothing, not even the answer without any flip: it does not exceed 1/2.");
    const own = Frontier.counted(data, p, g);
    const multi = data.fallback !== null
      ? ` The slider shows plain smoothing. This certificate (dotted) is about a smoothed classifier that falls back to a blind answer unless another class is likelier than ${data.fallback}: it does not move with the slider.`
      : graphs.multi[g]
      ? " The slider shows the two-class margin, which looks at p_lower alone. This certificate (dotted) uses the multi-class margin, with a bound on every other class: it can reach further, and does not move with the slider."
      : "";
    Text.write($("frontier-caption"), `This ${words.one}'s certificate${data.evidence ? " by p_A" : ""}: ${Text.radii(own, 12)}. Slack depends on the noise alone; a radius is certified when 1 − p_lower is below its slack.${multi}${others()}${inSteps(data.slack.ticks)}`);
    $("frontier-plot").setAttribute("aria-label", `Frontier. ${line.textContent} ${$("frontier-caption").textContent}`);
  }

  function choose(g) {
    state.graph = g;
    state.failure = graphs.failure[g];
    table.mark(g);
    drawDetail();
  }

  function chooseAxes() {
    for (const box of [$("surface-axes"), $("frontier-axes")]) {
      box.replaceChildren();
      if (axes.length < 3) continue;
      for (const [role, title] of [["yAxis", "y axis"], ["xAxis", "x axis"]]) {
        const select = Text.element("select", { "data-role": role });
        axes.forEach((axis, number) => select.append(Text.element("option", { value: number }, data.axis_words[number][2].replace(/^flips in /, ""))));
        select.value = state[role];
        select.addEventListener("change", () => {
          const [other, before] = [role === "yAxis" ? "xAxis" : "yAxis", state[role]];
          state[role] = Number(select.value);
          if (state[other] === state[role]) state[other] = before;
          chooseAxes();
          drawSurface();
          drawFrontier();
          box.querySelector(`[data-role=${role}]`).focus();
        });
        box.append(Text.element("label", {}, `${title} `, select));
      }
      box.append(Text.element("span", { class: "caption" }, "all other axes at 0"));
    }
  }

  const slider = $("slider");
  Object.assign(slider, { min: 0.3, max: SLIDER_END.toFixed(2), step: 0.01 }); // from just above 1/2 on
  slider.addEventListener("input", () => move(1 - (1 - 10 ** -Number(slider.value)))); // so that 1 − p_lower is exact
  $("p-lower").addEventListener("change", () => {
    const p = Number($("p-lower").value);
    if ($("p-lower").value !== "" && p >= 0 && p <= 1) move(1 - p);
    else readout();
  });
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
  chooseAxes();
  drawSurface();
  choose(0); // for whoever prints or tests the page by program
})();
