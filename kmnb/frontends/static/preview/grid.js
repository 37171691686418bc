// The table: a window of rows and of columns, a cell that has the focus, and the keys that move it. It is one stop of Tab.

import { clamp, h, number } from "./dom.js";
import { Filters } from "./filters.js";
import { columnHead } from "./head.js";
import { Pager } from "./pager.js";

const ROWS = 20;
const COLUMNS = 12;
// The row of the column heads, above those of the window.
const HEAD = -1;
const NUMBERS = ["integer", "number"];

export class Grid {
  constructor({ asker, status, reference }) {
    Object.assign(this, { asker, status, columns: [], rows: [], numbers: [], left: 0, row: 0, column: 0 });
    Object.assign(this, { order: null, facts: new Map(), asked: 0 });
    this.pager = new Pager({ size: ROWS, total: reference.rows, noun: "row", load: (a, b) => this.load(a, b) });
    this.filters = new Filters(() => this.again());
    this.table = h("table", { class: "kmnb-grid", role: "grid", "aria-label": "Rows" });
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.table.addEventListener("wheel", (event) => this.pager.wheel(event), { passive: false });
    this.scroller = h("div", { class: "kmnb-scroll" }, this.table);
    const rows = h("div", { class: "kmnb-window" }, this.scroller, this.pager.slider);
    this.element = h("div", {}, this.filters.element, rows);
  }

  show() {
    return this.pager.go(this.pager.start);
  }

  // Begin anew: the filters or the order changed.
  again(row = 0) {
    Object.assign(this, { row });
    return this.pager.reset();
  }

  async load(start, limit) {
    const mine = ++this.asked;
    for (;;) {
      const question = { start, limit, filters: [...this.filters.list], order: this.order };
      const reply = await this.asker.ask("rows", question);
      if (!reply || mine !== this.asked) return;
      const refused = reply.error ?? reply.answer.refused;
      if (refused) return this.refuse(refused);
      this.question = question;
      this.take(reply.answer);
      const { rows, searched } = reply.answer;
      if (searched === 1 || rows.length === limit) break;
      this.status(`${number(rows.length)} rows so far; ${Math.round(searched * 100)}% searched …`);
    }
    if (!this.looked) this.look();
  }

  // A refused order or filter is forgotten: the next page has to belong to the rows that are shown.
  refuse({ text, instead }) {
    this.code = instead ?? this.code;
    if (this.shown) {
      this.order = this.shown.order;
      this.filters.restore(this.shown.filters);
    }
    this.status(text, true);
    return false;
  }

  take({ columns, rows, numbers, total, searched, code, cut }) {
    if (columns.length) this.columns = columns;
    // Without rows the heads can be reached.
    this.row = Math.min(this.row, rows.length - 1);
    Object.assign(this, { rows, numbers, code, cut, shown: { order: this.order, filters: [...this.filters.list] } });
    this.filters.columns(this.columns);
    this.pager.told(total);
    this.paint();
    this.status(this.pager.range(rows.length) + (total === null && searched < 1 ? " (more may follow)" : ""));
  }

  // What is known of the columns comes after the rows are there, and waits for whatever else is asked.
  async look() {
    this.looked = true;
    const reply = await this.asker.ask("columns", {}, "columns");
    if (!reply?.answer) return;
    this.facts = new Map(reply.answer.columns.map((one) => [one.name, one]));
    this.sample = reply.answer.sample ? reply.answer.looked_at : null;
    this.paint();
  }

  // What had the focus is made anew, and has it again.
  paint() {
    const focused = this.table.contains(document.activeElement);
    const shown = this.columns.slice(this.left, this.left + COLUMNS);
    this.table.setAttribute("aria-rowcount", this.pager.total === null ? -1 : this.pager.total + 1);
    this.table.setAttribute("aria-colcount", this.columns.length + 1);
    const heads = shown.map((name, place) => this.head(name, this.left + place));
    const corner = h("th", { scope: "col", "aria-colindex": 1, title: this.sample ? `from a sample of ${this.sample} rows` : null }, "#");
    const body = this.rows.map((cells, place) => this.line(cells, place, shown.length));
    const hidden = this.columns.length - shown.length;
    const note = hidden > 0 ? h("caption", {}, `columns ${this.left + 1}–${this.left + shown.length} of ${this.columns.length}`) : null;
    this.table.replaceChildren(...[note, h("thead", {}, h("tr", { "aria-rowindex": 1 }, corner, ...heads)), h("tbody", {}, ...body)].filter(Boolean));
    if (focused) this.cell()?.focus({ preventScroll: true });
  }

