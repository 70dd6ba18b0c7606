// The losses of the book, their derivatives, and a small model that trains on them, in the page.
// The numbers agree with the Python package; a test compares them.
"use strict";

const playground = (() => {
  const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
  const logSigmoid = (x) => (x >= 0 ? -Math.log1p(Math.exp(-x)) : x - Math.log1p(Math.exp(x)));
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  const DEFAULTS = {
    loss: "dl", squared: true, level: "set", smooth: 1, alpha: 0.1, fp: 0.3, fn: 0.7, gamma: 2,
    weight: 19, share: 0.05, batch: 400, bias: 0,
  };
  const LOSSES = {
    ce: "cross entropy", wce: "weighted cross entropy", fl: "focal", dl: "dice", tl: "Tversky",
    dsc: "self-adjusting dice",
  };

  // The loss of logits x with targets y (0 or 1), and its derivative with respect to each logit.
  function loss(x, y, options) {
    const o = { ...DEFAULTS, ...options };
    if (["ce", "wce", "fl"].includes(o.loss)) return entropy(x, y, o);
    return family(x, y, o);
  }

  // Equations 1 and 2, and Table 2's FL: of both classes, through the margin of the gold one.
  function entropy(x, y, o) {
    const n = x.length;
    const gamma = o.loss === "fl" ? o.gamma : 0;
    let value = 0;
    const slope = x.map((xi, i) => {
      const sign = y[i] ? 1 : -1;
      const margin = sign * xi;
      const p = sigmoid(margin);
      const logP = logSigmoid(margin);
      const fade = Math.exp(gamma * logSigmoid(-margin));
      const weight = o.loss === "wce" && y[i] ? o.weight : 1;
      value -= (weight * fade * logP) / n;
      return (sign * weight * fade * (gamma * p * logP - sigmoid(-margin))) / n;
    });
    return { value, slope };
  }

  // Equations 6 to 10 and 12: three numbers of an example, or of the set.
  function family(x, y, o) {
    const alpha = o.loss === "dsc" ? o.alpha : 0;
    const [fp, fn] = o.loss === "tl" ? [o.fp, o.fn] : [0.5, 0.5];
    // Dice is Tversky with equal prices at half the smoothing.
    const smooth = o.loss === "tl" ? o.smooth : o.smooth / 2;
    const q = x.map((xi) => Math.exp(logSigmoid(xi) + alpha * logSigmoid(-xi)));
    const dq = x.map((xi, i) => q[i] * (1 - (1 + alpha) * sigmoid(xi)));
    // What an error costs: (1 - q) of a positive, q of a negative, linear or squared.
    const error = q.map((qi, i) => (y[i] ? 1 - qi : qi));
    const cost = error.map((e, i) => (y[i] ? fn : fp) * (o.squared ? e * e : e));
    const dCost = error.map((e, i) => (y[i] ? -fn : fp) * (o.squared ? 2 * e : 1));
    const index = (overlap, costs) => {
      const [above, below] = [overlap + smooth, overlap + costs + smooth];
      if (below === 0) return { value: 1, by: () => 0 };
      return {
        value: above / below,
        by: (i) => y[i] / below - (above * (y[i] + dCost[i])) / below ** 2,
      };
    };
    const slopeOf = (t, i) => -t.by(i) * dq[i];
    if (o.level === "example") {
      const each = q.map((qi, i) => index(qi * y[i], cost[i]));
      const n = x.length;
      return {
        value: sum(each.map((t) => 1 - t.value)) / n,
        slope: each.map((t, i) => slopeOf(t, i) / n),
      };
    }
    const t = index(sum(q.map((qi, i) => qi * y[i])), sum(cost));
    return { value: 1 - t.value, slope: q.map((_, i) => slopeOf(t, i)), coefficient: t.value };
  }

  // A quantile of the standard normal distribution, by bisection of its distribution function.
  function quantile(u) {
    let [low, high] = [-9, 9];
    for (let i = 0; i < 80; i++) {
      const z = (low + high) / 2;
      if (normal(z) < u) low = z;
      else high = z;
    }
    return (low + high) / 2;
  }
  function normal(z) {
    // The series of the error function, which converges for every z here.
    let [term, total] = [z, z];
    for (let k = 1; k < 200; k++) {
      term *= (z * z) / (2 * k + 1);
      total += term;
    }
    return 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  }

  const N = 400;
  // Negatives around 0, positives around 2, both at the quantiles of a normal distribution.
  function data(share) {
    const positives = Math.min(Math.max(Math.round(N * share), 1), N - 1);
    const at = (k, n) => quantile((k + 0.5) / n);
    const negatives = N - positives;
    const x = [];
    const y = [];
    for (let k = 0; k < negatives; k++) { x.push(at(k, negatives)); y.push(0); }
    for (let k = 0; k < positives; k++) { x.push(2 + at(k, positives)); y.push(1); }
    return { x, y };
  }

  // The order of the examples: a shuffle that is the same in every browser (mulberry32).
  function order(epoch) {
    let state = 1000 + epoch;
    const random = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const places = Array.from({ length: N }, (_, i) => i);
    for (let i = N - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [places[i], places[j]] = [places[j], places[i]];
    }
    return places;
  }

  function f1(scores, y, cut) {
    let [hits, predicted] = [0, 0];
    scores.forEach((s, i) => {
      if (s > cut) { predicted += 1; hits += y[i]; }
    });
    const below = predicted + sum(y);
    return below ? (2 * hits) / below : 0;
  }
  function bestF1(scores, y) {
    const ranked = scores.map((s, i) => [s, y[i]]).sort((a, b) => b[0] - a[0]);
    const all = sum(y);
    let [hits, best] = [0, 0];
    ranked.forEach(([s, label], k) => {
      hits += label;
      const tied = k + 1 < ranked.length && ranked[k + 1][0] === s;
      if (!tied) best = Math.max(best, (2 * hits) / (k + 1 + all));
    });
    return best;
  }

  // Adam from `start`: the parameters before each step, and after the last.
  function adam(gradient, start, steps, rate) {
    const m = start.map(() => 0);
    const v = start.map(() => 0);
    const path = [start];
    for (let step = 1; step <= steps; step++) {
      const now = path[step - 1];
      const slope = gradient(now);
      path.push(now.map((value, k) => {
        m[k] = 0.9 * m[k] + 0.1 * slope[k];
        v[k] = 0.999 * v[k] + 0.001 * slope[k] * slope[k];
        const first = m[k] / (1 - 0.9 ** step);
        const second = v[k] / (1 - 0.999 ** step);
        return value - (rate * first) / (Math.sqrt(second) + 1e-8);
      }));
    }
    return path;
  }

  const STEPS = 200;
  // A logistic model of one feature, trained by Adam (rate 0.3) from slope 0 and the given bias.
  function train(options) {
    const o = { ...DEFAULTS, ...options };
    const { x, y } = data(o.share);
    const batch = Math.min(o.batch, N);
    let places = [];
    let epoch = 0;
    const gradient = ([w, b]) => {
      let chosen = Array.from({ length: N }, (_, i) => i);
      if (batch < N) {
        if (places.length < batch) { places = order(epoch); epoch += 1; }
        chosen = places.splice(0, batch);
      }
      const { slope } = loss(chosen.map((i) => w * x[i] + b), chosen.map((i) => y[i]), o);
      return [sum(slope.map((s, k) => s * x[chosen[k]])), sum(slope)];
    };
    const path = adam(gradient, [0, o.bias], STEPS, 0.3).map(([w, b]) => {
      const scores = x.map((xi) => w * xi + b);
      const mean = (label) => {
        const chosen = scores.filter((_, i) => y[i] === label);
        return sum(chosen.map(sigmoid)) / chosen.length;
      };
      return {
        w, b, f1: f1(scores, y, 0), best: bestF1(scores, y), positive: mean(1), negative: mean(0),
        value: loss(scores, y, o).value,
      };
    });
    const { w, b } = path[STEPS];
    return { path, scores: x.map((xi) => w * xi + b), y };
  }

  // n times the derivative of one example's logit, its p from 0 to 1, in a batch whose other
  // examples all have the probability of the starting bias.
  function derivative(label, options) {
    const o = { ...DEFAULTS, ...options };
    const n = Math.min(o.batch, N);
    const positives = Math.max(Math.round(n * o.share), 1);
    const y = Array.from({ length: n }, (_, i) => (i < positives ? 1 : 0));
    const place = label ? 0 : n - 1;
    const points = [];
    for (let k = 1; k < 200; k++) {
      const p = k / 200;
      const x = y.map(() => o.bias);
      x[place] = Math.log(p / (1 - p));
      points.push([p, n * loss(x, y, o).slope[place]]);
    }
    return points;
  }

  return { DEFAULTS, LOSSES, N, STEPS, sigmoid, loss, data, order, adam, train, derivative, f1, bestF1 };
})();

if (typeof module !== "undefined") module.exports = playground;
