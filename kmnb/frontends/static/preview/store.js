// The browser of a store: who keeps how much, for how long, and which artifacts that are; it looks again by itself.

import { Asker } from "./ask.js";
import { button, counted, h, number } from "./dom.js";
import { remaining } from "./info.js";

const AGAIN_MS = 5000;
const PLACES = 40;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function sized(bytes) {
  let at = 0;
  let amount = bytes ?? 0;
  for (; amount >= 1024 && at < UNITS.length - 1; at++) amount /= 1024;
  return at ? `${amount.toFixed(1)} ${UNITS[at]}` : `${amount} bytes`;
}

function moment(time) {
  return time ? `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC` : "";
}

// What the store's parts have in common: a frame with a title, a table, a status line.
export class Frame {
  constructor({ ask, reference }, kind) {
    this.reference = reference;
    this.footer = h("div", { class: "kmnb-status", role: "status", "aria-live": "polite" });
    this.asker = new Asker(ask, (on) => (this.footer.textContent = on ? "waiting for the kernel …" : this.said));
    this.bar = h("div", { class: "kmnb-bar" });
    this.panel = h("div", { class: "kmnb-scroll" });
    const properties = { class: "kmnb", role: "region", "aria-label": `${kind} of ${reference.key}`, "data-lm-suppress-shortcuts": "true" };
    this.element = h("div", properties, h("div", { class: "kmnb-title" }, reference.title), this.bar, this.panel, this.footer);
  }

  async ask(name, args, slot) {
    const reply = await this.asker.ask(name, args, slot);
    if (reply?.error) this.status(reply.error.text, true);
    return reply?.answer;
  }

  table(label, heads, rows) {
    const head = h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)));
    const body = rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))));
    return h("table", { class: "kmnb-grid", "aria-label": label }, h("thead", {}, head), h("tbody", {}, ...body));
  }

  status(text, bad = false) {
    this.said = this.footer.textContent = text;
    this.footer.classList.toggle("kmnb-bad", bad);
  }
}

export class Store extends Frame {
  constructor(options) {
    super(options, "Store");
    this.place = null;
    this.bar.append(button("Refresh", () => this.look()));
    this.timer = setInterval(() => this.again(), AGAIN_MS);
  }

  begin() {
    this.status("loading …");
    return this.look();
  }

  end() {
    clearInterval(this.timer);
  }

  // Only while somebody can see it, and never while somebody is inside it.
  again() {
    const inside = this.panel.contains(document.activeElement);
    if (document.visibilityState === "visible" && this.element.isConnected && !inside) this.look();
  }

  look() {
    return this.place ? this.open(this.place, this.start ?? 0, false) : this.overview();
  }

  async overview() {
    const answer = await this.ask("places");
    if (!answer) return;
    this.place = null;
    const shown = answer.places.slice(0, PLACES);
    const rows = shown.map((place) => [
      place.thread || "(other)", place.agent,
      button(place.tool, () => this.open(place, 0), { "aria-label": `Open ${place.thread} ${place.agent} ${place.tool}` }),
      number(place.objects), sized(place.bytes), place.expires ? remaining(place.expires) : "",
    ]);
    this.panel.replaceChildren(this.table("Places", ["thread", "agent", "tool", "artifacts", "size", "first expiry"], rows));
    const hidden = answer.places.length - shown.length;
    const more = hidden > 0 ? `, the largest ${PLACES} of ${answer.places.length} places` : "";
    this.status(`${counted(answer.objects, "artifact")}${answer.complete ? "" : " of more"}, ${sized(answer.bytes)}${more}`);
  }

  // Only a person who opens a place is taken there: looking again leaves the focus where they write by now.
  async open(place, start, moves = true) {
    const answer = await this.ask("objects", { prefix: place.prefix, tool: place.tool, start, limit: 20 });
    if (!answer) return;
    Object.assign(this, { place, start });
    const rows = answer.objects.map((one) => [one.key, sized(one.bytes), moment(one.created), one.expires ? remaining(one.expires) : ""]);
    const back = button("Back to all", () => ((this.place = null), this.look()));
    const before = start > 0 && button("Previous", () => this.open(place, Math.max(0, start - 20)));
    const next = answer.more && button("Next", () => this.open(place, start + 20));
    this.panel.replaceChildren(...[back, before, next].filter(Boolean), this.table("Artifacts", ["key", "size", "created", "expiry"], rows));
    if (moves) back.focus();
    this.status(`${place.thread} · ${place.agent} · ${place.tool}: ${counted(place.objects, "artifact")}, ${sized(place.bytes)}`);
  }
}