  head(name, at) {
    const mine = this.order?.column === name;
    const sorted = mine ? (this.order.descending ? "descending" : "ascending") : "none";
    const active = this.row === HEAD && at === this.column;
    const touch = () => this.touch(HEAD, at);
    return columnHead({ name, facts: this.facts.get(name), sorted, index: at + 2, active, touch, sort: () => this.sort(name) });
  }

  // Up, down, as it stands.
  sort(name, row = HEAD) {
    const mine = this.order?.column === name;
    this.order = !mine ? { column: name, descending: false } : this.order.descending ? null : { column: name, descending: true };
    this.column = this.columns.indexOf(name);
    return this.again(row);
  }

  line(cells, place, count) {
    const index = this.pager.start + place;
    const line = h("tr", { "aria-rowindex": index + 2 }, h("th", { scope: "row", "aria-colindex": 1 }, number((this.numbers[place] ?? index) + 1)));
    for (let i = 0; i < count; i++) {
      const column = this.left + i;
      const active = place === this.row && column === this.column;
      const type = NUMBERS.includes(this.facts.get(this.columns[column])?.type) ? "kmnb-figure" : null;
      const properties = { class: type, "aria-colindex": column + 2, tabindex: active ? 0 : -1, title: cells[column] };
      const cell = h("td", properties, cells[column] ?? "");
      cell.addEventListener("focus", () => this.touch(place, column));
      line.append(cell);
    }
    return line;
  }

  touch(row, column) {
    const old = this.cell();
    if (old) old.tabIndex = -1;
    Object.assign(this, { row, column });
    const now = this.cell();
    if (now) now.tabIndex = 0;
  }

  cell() {
    const at = this.column - this.left + 1;
    if (this.row === HEAD) return this.table.tHead?.rows[0]?.cells[at]?.querySelector("button");
    return this.table.tBodies[0]?.rows[this.row]?.cells[at];
  }

  key(event) {
    if (!event.target.matches("td, .kmnb-sort")) return;
    const { size: page, start } = this.pager;
    const inHead = this.row === HEAD;
    const here = inHead ? HEAD : start + this.row;
    const last = this.columns.length - 1;
    const end = this.pager.total === null ? here : this.pager.total - 1;
    const control = event.ctrlKey || event.metaKey;
    const targets = {
      ArrowDown: [inHead ? start : here + 1, this.column], ArrowUp: [here - 1, this.column],
      ArrowRight: [here, this.column + 1], ArrowLeft: [here, this.column - 1],
      PageDown: [Math.max(here, start) + page, this.column, page], PageUp: [Math.max(here - page, 0), this.column, -page],
      Home: [control ? 0 : here, 0], End: [control ? end : here, last],
    };
    if (event.key === "s" && !control) this.sort(this.columns[this.column], Math.min(this.row, 0));
    else if (targets[event.key]) {
      const [row, column, pages] = targets[event.key];
      this.move(clamp(row, HEAD, this.pager.total === null ? Infinity : end), clamp(column, 0, last), pages);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The window follows the cell; a whole page moves with it.
  async move(row, column, pages = 0) {
    this.left = clamp(this.left, column - COLUMNS + 1, column);
    const { start, size } = this.pager;
    if (pages) await this.pager.go(start + pages);
    else if (row !== HEAD && row < start) await this.pager.go(row === start - 1 ? row : row - size + 1);
    else if (row >= start + size) await this.pager.go(row === start + size ? start + 1 : row);
    const isHead = row === HEAD || !this.rows.length;
    Object.assign(this, { row: isHead ? HEAD : clamp(row - this.pager.start, 0, this.rows.length - 1), column });
    this.paint();
    this.cell()?.focus();
  }

  // What is looked at may be cut; what is copied is asked for again as long as it is.
  async copied() {
    const reply = this.cut ? await this.asker.ask("rows", { ...this.question, whole: true }, "copy") : null;
    const { columns, rows, cut } = reply?.answer?.rows ? reply.answer : this;
    return { columns, rows, cut };
  }
}
