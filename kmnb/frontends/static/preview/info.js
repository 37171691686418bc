// What is known of the artifact, and how long it will still be there.

import { h } from "./dom.js";

export class Info {
  constructor({ asker, status }) {
    Object.assign(this, { asker, status, facts: {} });
    this.list = h("div", {});
    this.element = this.list;
  }

  async show() {
    const reply = await this.asker.ask("facts");
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    Object.assign(this, reply.answer);
    this.list.replaceChildren(factTable("Facts", Object.entries(this.facts)));
    this.status(this.facts.expiresAt ? remaining(this.facts.expiresAt) : "it does not expire");
  }

  copied() {
    return { columns: ["fact", "value"], rows: Object.entries(this.facts) };
  }
}

export function factTable(label, pairs) {
  const lines = pairs.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)));
  return h("table", { class: "kmnb-facts", "aria-label": label }, h("tbody", {}, ...lines));
}

export function remaining(until, now = Date.now()) {
  const minutes = Math.floor((Date.parse(until) - now) / 60_000);
  if (minutes < 0) return "it has expired";
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `expires in ${hours} h ${minutes % 60} min` : `expires in ${minutes} min`;
}
