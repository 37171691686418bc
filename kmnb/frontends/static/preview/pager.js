// A window over things that are counted: what is shown is bounded whatever there is in all.

import { clamp, h, number } from "./dom.js";

export class Pager {
  constructor({ size, total, noun, load }) {
    Object.assign(this, { size, total, noun, load, start: 0 });
    this.slider = h("input", {
      type: "range",
      class: "kmnb-slider",
      min: 0,
      max: Math.max(0, (total ?? 0) - size),
      value: 0,
      "aria-label": `First ${noun} shown`,
      oninput: () => this.go(Number(this.slider.value)),
    });
  }

  go(start) {
    const last = this.total === null || this.total === undefined ? Infinity : this.total - this.size;
    const wanted = clamp(Math.round(start), 0, last);
    if (wanted === this.start && this.loaded) return Promise.resolve();
    this.start = wanted;
    this.slider.value = wanted;
    return this.load(wanted, this.size);
  }

  by(delta) {
    return this.go(this.start + delta);
  }

  // Take what an answer says of the total.
  told(total, exact) {
    this.loaded = true;
    if (total === null || total === undefined) return;
    this.total = exact === false && this.total > total ? this.total : total;
    this.slider.max = Math.max(0, this.total - this.size);
    this.slider.value = this.start;
  }

  range(shown) {
    if (!shown) return `no ${this.noun}s`;
    return `${this.noun}s ${number(this.start + 1)}–${number(this.start + shown)} of ${number(this.total)}`;
  }
}
