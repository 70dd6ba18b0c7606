// Controls and pictures of the page "Playground".
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("playground");
  if (!root) return;
  const P = playground;
  // [name, label, kind, values or range, shown for these losses]
  const FAMILY = ["dl", "tl", "dsc"];
  const CONTROLS = [
    ["loss", "Loss", "choice", Object.entries(P.LOSSES), null],
    ["squared", "Denominators", "choice", [["true", "squared"], ["false", "linear"]], FAMILY],
    ["level", "Level", "choice", [["set", "set"], ["example", "example"]], FAMILY],
    ["smooth", "γ, smoothing", "range", [0, 5, 0.05], FAMILY],
    ["alpha", "α, exponent of 1 − p", "range", [0, 2, 0.01], ["dsc"]],
    ["fp", "price of a false positive", "range", [0, 1, 0.05], ["tl"]],
    ["fn", "price of a false negative", "range", [0, 1, 0.05], ["tl"]],
    ["gamma", "γ, focusing", "range", [0, 5, 0.1], ["fl"]],
    ["weight", "weight of a positive", "range", [1, 50, 1], ["wce"]],
    ["share", "Share of positives", "range", [0.01, 0.5, 0.01], null],
    ["batch", "Batch", "range", [8, 400, 8], null],
    ["bias", "Bias at the start", "range", [-5, 5, 0.25], null],
  ];
  const state = { ...P.DEFAULTS };

  function readAddress() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      if (!(name in state)) continue;
      if (name === "squared") state[name] = value === "true";
      else if (typeof state[name] === "number") {
        if (Number.isFinite(Number(value))) state[name] = Number(value);
      } else state[name] = value;
    }
    if (!(state.loss in P.LOSSES)) state.loss = P.DEFAULTS.loss;
    if (!["set", "example"].includes(state.level)) state.level = "set";
  }
  function writeAddress() {
    const shown = CONTROLS.filter((c) => !c[4] || c[4].includes(state.loss)).map((c) => c[0]);
    const given = shown.filter((name) => name === "loss" || state[name] !== P.DEFAULTS[name]);
    history.replaceState(null, "", "#" + given.map((name) => `${name}=${state[name]}`).join("&"));
  }

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children);
    return made;
  };
  const rows = {};
  const panel = element("div", { class: "playground-controls" });
  for (const [name, label, kind, values] of CONTROLS) {
    const id = `playground-${name}`;
    let input;
    const output = element("output", { for: id });
    if (kind === "choice") {
      input = element("select", { id }, ...values.map(([v, t]) => element("option", { value: v }, t)));
    } else {
      const [min, max, step] = values;
      input = element("input", { id, type: "range", min, max, step });
    }
    input.addEventListener("input", () => {
      if (name === "squared") state[name] = input.value === "true";
      else state[name] = kind === "range" ? Number(input.value) : input.value;
      update();
    });
    rows[name] = { input, output, row: element("div", {}, element("label", { for: id }, label), input, output) };
    panel.append(rows[name].row);
  }

  const SVG = "http://www.w3.org/2000/svg";
  const [W, H, LEFT, BOTTOM, TOP] = [430, 280, 52, 42, 46];
  // Round numbers inside a range.
  function ticks([low, high]) {
    const rough = (high - low) / 4;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
    return found;
  }
  function chart(title, xLabel, yLabel, xRange, yRange, lines, marks) {
    const svg = document.createElementNS(SVG, "svg");
    const add = (tag, attributes, text) => {
      const made = document.createElementNS(SVG, tag);
      Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
      if (text !== undefined) made.textContent = text;
      svg.append(made);
      return made;
    };
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${title}: ${lines.map((l) => l.name).join(", ")}`);
    const X = (x) => LEFT + ((x - xRange[0]) / (xRange[1] - xRange[0])) * (W - LEFT - 12);
    const Y = (y) => H - BOTTOM - ((y - yRange[0]) / (yRange[1] - yRange[0])) * (H - BOTTOM - TOP);
    add("text", { x: LEFT, y: 14, class: "title" }, title);
    for (const [range, place] of [[xRange, "x"], [yRange, "y"]]) {
      for (const value of ticks(range)) {
        const text = String(Number(value.toPrecision(3))).replace("-", "−");
        if (place === "x") add("text", { x: X(value), y: H - BOTTOM + 15, "text-anchor": "middle" }, text);
        else add("text", { x: LEFT - 6, y: Y(value) + 4, "text-anchor": "end" }, text);
      }
    }
    add("text", { x: (LEFT + W) / 2, y: H - 8, "text-anchor": "middle" }, xLabel);
    add("text", { x: 12, y: (H - BOTTOM) / 2 + 10, transform: `rotate(-90 12 ${(H - BOTTOM) / 2 + 10})`, "text-anchor": "middle" }, yLabel);
    add("path", { d: `M${LEFT},${TOP} V${H - BOTTOM} H${W - 12}`, class: "axis" });
    if (yRange[0] < 0 && yRange[1] > 0) add("path", { d: `M${LEFT},${Y(0)} H${W - 12}`, class: "zero" });
    for (const { x, name } of marks) {
      if (!(x > xRange[0] && x < xRange[1])) continue;
      add("path", { d: `M${X(x)},${TOP} V${H - BOTTOM}`, class: "mark" });
      const left = x > xRange[0] + 0.7 * (xRange[1] - xRange[0]);
      add("text", { x: X(x) + (left ? -4 : 4), y: H - BOTTOM - 6, "text-anchor": left ? "end" : "start" }, name);
    }
    lines.forEach(({ name, points, style }, i) => {
      const clip = (y) => Math.min(Math.max(y, yRange[0]), yRange[1]);
      const d = points.map(([x, y], k) => `${k ? "L" : "M"}${X(x).toFixed(1)},${Y(clip(y)).toFixed(1)}`);
      add("path", { d: d.join(""), class: `line ${style}` });
      const at = LEFT + 8 + i * 150;
      add("path", { d: `M${at},${TOP - 16} h22`, class: `line ${style}` });
      add("text", { x: at + 26, y: TOP - 12 }, name);
    });
    return svg;
  }

  const say = element("p", { class: "playground-says", "aria-live": "polite" });
  const pictures = element("div", { class: "playground-pictures" });
  root.replaceChildren(panel, say, pictures);

  function update() {
    for (const [name, , kind, , shown] of CONTROLS) {
      const { input, output, row } = rows[name];
      row.hidden = Boolean(shown && !shown.includes(state.loss));
      input.value = String(state[name]);
      output.value = kind === "range" ? String(Number(state[name].toFixed(3))) : "";
    }
    writeAddress();
    const { path, scores, y } = P.train(state);
    const end = path[path.length - 1];
    const family = FAMILY.includes(state.loss);
    const marks = [];
    if (state.loss === "dsc") marks.push({ x: 1 / (1 + state.alpha), name: "turning point" });
    const final = P.loss(scores, y, state);
    const plainLinear = family && state.loss !== "tl" && state.level === "set" && !state.squared;
    if (plainLinear) marks.push({ x: final.coefficient / 2, name: "D/2" });
    const slopes = [1, 0].map((label) => P.derivative(label, state));
    const inside = slopes.flat().filter(([p]) => p > 0.02 && p < 0.98).map(([, s]) => s);
    const [low, high] = [Math.min(0, ...inside), Math.max(0, ...inside)];
    const room = 0.08 * (high - low || 1);
    const steps = (key) => path.map((point, step) => [step, point[key]]);
    pictures.replaceChildren(
      chart("Pull on a logit", "probability p of the example", "slope × batch", [0, 1], [low - room, high + room],
        [{ name: "a positive", points: slopes[0], style: "first" }, { name: "a negative", points: slopes[1], style: "second" }],
        marks),
      chart("Training", "step", "F1", [0, P.STEPS], [0, 1],
        [{ name: "F1 at one half", points: steps("f1"), style: "first" }, { name: "F1, best threshold", points: steps("best"), style: "second" }], []),
      chart("What the model says", "step", "mean probability", [0, P.STEPS], [0, 1],
        [{ name: "of positives", points: steps("positive"), style: "first" }, { name: "of negatives", points: steps("negative"), style: "second" }], []),
    );
    const print = (value) => value.toFixed(3).replace(/^0/, "");
    say.textContent =
      `After ${P.STEPS} steps: F1 ${print(end.f1)} at one half, ${print(end.best)} with the best threshold; loss ${print(end.value)}.` +
      (end.f1 === 0 ? " The model finds no positive at one half." : "");
    root.dataset.ready = "true";
  }
  window.addEventListener("hashchange", () => { readAddress(); update(); });
  readAddress();
  update();
});
