// What is stored once for rows that share it, and the maximal certified radii of a row.
const Rows = (() => {
  const shared = (values, g) => values.different[values.of[g]];
  const frontier = (data, g) => shared(data.frontiers, g);
  return { shared, frontier };
})();

// The table of all graphs: searched, filtered, sorted and shown page by page, however many there are.
const GraphTable = (() => {
  const PAGE = 15;
  const MAX_COLUMNS = 4; // axes with a column each

  function start(data, choose) {
    const { graphs, classes, words } = data;
    const all = graphs.names.length;
    const $ = (id) => document.getElementById(id);
    const className = (c) => (c < 0 ? "unknown" : classes[c]);
    const abstains = (g) => !Rows.frontier(data, g).length;
    const wrong = (g) => graphs.truth[g] >= 0 && !abstains(g) && !graphs.right[g];
    const reach = (g) => data.axes.map((_, axis) => Math.max(0, ...Rows.frontier(data, g).map((radius) => radius[axis])));
    const searched = graphs.names.map((name, g) =>
      `${name}\n${graphs.truth[g] < 0 ? "" : className(graphs.truth[g])}\n${abstains(g) ? "abstains" : className(graphs.answer[g])}`.toLowerCase());
    const state = { list: [], page: 0, column: null, descending: false, chosen: -1 };

    const filters = { all: [`all ${words.many}`, () => true] };
    if (data.labelled) {
      filters.right = ["answered right", (g) => graphs.right[g]];
      filters.wrong = ["answered wrong", wrong];
    }
    filters.abstained = ["abstentions", abstains];
    if (data.axes.length) filters.nothing = ["answered, but no flip certified", (g) => !abstains(g) && !reach(g).some(Boolean)];
    if (data.evidence) filters.broken = ["broken by a known attack", (g) => data.evidence.graphs[g].attack !== null];
    for (const [value, [text]] of Object.entries(filters)) $("filter").append(Text.element("option", { value }, text));

    const columns = [
      ["name", words.one, (g) => graphs.names[g]],
      ["truth", "true class", (g) => className(graphs.truth[g])],
      ["answer", "answer", (g) => (abstains(g) ? "" : className(graphs.answer[g]))],
    ];
    if (graphs.votes) {
      columns.push(["p_lower", "p_lower", (g) => -graphs.failure[g]]);
      columns.push(["votes", "votes for it", (g) => graphs.votes[g][graphs.answer[g]]]);
    }
    // How far rows are certified: on two axes together, which graphs have little enough of to read, and on each axis alone.
    const together = graphs.node === null && data.axes.length === 2;
    const reaches = graphs.names.map((_, g) => (abstains(g) ? null : reach(g)));
    if (together) columns.push(["radii", `maximal radii (${data.axes.join(", ")})`, null]);
    // Of many axes, one column names those on which anything is certified.
    const apart = data.axes.length <= MAX_COLUMNS;
    const total = (counts) => counts.reduce((sum, n) => sum + n, 0);
    const furthest = (g) => (reaches[g].some(Boolean) ? reaches[g].flatMap((n, k) => (n ? [`${Text.count(n)} ${data.axis_words[k][n === 1 ? 0 : 1]}`] : [])).join("; ") : "nothing");
    if (apart) data.axes.forEach((axis, k) => columns.push([`reach_${k}`, data.axis_words[k][2].replace(/^(flips in )?/, (flips) => (flips ? "furthest in " : "furthest: ")), (g) => (reaches[g] ? reaches[g][k] : -1)]));
    else columns.push(["reach", "certified at most, on each axis alone", (g) => (reaches[g] ? total(reaches[g]) : -1)]);
    if (data.threat) data.threat.labels.forEach((label, k) => columns.push([`threat_${k}`, label, (g) => data.threat.graphs[g][k][0]]));
    const attackOn = (g) => data.evidence.graphs[g].attack?.named.join("; ") ?? "–";
    if (!graphs.votes) columns.push(["attack", "the attack that breaks", attackOn]);
    if (data.evidence?.by_p_A) {
      columns.push(["any_flips", "any flips", (g) => data.evidence.graphs[g].any_flips ?? -1]);
      columns.push(["broken", "broken at", (g) => data.evidence.graphs[g].broken.length]);
    }
    for (const [key, title, by] of columns) {
      const head = Text.element("th", { scope: "col", "data-column": key });
      if (by) {
        const button = Text.element("button", { type: "button" }, title);
        button.addEventListener("click", () => {
          state.descending = state.column === key && !state.descending;
          state.column = key;
          refresh();
        });
        head.append(button);
      } else Text.write(head, title);
      $("table-head").append(head);
    }

    function answerCell(g) {
      if (abstains(g)) return Text.element("td", {}, "abstains");
      const cell = Text.element("td", wrong(g) ? { class: "wrong" } : {}, Text.name(className(graphs.answer[g])));
      if (wrong(g)) cell.append(" ✗ wrong");
      return cell;
    }

    function voteCells(g) {
      const votes = graphs.votes[g];
      const sum = votes.reduce((a, b) => a + b, 0);
      const own = votes[graphs.answer[g]];
      const fill = Text.element("i");
      fill.style.width = `${(100 * own) / sum}%`;
      return [Text.element("td", { class: "figure" }, Text.probability(graphs.failure[g])),
        Text.element("td", { class: "figure" }, Text.element("span", { class: "bar", "aria-hidden": "true" }, fill), `${Text.count(own)} of ${Text.count(sum)}`)];
    }

    function row(g) {
      const button = Text.element("button", { type: "button" }, Text.name(graphs.names[g]));
      const made = Text.element("tr", { "data-graph": g, "aria-selected": g === state.chosen },
        Text.element("td", { class: "name" }, button),
        Text.element("td", {}, graphs.truth[g] < 0 ? "unknown" : Text.name(className(graphs.truth[g]))),
        answerCell(g),
        ...(graphs.votes ? voteCells(g) : []),
        ...(together ? [Text.element("td", { class: "radii" }, Text.radii(Rows.frontier(data, g), 4))] : []),
        ...(apart ? data.axes.map((_, k) => Text.element("td", { class: "figure reach" }, reaches[g] ? Text.count(reaches[g][k]) : "–"))
          : [Text.element("td", { class: "reach" }, reaches[g] ? furthest(g) : "–")]));
      if (data.threat) made.append(...data.threat.graphs[g].map(([kind]) => Text.element("td", {}, kind)));
      if (!graphs.votes) made.append(Text.element("td", {}, attackOn(g)));
      if (data.evidence?.by_p_A) {
        const { any_flips: any, broken } = data.evidence.graphs[g];
        made.append(Text.element("td", { class: "figure" }, any === null ? "" : Text.count(any)), Text.element("td", {}, broken.length ? Text.levels(data, broken, 3) : "–"));
      }
      // On a narrow screen a row is a card, and each cell has its title beside it.
      [...made.children].forEach((cell, k) => { cell.dataset.title = columns[k][1]; });
      made.addEventListener("click", () => choose(g));
      return made;
    }

    function show() {
      const pages = Math.max(1, Math.ceil(state.list.length / PAGE));
      state.page = Math.min(Math.max(state.page, 0), pages - 1);
      const rows = state.list.slice(state.page * PAGE, (state.page + 1) * PAGE).map(row);
      if (!rows.length) rows.push(Text.element("tr", { class: "empty" }, Text.element("td", { colspan: columns.length }, `No ${words.one} matches.`)));
      $("table-body").replaceChildren(...rows);
      $("page-number").value = state.page + 1;
      $("page-number").max = pages;
      $("page-total").textContent = `of ${Text.count(pages)}`;
      $("first-page").disabled = $("previous-page").disabled = state.page === 0;
      $("next-page").disabled = $("last-page").disabled = state.page === pages - 1;
      $("pager").hidden = pages === 1;
      const [from, to] = [state.page * PAGE + 1, Math.min(state.list.length, (state.page + 1) * PAGE)];
      $("table-count").textContent = state.list.length ? `${Text.count(from)}–${Text.count(to)} of ${Text.count(state.list.length)} ${words.many}` : `0 ${words.many}`;
    }

    function refresh() {
      const wanted = $("search").value.trim().toLowerCase();
      const keep = filters[$("filter").value][1];
      state.list = [];
      for (let g = 0; g < all; g++) if (searched[g].includes(wanted) && keep(g)) state.list.push(g);
      const column = columns.find(([key]) => key === state.column);
      if (column) {
        const [sign, keys] = [state.descending ? -1 : 1, state.list.map(column[2])];
        const compare = new Intl.Collator("en", { numeric: true }).compare;
        const order = keys.map((_, i) => i).sort((i, j) => sign * (typeof keys[i] === "string" ? compare(keys[i], keys[j]) : keys[i] - keys[j]));
        state.list = order.map((i) => state.list[i]);
      }
      for (const head of $("table-head").children) {
        if (head.dataset.column === state.column) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      }
      state.page = 0;
      show();
    }

    const turnTo = (page) => { state.page = page; show(); };
    $("search").addEventListener("input", refresh);
    $("filter").addEventListener("change", refresh);
    $("first-page").addEventListener("click", () => turnTo(0));
    $("previous-page").addEventListener("click", () => turnTo(state.page - 1));
    $("next-page").addEventListener("click", () => turnTo(state.page + 1));
    $("last-page").addEventListener("click", () => turnTo(Infinity));
    $("page-number").addEventListener("change", () => turnTo((parseInt($("page-number").value, 10) || 1) - 1));
    $("table-controls").hidden = all === 1;
    refresh();
    return {
      mark(g) {
        state.chosen = g;
        for (const made of $("table-body").children) made.setAttribute("aria-selected", Number(made.dataset.graph) === g);
      },
    };
  }

  return { start };
})();
