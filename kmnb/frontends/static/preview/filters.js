// Filters: a column, a comparison, a value. What is sent are these three, never a text that is executed.

import { button, h } from "./dom.js";

const COMPARISONS = ["=", "!=", "<", "<=", ">", ">=", "contains"];

export class Filters {
  constructor(changed) {
    Object.assign(this, { changed, list: [] });
    this.column = h("select", { "aria-label": "Column" });
    this.comparison = h("select", { "aria-label": "Comparison" }, ...COMPARISONS.map((one) => h("option", {}, one)));
    const onkeydown = (event) => event.key === "Enter" && this.add();
    this.value = h("input", { type: "text", "aria-label": "Value", placeholder: "value", onkeydown });
    this.chips = h("span", { class: "kmnb-chips" });
    this.element = h(
      "div",
      { class: "kmnb-bar", role: "group", "aria-label": "Filters" },
      "where", this.column, this.comparison, this.value, button("Add filter", () => this.add()), this.chips,
    );
  }

  columns(names) {
    if (this.names?.join("\n") === names.join("\n")) return;
    this.names = names;
    this.column.replaceChildren(...names.slice(0, 200).map((name) => h("option", {}, name)));
  }

  add() {
    const column = this.names?.[this.column.selectedIndex];
    if (column === undefined || this.value.value === "") return;
    this.list.push({ column, op: this.comparison.value, value: this.value.value });
    this.value.value = "";
    this.show();
  }

  show() {
    this.paint();
    this.changed();
  }

  restore(list) {
    this.list = [...list];
    this.paint();
  }

  paint() {
    const chips = this.list.map((one, at) => {
      const text = `${one.column} ${one.op} ${one.value}`;
      const remove = () => {
        this.list.splice(at, 1);
        this.show();
        this.value.focus();
      };
      return button(`${text} ✕`, remove, { "aria-label": `Remove filter ${text}` });
    });
    this.chips.replaceChildren(...chips);
  }
}
