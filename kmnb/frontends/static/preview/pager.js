// A window over things that are counted: what is shown is bounded whatever there is in all.

import { clamp, h, number } from "./dom.js";

export class Pager {
  constructor({ size, total, noun, load }) {
    Object.assign(this, { size, total: total ?? null, noun, load, start: 0, loaded: false });
    this.slider = h("input", {
      type: "range",
      class: "kmnb-slider",
      min: 0,
      value: 0,
      "aria-label": `First ${noun} shown`,
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.bound();
  }

  get last() {
    return this.total === null ? Infinity : Math.max(0, this.total - this.size);
  }

  bound() {
    // There is nothing to move where everything is shown, or nothing is.
    this.slider.style.display = this.loaded && this.last > 0 ? "" : "none";
    this.slider.max = this.last === Infinity ? this.start + this.size : this.last;
    this.slider.value = this.start;
  }

  // Loading gives false where it was refused; then the window stays where its content is.
  async go(start) {
    const wanted = clamp(Math.round(start), 0, this.last);
    if (wanted === this.start && this.loaded) return;
    this.start = wanted;
    this.slider.value = wanted;
    if ((await this.load(wanted, this.size)) === false && this.shown) {
      Object.assign(this, this.shown, { loaded: true });
      this.bound();
    }
  }

  by(delta) {
    return this.go(this.start + delta);
  }

  reset() {
    Object.assign(this, { start: 0, total: null, loaded: false });
    return this.go(0);
  }

  // Take what an answer says of the total.
  told(total) {
    this.loaded = true;
    if (total !== null && total !== undefined) this.total = total;
    this.shown = { start: this.start, total: this.total };
    this.bound();
  }

  range(shown) {
    if (!shown) return `no ${this.noun}s`;
    return `${this.noun}s ${number(this.start + 1)}–${number(this.start + shown)} of ${number(this.total)}`;
  }

  // Let the wheel move the window as long as there is somewhere to go; then the page scrolls on.
  wheel(event) {
    const step = Math.sign(event.deltaY) * 3;
    if (event.ctrlKey || !step || (step < 0 && this.start === 0) || (step > 0 && this.start >= this.last)) return;
    event.preventDefault();
    this.by(step);
  }
}
