// Controls and pictures of the page "Playground".
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const root = document.querySelector('[data-play="playground"]');
  if (!root) return;
  const P = playground;
  const FAMILY = ["dl", "tl", "dsc"];
  const CONTROLS = [
    ["loss", "Loss", "choice", Object.entries(P.LOSSES)],
    ["squared", "Denominators", "choice", [[true, "squared"], [false, "linear"]]],
    ["level", "Level", "choice", [["set", "set"], ["example", "example"]]],
    ["smooth", "γ, smoothing", "range", [0, 5, 0.05]],
    ["alpha", "α, exponent of 1 − p", "range", [0, 2, 0.01]],
    ["fp", "price of a false positive", "range", [0, 1, 0.05]],
    ["fn", "price of a false negative", "range", [0, 1, 0.05]],
    ["gamma", "γ, focusing", "range", [0, 5, 0.1]],
    ["weight", "weight of a positive", "range", [1, 50, 1]],
    ["share", "Share of positives", "range", [0.01, 0.5, 0.01]],
    ["batch", "Batch", "range", [8, 400, 8]],
    ["bias", "Bias at the start", "range", [-5, 5, 0.25]],
  ];
  // Controls that only some losses have.
  const ONLY = {
    squared: FAMILY, level: FAMILY, smooth: FAMILY, alpha: ["dsc"], fp: ["tl"], fn: ["tl"],
    gamma: ["fl"], weight: ["wce"],
  };
  const state = { ...P.DEFAULTS };
  const isShown = (name) => !(name in ONLY) || ONLY[name].includes(state.loss);

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
    const shown = CONTROLS.map(([name]) => name).filter(isShown);
    const given = shown.filter((name) => name === "loss" || state[name] !== P.DEFAULTS[name]);
    history.replaceState(null, "", "#" + given.map((name) => `${name}=${state[name]}`).join("&"));
  }

  const { panel, refresh } = play.controls("playground", CONTROLS, state, update);
  const say = play.element("p", { class: "play-says", "aria-live": "polite" });
  const pictures = play.element("div", { class: "play-pictures" });
  root.replaceChildren(panel, say, pictures);

  function update() {
    refresh(isShown);
    writeAddress();
    const { path, scores, y } = P.train(state);
    const end = path[path.length - 1];
    const marks = [];
    if (state.loss === "dsc") marks.push({ x: 1 / (1 + state.alpha), name: "turning point" });
    const final = P.loss(scores, y, state);
    const linear = ["dl", "dsc"].includes(state.loss) && state.level === "set" && !state.squared;
    if (linear) marks.push({ x: final.coefficient / 2, name: "D/2" });
    const slopes = [1, 0].map((label) => P.derivative(label, state));
    const inside = slopes.flat().filter(([p]) => p > 0.02 && p < 0.98).map(([, s]) => s);
    const [low, high] = [Math.min(0, ...inside), Math.max(0, ...inside)];
    const room = 0.08 * (high - low || 1);
    const steps = (key) => path.map((point, step) => [step, point[key]]);
    const two = (styles, ...pairs) => pairs.map(([name, points], i) => ({ name, points, style: styles[i] }));
    const [forms, labels] = [["first", "second"], ["positive", "negative"]];
    pictures.replaceChildren(
      play.chart("Gradient on a logit", "probability p of the example", "gradient × batch", [0, 1], [low - room, high + room],
        two(labels, ["a positive", slopes[0]], ["a negative", slopes[1]]), marks),
      play.chart("Training", "step", "F1", [0, P.STEPS], [0, 1],
        two(forms, ["F1 at 0.5", steps("f1")], ["F1, best threshold", steps("best")])),
      play.chart("What the model says", "step", "mean probability", [0, P.STEPS], [0, 1],
        two(labels, ["of positives", steps("positive")], ["of negatives", steps("negative")])),
    );
    const print = play.print;
    say.textContent =
      `After ${P.STEPS} steps: F1 ${print(end.f1)} at threshold 0.5, ${print(end.best)} with the best threshold; loss ${print(end.value)}.` +
      (end.f1 === 0 ? " The model finds no positive at threshold 0.5." : "");
    root.dataset.ready = "true";
  }
  window.addEventListener("hashchange", () => { readAddress(); update(); });
  readAddress();
  update();
});
