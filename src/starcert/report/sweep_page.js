// What the reader has chosen (a measure, two factors, a level), and everything that follows from it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  data.varied = data.factors.map((_, f) => f).filter((f) => data.factors[f].values.length > 1);
  const accuracy = { key: "accuracy", name: "accuracy", of: (level) => level.accuracy, show: Text.percent, share: true };
  const figure = (value) => (value === null ? "–" : value.toLocaleString("en-US", { maximumFractionDigits: 2 }));
  const measures = data.axes.map((axis, i) => ({ key: `radius-${i}`, name: `mean certified radius, ${axis}`, of: (level) => level.radii[i], show: figure }));
  if (data.goal) measures.push({ key: "goal", name: data.goal, of: (level) => level.goal, show: Text.percent, share: true });
  // To begin with, what the levels are to be best at, or the axis on which they differ most.
  const different = data.axes.map((_, i) => new Set(data.levels.map(measures[i].of)).size);
  const state = { measure: data.goal ? measures.length - 1 : different.indexOf(Math.max(...different)), up: data.varied[0], across: data.varied[1] ?? data.varied[0], held: data.factors.map(() => 0), level: data.chosen };

  // The rows of the table choose a level, too: the names of their noise are buttons.
  const rows = [...document.querySelectorAll("#level-table tbody tr")];
  rows.forEach((row, k) => {
    const n = data.order[k];
    const level = data.levels[n];
    const name = row.cells[1];
    row.className = level.constant ? "constant" : level.unbeaten ? "unbeaten" : "beaten";
    row.dataset.level = n;
    row.addEventListener("click", () => choose(n));
    name.className = "name";
    name.replaceChildren(Text.element("button", { type: "button" }, ...name.childNodes));
  });

  measures.forEach((measure, i) => $("measure").append(Text.element("option", { value: i }, measure.name)));
  $("measure").value = state.measure;

  // The levels of the drawn slice: those that have the held value of every factor that is not drawn.
  function view() {
    const drawn = [state.up, state.across];
    const levels = data.levels.filter((level) => data.varied.every((f) => drawn.includes(f) || level.at[f] === state.held[f]));
    return { up: state.up, across: state.across, levels };
  }

  function controls() {
    $("map-controls").replaceChildren();
    if (data.varied.length < 3) return;
    const select = (label, values, chosen, attributes, change) => {
      const made = Text.element("select", attributes, ...values.map(([value, text]) => Text.element("option", { value }, text)));
      made.value = chosen;
      made.addEventListener("change", () => { change(Number(made.value)); controls(); drawMaps(); });
      $("map-controls").append(Text.element("label", {}, `${label} `, made));
    };
    const names = data.varied.map((f) => [f, data.factors[f].name]);
    const turn = (side, other) => (f) => { if (state[other] === f) state[other] = state[side]; state[side] = f; };
    select("y axis", names, state.up, { "data-role": "up" }, turn("up", "across"));
    select("x axis", names, state.across, { "data-role": "across" }, turn("across", "up"));
    for (const f of data.varied) {
      if (f === state.up || f === state.across) continue;
      select(`${data.factors[f].name} at`, data.factors[f].values.map((text, i) => [i, text]), state.held[f], { "data-held": f }, (i) => { state.held[f] = i; });
    }
  }

  function drawMaps() {
    $("maps").hidden = !data.varied.length;
    if (!data.varied.length) return;
    const measure = measures[state.measure];
    const draw = data.varied.length > 1 ? Sweeps.map : Sweeps.line;
    Text.write($("measure-heading"), measure.name);
    for (const [id, each] of [["accuracy-plot", accuracy], ["measure-plot", measure]]) {
      $(id).setAttribute("aria-label", `${each.name} over the grid; the table below has the numbers.`);
      draw($(id), data, each, view());
    }
    $("maps-caption").textContent = `★ Pareto-optimal. ✗ no better than a constant answer: accuracy at most the majority-class share, ${Text.percent(data.majority)}.`;
  }

  function drawFront() {
    const measure = measures[state.measure];
    Text.write($("front-caption"), `Each point is a noise level, or several (+)${data.varied.length ? `, named by its noise in ${data.varied.map((f) => data.factors[f].name).join(", ")} where there is room` : ""}. `
      + `Blue points are dominated by no other level in accuracy and all mean radii together${Sweeps.frontLine(data, measure) ? "; the dotted line is the front of the two numbers drawn here" : ""}. Always answering the majority class would be right on ${Text.percent(data.majority)}.`);
    $("front-plot").setAttribute("aria-label", `Accuracy against ${measure.name}. ${$("front-caption").textContent}`);
    Sweeps.front($("front-plot"), data, measure);
  }

  function choose(n) {
    state.level = n;
    const level = data.levels[n];
    Text.write($("chosen-heading"), `Level ${n + 1}: `, Text.name(level.noise));
    const radii = data.axes.map((axis, i) => `${axis} ${figure(level.radii[i])}`).join(", ");
    Text.write($("chosen-text"), `Accuracy ${Text.percent(level.accuracy)} (majority-class share ${Text.percent(data.majority)}); mean certified radii, each axis alone: ${radii}; ${level.standing}; ${level.verdict}.`);
    Text.write($("command"), level.command);
    for (const row of rows) row.setAttribute("aria-selected", Number(row.dataset.level) === n);
  }

  $("measure").addEventListener("change", () => { state.measure = Number($("measure").value); drawFront(); drawMaps(); });
  controls();
  drawMaps();
  drawFront();
  $("front-plot").addEventListener("point", (event) => choose(event.detail.custom));
  choose(state.level);
})();
