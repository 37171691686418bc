// What is put on the page: one of the parts, and the static twin out of the way while it lives.

import { Collect } from "./collect.js";
import { h } from "./dom.js";
import { Preview } from "./preview.js";
import { Store } from "./store.js";

const PARTS = { preview: Preview, store: Store, collect: Collect };

export function mount({ el, ask, reference, css, gone }) {
  const part = new PARTS[reference.part]({ ask, reference });
  const twin = new Twin(el);
  gone?.(() => {
    twin.show();
    part.end?.();
    part.status("The kernel was restarted or is gone. Run the cell again.", true);
  });
  el.replaceChildren(h("style", {}, css), part.element);
  part.begin();
  return () => {
    twin.show();
    part.end?.();
    el.replaceChildren();
  };
}

// The static twin is the output right before this one; while the preview lives, one of them is enough. An element has
// neighbours only once it is on the page, which is after it was made.
class Twin {
  constructor(el) {
    this.observer = new ResizeObserver(() => el.isConnected && this.hide(el));
    this.observer.observe(el);
  }

  hide(el) {
    this.observer.disconnect();
    const before = el.closest(".jp-OutputArea-child")?.previousElementSibling;
    if (!before?.querySelector(".jp-RenderedHTMLCommon")) return;
    this.twin = before;
    // The notebook's own style would win over the attribute `hidden`.
    before.style.display = "none";
  }

  show() {
    this.observer.disconnect();
    if (this.twin) this.twin.style.display = "";
  }
}
