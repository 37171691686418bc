// The tree of a document: a flat list of what is open, of which a window is shown. Children come when they are opened.

import { clamp, h, number } from "./dom.js";

const TREE_LINES = 24;
const CHUNK = 100;

export class Tree {
  constructor({ asker, status }) {
    Object.assign(this, { asker, status, items: [], top: 0, active: 0 });
    this.list = h("ul", { class: "kmnb-tree", role: "tree", "aria-label": "Document" });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element = this.list;
  }

  async show() {
    if (this.items.length) return this.paint();
    const answer = await this.ask([], 0);
    if (!answer) return;
    this.items = this.children({ path: [], level: 0 }, answer, 0);
    this.paint();
    this.status(answer.count === null ? `one ${answer.type}` : `${answer.type} of ${number(answer.count)}`);
  }

  async ask(path, start) {
    const reply = await this.asker.ask("tree", { path, start, limit: CHUNK });
    if (reply?.error) this.status(reply.error.text, true);
    if (reply?.answer?.code) this.code = reply.answer.code;
    return reply?.answer;
  }

  children(parent, answer, start) {
    const made = answer.children.map((child) => ({ ...child, path: [...parent.path, child.key], level: parent.level + 1, open: false }));
    const seen = start + made.length;
    if (answer.count !== null && seen < answer.count && made.length) {
      made.push({ more: answer.count - seen, start: seen, parent, path: parent.path, level: parent.level + 1 });
    }
    if (!answer.children.length && answer.text !== null && !parent.level) {
      made.push({ key: "", type: answer.type, count: null, text: answer.text, path: [], level: 1 });
    }
    return made;
  }

  async toggle(at) {
    const item = this.items[at];
    if (!item) return;
    if (item.more) {
      const answer = await this.ask(item.path, item.start);
      if (answer) this.items.splice(this.items.indexOf(item), 1, ...this.children(item.parent, answer, item.start));
    } else if (item.open) {
      this.items.splice(at + 1, this.inside(at));
      item.open = false;
    } else if (item.count) {
      const answer = await this.ask(item.path, 0);
      if (!answer) return;
      this.items.splice(this.items.indexOf(item) + 1, 0, ...this.children(item, answer, 0));
      item.open = true;
    }
    this.paint();
  }

  inside(at) {
    const level = this.items[at].level;
    let end = at + 1;
    while (end < this.items.length && this.items[end].level > level) end++;
    return end - at - 1;
  }

  paint(focus = false) {
    this.top = clamp(this.top, this.active - TREE_LINES + 1, this.active);
    this.top = clamp(this.top, 0, this.items.length - TREE_LINES);
    const shown = this.items.slice(this.top, this.top + TREE_LINES).map((item, place) => this.line(item, this.top + place));
    this.list.replaceChildren(...shown);
    if (focus) this.list.children[this.active - this.top]?.focus();
  }

  line(item, at) {
    const properties = {
      role: "treeitem",
      "aria-level": item.level,
      "aria-expanded": item.count ? String(item.open) : null,
      tabindex: at === this.active ? 0 : -1,
      style: `padding-left:${Math.min(item.level, 20) * 14}px`,
      onclick: () => {
        this.active = at;
        this.toggle(at).then(() => this.paint(true));
      },
    };
    if (item.more) return h("li", properties, `… ${number(item.more)} more`);
    const mark = item.count ? (item.open ? "▾ " : "▸ ") : "  ";
    const told = item.text === null ? `${item.type} of ${number(item.count)}` : item.text;
    return h("li", properties, mark, h("b", {}, item.key), item.key === "" ? "" : ": ", told);
  }

  key(event) {
    const item = this.items[this.active];
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: TREE_LINES, PageUp: -TREE_LINES, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.active = clamp(this.active + steps[event.key], 0, this.items.length - 1);
    else if (event.key === "ArrowRight" && item && !item.open) this.toggle(this.active).then(() => this.paint(true));
    else if (event.key === "ArrowLeft" && item?.open) this.toggle(this.active).then(() => this.paint(true));
    else if (event.key === "ArrowLeft") this.active = this.above();
    else if (event.key === "Enter" || event.key === " ") this.toggle(this.active).then(() => this.paint(true));
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.paint(true);
  }

  above() {
    let at = this.active;
    while (at > 0 && this.items[at].level >= this.items[this.active].level) at--;
    return at;
  }

  wheel(event) {
    const step = Math.sign(event.deltaY) * 3;
    const to = clamp(this.top + step, 0, this.items.length - TREE_LINES);
    if (event.ctrlKey || to === this.top) return;
    event.preventDefault();
    this.top = to;
    this.active = clamp(this.active, to, to + TREE_LINES - 1);
    this.paint();
  }

  copied() {
    const rows = this.items.filter((item) => !item.more).map((item) => [item.path.join("."), item.type, item.text ?? item.count]);
    return { columns: ["path", "type", "value"], rows, cut: this.items.filter((item) => item.cut).length };
  }
}
