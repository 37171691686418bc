// The head of a column: its name to sort by, its type, how much of it is empty, and how its values are spread.

import { h, number, svg } from "./dom.js";

const WIDTH = 80;
const HEIGHT = 18;
const ARROWS = { ascending: " ▲", descending: " ▼", none: "" };

export function columnHead({ name, facts, sorted, index, active, touch, sort }) {
  const label = `Sort by ${name}`;
  const properties = { type: "button", class: "kmnb-sort", "aria-label": label, tabindex: active ? 0 : -1 };
  const title = h("button", { ...properties, onclick: sort, onfocus: touch }, name, ARROWS[sorted]);
  return h(
    "th",
    { scope: "col", "aria-colindex": index, "aria-sort": sorted },
    title,
    facts && h("div", { class: "kmnb-type" }, facts.type ?? "", emptiness(facts)),
    facts?.nulls > 0 && h("div", { class: "kmnb-empty", style: `width:${Math.round(facts.nulls * 100)}%` }),
    facts && spread(facts),
  );
}

function emptiness(facts) {
  return facts.nulls > 0 ? ` · ${Math.max(1, Math.round(facts.nulls * 100))}% empty` : "";
}

function spread(facts) {
  if (facts.bins) return histogram(facts);
  if (facts.min !== undefined) return h("div", { class: "kmnb-type" }, `${short(facts.min)} … ${short(facts.max)}`);
  if (!facts.top?.length) return null;
  const [value, count] = facts.top[0];
  if (count === 1 && facts.distinct > 1) return h("div", { class: "kmnb-type" }, `${number(facts.distinct)} values, each once`);
  const rest = facts.distinct > 1 ? ` · ${number(facts.distinct)} values` : "";
  return h("div", { class: "kmnb-type" }, `${value} ×${number(count)}${rest}`);
}

function short(value) {
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : String(value).slice(0, 16);
}

// One path however many bars, so that the page stays small.
function histogram({ bins, min, max }) {
  const most = Math.max(...bins, 1);
  const step = WIDTH / bins.length;
  const bars = bins.map((count, at) => {
    const height = count ? Math.max(1, (count / most) * HEIGHT) : 0;
    return `M${(at * step).toFixed(1)} ${HEIGHT}v-${height.toFixed(1)}h${(step - 1).toFixed(1)}v${height.toFixed(1)}z`;
  });
  const label = `values from ${min} to ${max}`;
  const picture = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": label };
  return svg("svg", picture, svg("path", { d: bars.join(""), fill: "currentColor" }));
}
