// One preview: tabs over the views, a search, filters, a status line.

import { Asker } from "./ask.js";
import { h, number } from "./dom.js";
import { Grid } from "./grid.js";
import { Bytes, Lines } from "./text.js";

const VIEWS = { table: ["Table", Grid], text: ["Text", Lines], bytes: ["Bytes", Bytes] };

let used = 0;

export function mount({ el, ask, reference, css }) {
  const preview = new Preview({ el, ask, reference });
  el.replaceChildren(h("style", {}, css), preview.element);
  preview.open(reference.kind in VIEWS ? reference.kind : "text");
  return () => el.replaceChildren();
}

class Preview {
  constructor({ ask, reference }) {
    this.name = `kmnb-${++used}`;
    this.reference = reference;
    this.views = {};
    this.footer = h("div", { class: "kmnb-status", role: "status", "aria-live": "polite" });
    this.asker = new Asker(ask, (text) => this.status(text));
    this.panel = h("div", { class: "kmnb-panel", role: "tabpanel", id: `${this.name}-panel` });
    this.found = h("div", { class: "kmnb-matches" });
    this.element = h(
      "div",
      // The notebook keeps its hands off the keys that are pressed in here.
      { class: "kmnb", role: "region", "aria-label": `Preview of ${reference.key}`, "data-lm-suppress-shortcuts": "true" },
      h("div", { class: "kmnb-title" }, reference.title),
      h("div", { class: "kmnb-bar" }, this.tabs(), this.search()),
      this.panel,
      this.found,
      this.footer,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  tabs() {
    const kinds = Object.keys(VIEWS).filter((kind) => kind !== "table" || this.reference.kind === "table");
    this.buttons = Object.fromEntries(
      kinds.map((kind) => [
        kind,
        h(
          "button",
          { role: "tab", type: "button", "aria-controls": `${this.name}-panel`, onclick: () => this.open(kind) },
          VIEWS[kind][0],
        ),
      ]),
    );
    const list = h("div", { role: "tablist", "aria-label": "Views" }, ...Object.values(this.buttons));
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = kinds[(kinds.indexOf(this.kind) + step + kinds.length) % kinds.length];
      this.open(next);
      this.buttons[next].focus();
    });
    return list;
  }

  search() {
    // A notebook may keep Enter from submitting a form, so that the field listens itself.
    const onkeydown = (event) => event.key === "Enter" && this.find(event);
    this.field = h("input", { type: "search", "aria-label": "Find lines", placeholder: "find …", onkeydown });
    return h("div", { role: "search" }, this.field);
  }

  open(kind) {
    this.kind = kind;
    for (const [name, button] of Object.entries(this.buttons)) {
      button.setAttribute("aria-selected", String(name === kind));
      button.tabIndex = name === kind ? 0 : -1;
    }
    const view = (this.views[kind] ??= new VIEWS[kind][1]({
      asker: this.asker,
      status: (text, bad) => this.status(text, bad),
      reference: this.reference,
      filters: () => [],
    }));
    this.panel.setAttribute("aria-label", VIEWS[kind][0]);
    this.panel.replaceChildren(view.element);
    return view.show();
  }

  async find(event) {
    event.preventDefault();
    if (!this.field.value) return this.found.replaceChildren();
    const reply = await this.asker.ask("find", { pattern: this.field.value });
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    const { matches, total, exact } = reply.answer;
    const items = matches.slice(0, 20).map(([index, text]) =>
      h("li", {}, h("button", { type: "button", onclick: () => this.jump(index) }, `${index + 1}: ${text.slice(0, 120)}`)),
    );
    this.found.replaceChildren(h("ol", { "aria-label": "Matches" }, ...items));
    this.status(`${number(total)}${exact ? "" : " or more"} matching lines`);
  }

  async jump(index) {
    await this.open("text");
    await this.views.text.jump(index);
    this.views.text.pre.focus();
  }

  key(event) {
    if (event.target.tagName === "INPUT" && event.target.type === "search") {
      if (event.key === "Escape") this.field.value = "";
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      this.field.focus();
    }
  }

  status(text, bad = false) {
    this.footer.textContent = text;
    this.footer.classList.toggle("kmnb-bad", bad);
  }
}
