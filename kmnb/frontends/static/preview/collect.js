// The panel of garbage collection: first what would be deleted and why, then, asked once more, the deletion.

import { button, counted, number } from "./dom.js";
import { Frame, sized } from "./store.js";

export class Collect extends Frame {
  constructor(options) {
    super(options, "Garbage collection");
    this.bar.append(button("Dry run", () => this.look()));
    this.act = null;
  }

  begin() {
    this.status("A dry run tells what would be deleted; it deletes nothing.");
  }

  async look() {
    this.status("looking …");
    const answer = await this.ask("look");
    if (!answer) return;
    this.show(answer);
    this.act?.remove();
    this.act = null;
    if (!answer.deleted) return;
    this.act = button(`Delete ${counted(answer.deleted, "artifact")} (${sized(answer.deletedBytes)})`, () => this.sure(answer));
    this.bar.append(this.act);
  }

  // A second press, on another word, is what deletes.
  sure(answer) {
    const really = button(`Really delete ${number(answer.deleted)}`, () => this.collect());
    this.act.replaceWith(really);
    this.act = really;
    really.focus();
    this.status("This cannot be undone.", true);
  }

  async collect() {
    this.act?.remove();
    this.act = null;
    this.status("deleting …");
    const answer = await this.ask("collect");
    if (answer) this.show(answer);
  }

  show(answer) {
    const reasons = Object.entries(answer.byReason).map(([reason, found]) => [reason, number(found.objects), sized(found.bytes)]);
    const objects = answer.objects.slice(0, 20).map((one) => [one.deletes ? "goes" : "stays", one.key, one.reason, sized(one.bytes)]);
    this.panel.replaceChildren(
      this.table("Reasons", ["reason", "artifacts", "size"], reasons),
      this.table("Artifacts", ["what", "key", "reason", "size"], objects),
    );
    this.status(answer.title);
  }
}
