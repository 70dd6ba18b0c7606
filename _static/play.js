// What the book's moving figures share: controls, and small charts. Jupyter Book loads every script
// of this folder on each page; the figures start where they find their place.
"use strict";

const play = (() => {
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children);
    return made;
  };

  // A row for each of [name, label, "choice" or "range", values or [min, max, step], words of a
  // value]. Moving one changes `state` and calls `changed`; `refresh` shows the state, and hides
  // the rows that `isShown(name)` denies.
  function controls(prefix, list, state, changed) {
    const panel = element("div", { class: "play-controls" });
    const rows = list.map(([name, label, kind, values, words = (v) => String(Number(v.toFixed(3)))]) => {
      const id = `${prefix}-${name}`;
      const choice = kind === "choice";
      const options = choice ? values.map(([v, text]) => element("option", { value: v }, text)) : [];
      const [min, max, step] = values;
      const input = choice ? element("select", { id }, ...options) : element("input", { id, type: "range", min, max, step });
      const output = element("output", { for: id });
      const row = element("div", {}, element("label", { for: id }, label), input, output);
      input.addEventListener("input", () => {
        const chosen = (v) => String(v) === input.value;
        state[name] = choice ? values.map(([v]) => v).find(chosen) : Number(input.value);
        changed();
      });
      panel.append(row);
      return (isShown) => {
        row.hidden = !isShown(name);
        input.value = String(state[name]);
        if (choice) return;
        output.value = words(state[name]);
        input.setAttribute("aria-valuetext", output.value);
      };
    });
    return { panel, refresh: (isShown = () => true) => rows.forEach((row) => row(isShown)) };
  }

  // A number with so many digits after the point, and a true minus sign.
  const print = (value, digits = 3) => value.toFixed(digits).replace("-", "−");

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
  // Lines or dots over two axes, all within their ranges; `marks` are vertical lines with a name.
  function chart(title, xLabel, yLabel, xRange, yRange, lines, marks = []) {
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
    svg.setAttribute("aria-label", `${title}: ${lines.map((l) => l.name).filter(Boolean).join(", ")}`);
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
      add("path", { d: `M${X(x)},${TOP} V${H - BOTTOM}`, class: "at" });
      const left = x > xRange[0] + 0.7 * (xRange[1] - xRange[0]);
      add("text", { x: X(x) + (left ? -4 : 4), y: H - BOTTOM - 6, "text-anchor": left ? "end" : "start" }, name);
    }
    lines.forEach(({ name, points, style, dots }, i) => {
      const clip = (y) => Math.min(Math.max(y, yRange[0]), yRange[1]);
      const at = ([x, y]) => `${X(x).toFixed(1)},${Y(clip(y)).toFixed(1)}`;
      const shape = dots ? `dots ${style}` : `line ${style}`;
      const d = points.map((point, k) => (dots ? `M${at(point)}h0` : `${k ? "L" : "M"}${at(point)}`));
      add("path", { d: d.join(""), class: shape });
      if (!name) return;
      const left = LEFT + 8 + i * (lines.length > 2 ? 122 : 150);
      add("path", { d: `M${dots ? left + 11 : left},${TOP - 16} h${dots ? 0 : 22}`, class: shape });
      add("text", { x: left + 26, y: TOP - 12 }, name);
    });
    return svg;
  }

  return { SVG, element, controls, print, chart };
})();
