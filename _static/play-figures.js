// Four figures of the chapters that the reader moves: `data-play` names the one that stands there.
// Their numbers are functions of their own, which a test compares with the package.
"use strict";

const figures = (() => {
  const logit = (p) => Math.log(p / (1 - p));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const range = (from, to, count) => Array.from({ length: count }, (_, i) => from + (i * (to - from)) / (count - 1));
  const print = (...given) => play.print(...given);

  // Chapter 02: cross entropy's scores on the test set, at any threshold.
  function threshold() {
    const [train, test] = [toy.blobs({ seed: 0 }), toy.blobs({ seed: 1 })];
    const fit = toy.train({ loss: "ce" }, train).pop();
    const scores = toy.predict(fit, test.x);
    const tuned = toy.bestThreshold(toy.predict(fit, train.x), train.y);
    const at = (cut) => toy.count(scores, test.y, logit(cut));
    return { fit, test, scores, tuned: playground.sigmoid(tuned), at };
  }

  // Chapter 03: Eq. 6 for one example of a label, and its derivative with respect to p.
  function smoothing(gamma) {
    const options = { loss: "dl", level: "example", squared: false, smooth: gamma };
    const curve = (label) => range(0.001, 0.999, 500).map((p) => {
      const { value, slope } = playground.loss([logit(p)], [label], options);
      return { p, value, slope: slope[0] / (p * (1 - p)) };
    });
    return {
      curve, negative: 1 / gamma, half: gamma / (0.5 + gamma) ** 2,
      positive: (2 + gamma) / (1 + gamma) ** 2, dearest: 1 / (1 + gamma),
    };
  }

  // Chapter 04: the honest probabilities of a problem with 1% positives, and E[dice] of a batch.
  function batches() {
    const problem = { positive: 0.01, separation: 3 };
    const { x, y } = toy.blobs({ n: 400_000, ...problem, seed: 99 });
    const scores = toy.optimalLogits(x, problem);
    const cuts = range(0.02, 0.98, 33);
    const bins = [...cuts, 0.3].map((cut) => {
      const { found, missed, alarms } = toy.count(scores, y, logit(cut));
      return { cut, found: found / y.length, wrong: (missed + alarms) / y.length };
    });
    const reference = bins.pop();
    const logs = [0];
    for (let k = 1; k <= 1024; k++) logs.push(logs[k - 1] + Math.log(k));
    const times = (k, p) => (k ? k * Math.log(p) : 0);
    // γ = 1; more than 60 true positives or errors in a batch are too rare to count.
    function expected(size, found, wrong) {
      const most = Math.min(size, 60);
      let total = 0;
      for (let t = 0; t <= most; t++) {
        for (let w = 0; w <= most && t + w <= size; w++) {
          const rest = size - t - w;
          const chance = logs[size] - logs[t] - logs[w] - logs[rest] +
            times(t, found) + times(w, wrong) + times(rest, 1 - found - wrong);
          total += (Math.exp(chance) * (2 * t + 1)) / (2 * t + w + 1);
        }
      }
      return total;
    }
    const of = (size) => ({
      curve: bins.map(({ cut, found, wrong }) => [cut, expected(size, found, wrong)]),
      reference: expected(size, reference.found, reference.wrong),
      silence: expected(size, 0, 0.01),
      // Chances of 0, 1, 2, ... positives in the batch.
      positives: Array.from({ length: Math.min(size, 20) + 1 }, (_, k) =>
        Math.exp(logs[size] - logs[k] - logs[size - k] + times(k, 0.01) + times(size - k, 0.99))),
    });
    const whole = bins.map(({ cut, found, wrong }) => [cut, (2 * found) / (2 * found + wrong)]);
    return { whole, expected, of };
  }
  const top = (curve) => curve.reduce((best, point) => (point[1] > best[1] ? point : best));

  // Chapter 06: linear self-adjusting dice on the set, from a start b with an exponent α.
  const ALPHAS = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
  const BIASES = [-3, -1, -0.2, 0.2, 1, 2, 2.5, 3.5, 4.2, 5];
  // Test F1 after 120 steps, a row for each α: seventy trainings would keep the reader waiting.
  const MAP = [
    [0.426471, 0.426471, 0.426471, 0.068798, 0.068798, 0.068798, 0.068798, 0.068798, 0.068798, 0.068798],
    [0.480519, 0.480519, 0.480519, 0.480519, 0.079808, 0.079808, 0.079808, 0.079808, 0.079808, 0.079808],
    [0.508671, 0.511628, 0.511628, 0.511628, 0.511628, 0.082573, 0.082573, 0.082573, 0.082573, 0.083493],
    [0.540541, 0.540541, 0.540541, 0.540541, 0.540541, 0.540541, 0.086248, 0.085331, 0.085331, 0.085331],
    [0.528497, 0.528497, 0.528497, 0.528497, 0.528497, 0.528497, 0.528497, 0.094331, 0.094331, 0.094331],
    [0.527919, 0.527919, 0.527919, 0.525253, 0.525253, 0.525253, 0.525253, 0.525253, 0.094331, 0.094331],
    [0.522613, 0.52, 0.52, 0.517413, 0.517413, 0.52, 0.52, 0.525253, 0.525253, 0.094331],
  ];
  function starts() {
    const [train, test] = [toy.blobs({ seed: 0 }), toy.blobs({ seed: 1 })];
    const mean = (chances, y, label) => sum(chances.filter((_, i) => y[i] === label)) / y.filter((v) => v === label).length;
    return (alpha, bias) => {
      const options = { loss: "dsc", level: "set", squared: false, smooth: 1, alpha };
      return toy.train(options, train, { bias, steps: 120 }).map((fit) => {
        const chances = toy.predict(fit, train.x).map(playground.sigmoid);
        const { f1, said } = toy.count(toy.predict(fit, test.x), test.y, 0);
        return { fit, f1, said, positive: mean(chances, train.y, 1), negative: mean(chances, train.y, 0) };
      });
    };
  }

  // Puts controls, a sentence and pictures into `root`; `draw` returns [sentence, pictures].
  function stage(root, list, state, draw) {
    const say = play.element("p", { class: "play-says", "aria-live": "polite" });
    const pictures = play.element("div", { class: "play-pictures" });
    const { panel, refresh } = play.controls(`play-${root.dataset.play}`, list, state, update);
    function update() {
      refresh();
      const [sentence, drawn] = draw(update);
      say.textContent = sentence;
      pictures.replaceChildren(...drawn);
    }
    root.replaceChildren(panel, say, pictures);
    update();
    root.dataset.ready = "true";
  }

  const SHOW = {
    threshold(root) {
      const { fit, test: { x, y }, scores, tuned, at } = threshold();
      const points = (keep) => x[0].map((u, i) => [u, x[1][i], scores[i] > keep.above, y[i] === keep.label])
        .filter(([, , said, right]) => said === keep.said && right).map(([u, v]) => [u, v]);
      const cuts = range(0.01, 0.99, 99);
      const all = cuts.map(at);
      const curve = (key) => all.map((score, i) => [cuts[i], score[key]]);
      const [across, up] = [[-4, 6], [-4, 6]];
      const state = { cut: 0.5 };
      stage(root, [["cut", "threshold on p", "range", [0.01, 0.99, 0.01], (v) => print(v, 2)]], state, () => {
        const now = at(state.cut);
        const above = logit(state.cut);
        const line = range(...across, 400).map((u) => [u, (above - fit[2] - fit[0] * u) / fit[1]])
          .filter(([, v]) => v > up[0] && v < up[1]);
        const group = (name, label, said, style) => ({ name, points: points({ above, label, said }), style, dots: true });
        return [
          `Threshold ${print(state.cut, 2)}: ${now.said} called positive, ${now.found} of 100 found, ${now.alarms} false alarms. ` +
            `Precision ${print(now.precision)}, recall ${print(now.recall)}, F1 ${print(now.f1)}.`,
          [
            play.chart("The test set", "feature 1", "feature 2", across, up, [
              group(`${now.found} found`, 1, true, "positive"), group(`${now.missed} missed`, 1, false, "missed"),
              group(`${now.alarms} false alarms`, 0, true, "first"), group("", 0, false, "grey"),
              { points: line, style: "grey" },
            ]),
            play.chart("All thresholds", "threshold on p", "test score", [0, 1], [0, 1], [
              { name: "precision", points: curve("precision"), style: "second" },
              { name: "recall", points: curve("recall"), style: "third" },
              { name: "F1", points: curve("f1"), style: "first" },
            ], [{ x: tuned, name: "tuned" }, { x: state.cut, name: "" }]),
          ],
        ];
      });
    },

    smoothing(root) {
      const state = { power: 0 };
      const words = (power) => String(Number((10 ** power).toPrecision(2)));
      stage(root, [["power", "γ, smoothing", "range", [-2, 1, 0.05], words]], state, () => {
        const gamma = Number(words(state.power));
        const { curve, negative, half, positive, dearest } = smoothing(gamma);
        const lines = (key) => [1, 0].map((label, i) => ({
          name: label ? "a positive" : "a negative", style: ["positive", "negative"][i],
          points: curve(label).map((point) => [point.p, point[key]]),
        }));
        return [
          `γ = ${words(state.power)}: the slope of a negative is ${print(negative)} at p = 0 and ${print(half)} at p = 0.5, ` +
            `that of a positive ${print(-positive)} at p = 0. The costliest mistake costs ${print(dearest)}.`,
          [
            play.chart("Loss, Eq. 6", "probability p", "loss", [0, 1], [0, 1], lines("value")),
            play.chart("Its slope", "probability p", "dL/dp", [0, 1], [-2, 4], lines("slope")),
          ],
        ];
      });
    },

    batches(root) {
      const { whole, of } = batches();
      const state = { power: 4 };
      const words = (power) => String(2 ** power);
      stage(root, [["power", "batch", "range", [2, 10, 1], words]], state, () => {
        const size = 2 ** state.power;
        const { curve, reference, silence, positives } = of(size);
        return [
          `Batches of ${size}: ${print(100 * positives[0], 1)}% hold no positive. At threshold 0.3 the expected dice is ${print(reference)}; ` +
            `saying nothing it is ${print(silence)}. The best threshold is ${print(top(curve)[0], 2)}, for the set it is ${print(top(whole)[0], 2)}.`,
          [
            play.chart("The score that a batch sees", "threshold on the honest probability", "expected dice", [0, 1], [0, 1], [
              { name: "F1 of the set", points: whole, style: "second" },
              { name: `batches of ${size}`, points: curve, style: "first" },
            ], [{ x: top(whole)[0], name: "" }, { x: top(curve)[0], name: "best" }]),
            play.chart("What a batch holds", "number of positives", "share of batches", [-0.5, 20], [0, 1],
              positives.map((share, k) => ({ points: [[k, 0], [k, share]], style: "first bar" }))),
          ],
        ];
      });
    },

    starts(root) {
      const run = starts();
      const state = { row: 3, column: 5 };
      const list = [
        ["column", "starting bias b₀", "range", [0, BIASES.length - 1, 1], (j) => print(BIASES[j], 1)],
        ["row", "exponent α", "range", [0, ALPHAS.length - 1, 1], (i) => String(ALPHAS[i])],
      ];
      stage(root, list, state, (update) => {
        const [alpha, bias] = [ALPHAS[state.row], BIASES[state.column]];
        const path = run(alpha, bias);
        const end = path[path.length - 1];
        const side = bias < -Math.log(alpha) ? "below" : "above";
        const turn = 1 / (1 + alpha);
        const steps = (key) => path.map((point, step) => [step, point[key]]);
        const choose = (row, column) => { Object.assign(state, { row, column }); update(); };
        return [
          `α = ${alpha}, start ${print(bias, 1)}, ${side} −ln α = ${print(-Math.log(alpha) || 0, 2)}: ` +
            `after 120 steps the test F1 is ${print(end.f1, 2)}, and ${end.said} of 2000 are called positive.`,
          [
            map(state, choose),
            play.chart("The run chosen", "step", "mean probability", [0, 120], [0, 1], [
              { name: "of positives", points: steps("positive"), style: "positive" },
              { name: "of negatives", points: steps("negative"), style: "negative" },
              { name: "turning point", points: [[0, turn], [120, turn]], style: "third" },
            ]),
          ],
        ];
      });
    },
  };

  // The table of F1: a click chooses a cell.
  function map(state, choose) {
    const svg = document.createElementNS(play.SVG, "svg");
    svg.setAttribute("viewBox", "0 0 430 280");
    const add = (tag, attributes, text) => {
      const made = document.createElementNS(play.SVG, tag);
      Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
      if (text !== undefined) made.textContent = text;
      svg.append(made);
      return made;
    };
    const [left, top, width, height] = [52, 22, 36, 30];
    const [X, Y] = [(j) => left + j * width, (i) => top + i * height];
    add("text", { x: left, y: 14, class: "title" }, "Test F1; red: −ln α. Click a cell");
    ALPHAS.forEach((alpha, i) => {
      add("text", { x: left - 6, y: Y(i) + 19, "text-anchor": "end" }, String(alpha));
      BIASES.forEach((bias, j) => {
        const f1 = MAP[i][j];
        const light = Math.round(20 + (70 * f1) / 0.6);
        const cell = add("rect", { x: X(j), y: Y(i), width, height, class: "cell", fill: `hsl(48 60% ${light}%)`, "data-cell": `${i},${j}` });
        cell.addEventListener("click", () => choose(i, j));
        add("text", { x: X(j) + width / 2, y: Y(i) + 19, "text-anchor": "middle", class: "value", style: `fill: ${light > 50 ? "#000" : "#fff"}` }, print(f1, 2));
      });
      const border = X(BIASES.filter((bias) => bias < -Math.log(alpha)).length);
      add("path", { d: `M${border},${Y(i)}v${height}`, class: "border" });
    });
    BIASES.forEach((bias, j) => add("text", { x: X(j) + width / 2, y: Y(ALPHAS.length) + 15, "text-anchor": "middle" }, print(bias, 1)));
    add("text", { x: X(BIASES.length / 2), y: 272, "text-anchor": "middle" }, "starting bias b₀");
    add("text", { x: 12, y: 130, transform: "rotate(-90 12 130)", "text-anchor": "middle" }, "exponent α");
    add("rect", { x: X(state.column), y: Y(state.row), width, height, class: "chosen", fill: "none" });
    return svg;
  }

  return { threshold, smoothing, batches, starts, ALPHAS, BIASES, MAP, SHOW };
})();

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-play]").forEach((root) => figures.SHOW[root.dataset.play]?.(root));
});
