// The preview of an artifact: tabs over the views, a search, a status line, what is shown as code and as text.

import { Asker } from "./ask.js";
import { copy, written } from "./copy.js";
import { button, h, number } from "./dom.js";
import { Grid } from "./grid.js";
import { factTable, Info } from "./info.js";
import { Bytes, Lines } from "./text.js";
import { Tree } from "./tree.js";

const VIEWS = {
  table: ["Table", Grid],
  tree: ["Tree", Tree],
  text: ["Text", Lines],
  bytes: ["Bytes", Bytes],
  info: ["Info", Info],
};
const HELP = [
  ["Tab", "to the next part"],
  ["arrows, Page, Home, End", "move inside a view; Ctrl+Home and Ctrl+End to the first and last row"],
  ["s", "sort by the column of the cell"],
  ["Enter", "open or close a part of the tree"],
  ["/", "find lines"],
  ["?", "this help; Escape closes it"],
];

let used = 0;

export class Preview {
  constructor({ ask, reference }) {
    Object.assign(this, { name: `kmnb-${++used}`, reference, views: {}, texts: {} });
    this.kinds = Object.keys(VIEWS).filter((kind) => reference.views.includes(kind));
    this.footer = h("div", { class: "kmnb-status", role: "status", "aria-live": "polite" });
    this.asker = new Asker(ask, (on) => this.waits(on));
    this.panel = h("div", { class: "kmnb-panel", role: "tabpanel", id: `${this.name}-panel` });
    this.found = h("div", { class: "kmnb-matches" });
    this.extra = h("div", { class: "kmnb-extra" });
    this.element = h(
      "div",
      // The notebook keeps its hands off the keys that are pressed in here.
      { class: "kmnb", role: "region", "aria-label": `Preview of ${reference.key}`, "data-lm-suppress-shortcuts": "true" },
      h("div", { class: "kmnb-title" }, reference.title),
      h("div", { class: "kmnb-bar" }, this.tabs(), this.search(), this.tools()),
      this.panel,
      this.found,
      this.extra,
      this.footer,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  tabs() {
    const tab = (kind) =>
      h("button", { role: "tab", type: "button", "aria-controls": `${this.name}-panel`, onclick: () => this.open(kind) }, VIEWS[kind][0]);
    this.buttons = Object.fromEntries(this.kinds.map((kind) => [kind, tab(kind)]));
    const list = h("div", { role: "tablist", "aria-label": "Views" }, ...Object.values(this.buttons));
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = this.kinds[(this.kinds.indexOf(this.kind) + step + this.kinds.length) % this.kinds.length];
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

  tools() {
    const kinds = ["TSV", "Markdown", "JSON"].map((kind) => button(kind, () => this.copy(kind), { "aria-label": `Copy as ${kind}` }));
    this.coder = button("Code", () => this.toggle("code"), { "aria-expanded": "false", "aria-label": "Show as code" });
    this.helper = button("?", () => this.toggle("help"), { "aria-expanded": "false", "aria-label": "Keys" });
    return h("div", { class: "kmnb-tools", role: "group", "aria-label": "Copy and code" }, "copy", ...kinds, this.coder, this.helper);
  }

  begin() {
    return this.open(this.reference.views[0]);
  }

  get view() {
    return this.views[this.kind];
  }

  open(kind) {
    this.kind = kind;
    for (const [name, one] of Object.entries(this.buttons)) {
      one.setAttribute("aria-selected", String(name === kind));
      one.tabIndex = name === kind ? 0 : -1;
    }
    const status = (text, bad = false) => {
      this.texts[kind] = [text, bad];
      if (this.kind === kind) this.status(text, bad);
    };
    this.views[kind] ??= new VIEWS[kind][1]({ asker: this.asker, status, reference: this.reference });
    this.panel.setAttribute("aria-label", VIEWS[kind][0]);
    this.panel.replaceChildren(this.view.element);
    this.status(...(this.texts[kind] ?? ["loading …"]));
    return this.view.show();
  }

  async find(event) {
    event.preventDefault();
    if (!this.field.value) return this.forget();
    const reply = await this.asker.ask("find", { pattern: this.field.value }, "find");
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    const { matches, total, exact, code } = reply.answer;
    this.foundCode = code;
    const item = ([index, text]) => h("li", {}, button(`${index + 1}: ${text.slice(0, 120)}`, () => this.jump(index)));
    this.found.replaceChildren(h("ol", { "aria-label": "Matches" }, ...matches.slice(0, 20).map(item)));
    this.status(`${number(total)}${exact ? "" : " or more"} matching ${exact && total === 1 ? "line" : "lines"}`);
  }

  forget() {
    this.foundCode = null;
    this.found.replaceChildren();
  }

  async jump(index) {
    await this.open("text");
    await this.views.text.jump(index);
    this.views.text.pre.focus();
  }

  async copy(kind) {
    const { cut, ...shown } = await this.view.copied();
    const text = written(kind, shown);
    const note = cut ? `; ${number(cut)} long ${cut === 1 ? "value is" : "values are"} cut and end with …` : "";
    if (await copy(text)) return this.status(`copied as ${kind}${note}`, Boolean(cut));
    const field = h("textarea", { "aria-label": `The view as ${kind}`, rows: 6, readonly: true }, text);
    this.extra.replaceChildren(field);
    field.select();
    this.status(`The browser does not let a page copy; press Ctrl+C${note}.`, Boolean(cut));
  }

  toggle(what) {
    this.extraShown = this.extraShown === what ? null : what;
    this.coder.setAttribute("aria-expanded", String(this.extraShown === "code"));
    this.helper.setAttribute("aria-expanded", String(this.extraShown === "help"));
    this.extra.replaceChildren(...(this.extraShown === "code" ? this.code() : this.extraShown === "help" ? this.help() : []));
  }

  code() {
    const calls = [this.reference.code, this.foundCode, this.view.code];
    const text = calls.filter(Boolean).join("\n");
    const shown = h("pre", { class: "kmnb-text", tabindex: 0, role: "region", "aria-label": "Code" }, text);
    const insert = globalThis.jupyterapp && button("Insert as cell", () => insertCell(text));
    return [shown, button("Copy code", async () => this.status((await copy(text)) ? "copied" : "select it and press Ctrl+C")), insert].filter(Boolean);
  }

  help() {
    return [factTable("Keys", HELP)];
  }

  key(event) {
    if (event.key === "Escape") {
      this.field.value = "";
      this.forget();
      if (this.extraShown) this.toggle(this.extraShown);
      return;
    }
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "range") return;
    if (event.key === "/") this.field.focus();
    else if (event.key === "?") this.toggle("help");
    else return;
    event.preventDefault();
  }

  // Said over the status line while an answer is slow; then what stood there comes back.
  waits(on) {
    this.footer.textContent = on ? "waiting for the kernel …" : this.said;
  }

  status(text, bad = false) {
    this.said = this.footer.textContent = text;
    this.footer.classList.toggle("kmnb-bad", bad);
    if (this.extraShown === "code") this.extra.replaceChildren(...this.code());
  }
}

// JupyterLab lets pages at its commands only when it is told to.
async function insertCell(text) {
  const { commands, shell } = globalThis.jupyterapp;
  await commands.execute("notebook:insert-cell-below");
  shell.currentWidget.content.activeCell.model.sharedModel.setSource(text);
}
