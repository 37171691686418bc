// The table: a window of rows and of columns, a cell that has the focus, and the keys that move it.

import { clamp, h } from "./dom.js";
import { Pager } from "./pager.js";

const ROWS = 20;
const COLUMNS = 12;

export class Grid {
  constructor({ asker, status, reference, filters }) {
    Object.assign(this, { asker, status, filters, columns: [], rows: [], left: 0, row: 0, column: 0 });
    this.pager = new Pager({ size: ROWS, total: reference.rows, noun: "row", load: (a, b) => this.load(a, b) });
    this.table = h("table", { class: "kmnb-grid", role: "grid", "aria-label": "Rows" });
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.table.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element = h("div", { class: "kmnb-window" }, this.table, this.pager.slider);
  }

  async show() {
    await this.pager.go(this.pager.start);
  }

  async load(start, limit) {
    const reply = await this.asker.ask("rows", { start, limit, filters: this.filters() });
    if (!reply) return;
    if (reply.error) return this.status(reply.error.text, true);
    const { columns, rows, total, exact, code } = reply.answer;
    if (columns.length) this.columns = columns;
    this.rows = rows;
    this.code = code;
    this.pager.told(total, exact);
    this.paint();
    this.status(this.pager.range(rows.length) + (exact === false ? " or more" : ""));
  }

  paint() {
    const shown = this.columns.slice(this.left, this.left + COLUMNS);
    this.table.setAttribute("aria-rowcount", (this.pager.total ?? -1) + 1);
    this.table.setAttribute("aria-colcount", this.columns.length + 1);
    const head = h("tr", { "aria-rowindex": 1 }, h("th", { scope: "col", "aria-colindex": 1 }, "#"));
    shown.forEach((name, place) => head.append(h("th", { scope: "col", "aria-colindex": this.left + place + 2 }, name)));
    const body = this.rows.map((cells, place) => this.line(cells, place, shown.length));
    this.table.replaceChildren(h("thead", {}, head), h("tbody", {}, ...body));
  }

  line(cells, place, count) {
    const index = this.pager.start + place;
    const line = h("tr", { "aria-rowindex": index + 2 }, h("th", { scope: "row", "aria-colindex": 1 }, index));
    for (let i = 0; i < count; i++) {
      const column = this.left + i;
      const active = place === this.row && column === this.column;
      const cell = h("td", { "aria-colindex": column + 2, tabindex: active ? 0 : -1 }, cells[column] ?? "");
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
    return this.table.tBodies[0]?.rows[this.row]?.cells[this.column - this.left + 1];
  }

  key(event) {
    const page = this.pager.size;
    const moves = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
      PageDown: [page, 0], PageUp: [-page, 0],
    };
    const far = (this.pager.total ?? 0) - 1;
    const jumps = event.ctrlKey || event.metaKey
      ? { Home: [0, 0], End: [far, this.columns.length - 1] }
      : { Home: [this.pager.start + this.row, 0], End: [this.pager.start + this.row, this.columns.length - 1] };
    const target = moves[event.key]
      ? [this.pager.start + this.row + moves[event.key][0], this.column + moves[event.key][1]]
      : jumps[event.key];
    if (!target) return;
    event.preventDefault();
    event.stopPropagation();
    this.move(clamp(target[0], 0, far), clamp(target[1], 0, this.columns.length - 1));
  }

  async move(row, column) {
    this.left = clamp(this.left, column - COLUMNS + 1, column);
    const { start, size } = this.pager;
    if (row < start) await this.pager.go(row < start - 1 ? row : start - 1);
    else if (row >= start + size) await this.pager.go(row > start + size ? row - size + 1 : start + 1);
    Object.assign(this, { row: clamp(row - this.pager.start, 0, this.rows.length - 1), column });
    this.paint();
    this.cell()?.focus();
  }

  wheel(event) {
    if (event.ctrlKey || !this.pager.total || this.pager.total <= this.pager.size) return;
    const step = Math.sign(event.deltaY) * 3;
    const last = this.pager.total - this.pager.size;
    if ((step < 0 && this.pager.start === 0) || (step > 0 && this.pager.start >= last)) return;
    event.preventDefault();
    this.pager.by(step);
  }

  copied() {
    return { columns: this.columns, rows: this.rows };
  }
}
