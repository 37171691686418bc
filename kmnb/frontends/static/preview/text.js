// Text by lines with their numbers, and bytes in hexadecimal: both are windows of a fixed number of lines.

import { h } from "./dom.js";
import { Pager } from "./pager.js";

const LINES = 20;
const BYTES = 16;

class Page {
  constructor({ asker, status, noun, total, label, size = LINES, unit = 1 }) {
    Object.assign(this, { asker, status, unit });
    this.pager = new Pager({ size, total, noun, load: (start, limit) => this.load(start, limit) });
    this.pre = h("pre", { class: "kmnb-text", tabindex: 0, role: "region", "aria-label": label });
    this.pre.addEventListener("keydown", (event) => this.key(event));
    this.pre.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element = h("div", { class: "kmnb-window" }, this.pre, this.pager.slider);
  }

  async show() {
    await this.pager.go(this.pager.start);
  }

  key(event) {
    const page = this.pager.size;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.pager.by(steps[event.key]);
    else if (event.key === "Home") this.pager.go(0);
    else if (event.key === "End") this.pager.go((this.pager.total ?? 0) - page);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  wheel(event) {
    const last = (this.pager.total ?? 0) - this.pager.size;
    const step = Math.sign(event.deltaY) * 3;
    if (event.ctrlKey || last <= 0 || (step < 0 && !this.pager.start) || (step > 0 && this.pager.start >= last)) return;
    event.preventDefault();
    this.pager.by(step);
  }
}

export class Lines extends Page {
  constructor(options) {
    super({ ...options, noun: "line", total: options.reference.lines, label: "Lines" });
    this.marked = null;
  }

  async load(start, limit) {
    const reply = await this.asker.ask("lines", { start, limit });
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    const { lines, total, exact, code } = reply.answer;
    this.lines = lines;
    this.code = code;
    this.pager.told(total, exact);
    this.paint();
    this.status(this.pager.range(lines.length));
  }

  paint() {
    const width = String(this.pager.start + this.lines.length).length;
    const shown = this.lines.map((text, place) => {
      const index = this.pager.start + place;
      const line = h("span", { class: "kmnb-number" }, String(index + 1).padStart(width), "  ");
      return h("div", { class: index === this.marked ? "kmnb-found" : null }, line, text || " ");
    });
    this.pre.replaceChildren(...shown);
  }

  async jump(index) {
    this.marked = index;
    await this.pager.go(Math.max(0, index - 3));
    if (this.lines) this.paint();
  }

  copied() {
    return { columns: ["line", "text"], rows: (this.lines ?? []).map((text, i) => [this.pager.start + i + 1, text]) };
  }
}

export class Bytes extends Page {
  constructor(options) {
    const total = Math.ceil((options.reference.bytes ?? 0) / BYTES);
    super({ ...options, noun: "line", total, label: "Bytes in hexadecimal" });
  }

  async load(start, limit) {
    const reply = await this.asker.ask("bytes", { start: start * BYTES, limit: limit * BYTES });
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    const { data, code } = reply.answer;
    this.code = code;
    this.raw = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    this.pager.told(this.pager.total, true);
    const lines = [];
    for (let at = 0; at < this.raw.length; at += BYTES) lines.push(this.line(start * BYTES + at, at));
    this.pre.replaceChildren(...lines);
    this.status(`bytes ${start * BYTES}–${start * BYTES + this.raw.length}`);
  }

  line(offset, at) {
    const part = [...this.raw.slice(at, at + BYTES)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(BYTES * 3 - 1);
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    return h("div", {}, h("span", { class: "kmnb-number" }, offset.toString(16).padStart(8, "0"), "  "), `${hex}  ${text}`);
  }

  copied() {
    return { columns: ["hex"], rows: [[[...(this.raw ?? [])].map((byte) => byte.toString(16).padStart(2, "0")).join("")]] };
  }
}
