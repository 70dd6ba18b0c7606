// The package's toy (dicelab.toy) in the page: two blobs, drawn as torch's generator draws them,
// and a logistic model that Adam trains on them. A test compares both with the package.
"use strict";

const toy = (() => {
  // The Mersenne twister, 32 random bits a call.
  function twister(seed) {
    const state = new Uint32Array(624);
    state[0] = seed;
    for (let i = 1; i < 624; i++) {
      const before = state[i - 1] ^ (state[i - 1] >>> 30);
      state[i] = Math.imul(1812433253, before) + i;
    }
    let place = 624;
    return () => {
      if (place === 624) {
        for (let i = 0; i < 624; i++) {
          const mixed = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
          state[i] = state[(i + 397) % 624] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
        }
        place = 0;
      }
      let bits = state[place++];
      bits ^= bits >>> 11;
      bits ^= (bits << 7) & 0x9d2c5680;
      bits ^= (bits << 15) & 0xefc60000;
      return (bits ^ (bits >>> 18)) >>> 0;
    };
  }

  // torch.randperm
  function permutation(n, random) {
    const places = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = 0; i < n - 1; i++) {
      const j = i + (random() % (n - i));
      [places[i], places[j]] = [places[j], places[i]];
    }
    return places;
  }

  // torch.randn of doubles, for a count that 16 divides: Box and Muller in blocks of 16.
  function normals(count, random) {
    const uniform = () => ((random() & 0x1fffff) * 2 ** 32 + random()) / 2 ** 53;
    const values = Float64Array.from({ length: count }, uniform);
    for (let block = 0; block < count; block += 16) {
      for (let i = block; i < block + 8; i++) {
        const radius = Math.sqrt(-2 * Math.log(1 - values[i]));
        const angle = 2 * Math.PI * values[i + 8];
        values[i] = radius * Math.cos(angle);
        values[i + 8] = radius * Math.sin(angle);
      }
    }
    return values;
  }

  // `imbalanced_blobs`: x holds the two features, y the labels; 8 must divide n.
  function blobs({ n = 2000, positive = 0.05, separation = 2, seed = 0 } = {}) {
    const random = twister(seed);
    const y = new Array(n).fill(0);
    permutation(n, random).subarray(0, Math.round(n * positive)).forEach((i) => { y[i] = 1; });
    const noise = normals(2 * n, random);
    const feature = (k) => y.map((label, i) => noise[2 * i + k] + (label * separation) / Math.SQRT2);
    return { x: [feature(0), feature(1)], y };
  }

  // `optimal_logits`
  function optimalLogits([u, v], { positive = 0.05, separation = 2 } = {}) {
    const shift = Math.log(positive / (1 - positive)) - separation ** 2 / 2;
    return u.map((ui, i) => ((ui + v[i]) * separation) / Math.SQRT2 + shift);
  }

  const predict = ([w1, w2, b], [u, v]) => u.map((ui, i) => w1 * ui + w2 * v[i] + b);

  // `train_logistic` on all examples: the parameters [w1, w2, b] before each step and at the end.
  function train(options, { x, y }, { bias = 0, steps = 200, rate = 0.3 } = {}) {
    const gradient = (parameters) => {
      const { slope } = playground.loss(predict(parameters, x), y, options);
      const along = (feature) => slope.reduce((total, s, i) => total + s * feature[i], 0);
      return [along(x[0]), along(x[1]), slope.reduce((a, b) => a + b, 0)];
    };
    return playground.adam(gradient, [0, 0, bias], steps, rate);
  }

  // Counts and scores of "positive where the score is above the cut".
  function count(scores, y, cut) {
    let [found, said, positives] = [0, 0, 0];
    scores.forEach((score, i) => {
      positives += y[i];
      if (score > cut) { said += 1; found += y[i]; }
    });
    return {
      found, said, missed: positives - found, alarms: said - found,
      precision: said ? found / said : 0, recall: found / positives,
      f1: (2 * found) / (said + positives),
    };
  }

  // `best_threshold`, for scores of which no two are equal.
  function bestThreshold(scores, y) {
    const ranked = scores.map((score, i) => [score, y[i]]).sort((a, b) => b[0] - a[0]);
    const positives = y.reduce((a, b) => a + b, 0);
    let [hits, best, cut] = [0, -1, 0];
    ranked.forEach(([score, label], k) => {
      hits += label;
      const f1 = (2 * hits) / (k + 1 + positives);
      const below = k + 1 < ranked.length ? ranked[k + 1][0] : score - 1;
      if (f1 > best) [best, cut] = [f1, (score + below) / 2];
    });
    return cut;
  }

  return { blobs, optimalLogits, predict, train, count, bestThreshold };
})();

if (typeof module !== "undefined") module.exports = toy;
