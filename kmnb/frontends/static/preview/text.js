// Text by lines with their numbers, and bytes in hexadecimal: both are windows of a fixed number of lines.

import { h, number } from "./dom.js";
import { Pager } from "./pager.js";

const LINES = 20;
const BYTES = 16;

class Page {
  constructor({ asker, status }, { noun, total, label }) {
    Object.assign(this, { asker, status });
    this.pager = new Pager({ size: LINES, total, noun, load: (start, limit) => this.load(start, limit) });
    this.pre = h("pre", { class: "kmnb-text", tabindex: 0, role: "region", "aria-label": label });
    this.pre.addEventListener("keydown", (event) => this.key(event));
    this.pre.addEventListener("wheel", (event) => this.pager.wheel(event), { passive: false });
    this.element = h("div", { class: "kmnb-window" }, this.pre, this.pager.slider);
  }

  show() {
    return this.pager.go(this.pager.start);
  }

  refuse({ text }) {
    this.status(text, true);
    return false;
  }

  key(event) {
    // Very long lines may leave room for fewer than a page; none is passed over.
    const page = this.lines?.length || this.pager.size;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -this.pager.size };
    if (event.key in steps) this.pager.by(steps[event.key]);
    else if (event.key === "Home") this.pager.go(0);
    else if (event.key === "End" && this.pager.total !== null) this.pager.go(this.pager.last);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

export class Lines extends Page {
  constructor(options) {
    super(options, { noun: "line", total: options.reference.lines, label: "Lines" });
    this.marked = null;
  }

  async load(start, limit) {
    const reply = await this.asker.ask("lines", { start, limit });
    if (!reply) return;
    if (reply.error) return this.refuse(reply.error);
    const { lines, total, exact, code, cut } = reply.answer;
    Object.assign(this, { lines, code, cut, question: { start, limit: lines.length } });
    this.pager.told(exact ? total : Math.max(total ?? 0, this.pager.total ?? 0));
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

  async copied() {
    const reply = this.cut ? await this.asker.ask("lines", { ...this.question, whole: true }, "copy") : null;
    const { lines, cut } = reply?.answer ?? this;
    return { columns: ["line", "text"], rows: (lines ?? []).map((text, i) => [this.pager.start + i + 1, text]), cut };
  }
}

export class Bytes extends Page {
  constructor(options) {
    const total = Math.ceil((options.reference.bytes ?? 0) / BYTES);
    super(options, { noun: "line", total, label: "Bytes in hexadecimal" });
    this.type = options.reference.contentType ?? "unknown type";
    this.raw = new Uint8Array();
  }

  async load(start, limit) {
    const reply = await this.asker.ask("bytes", { start: start * BYTES, limit: limit * BYTES });
    if (!reply) return;
    if (reply.error) return this.refuse(reply.error);
    const { data, total, code } = reply.answer;
    this.code = code;
    this.raw = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    this.pager.told(Math.ceil((total ?? 0) / BYTES));
    const lines = [];
    for (let at = 0; at < this.raw.length; at += BYTES) lines.push(this.line(start * BYTES + at, at));
    this.pre.replaceChildren(...lines);
    const end = start * BYTES + this.raw.length;
    this.status(`bytes ${number(start * BYTES)}–${number(end)} of ${number(total)} · ${this.type}`);
  }

  line(offset, at) {
    const part = [...this.raw.slice(at, at + BYTES)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(BYTES * 3 - 1);
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    return h("div", {}, h("span", { class: "kmnb-number" }, offset.toString(16).padStart(8, "0"), "  "), `${hex}  ${text}`);
  }

  copied() {
    return { columns: ["hex"], rows: [[[...this.raw].map((byte) => byte.toString(16).padStart(2, "0")).join("")]] };
  }
}
