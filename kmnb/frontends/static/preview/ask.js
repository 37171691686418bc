// Questions: one under way at a time; of those that wait, only the newest of each kind is ever sent.

export const SLOW_MS = 400;
export const LOST_MS = 10_000;
const LOST = { error: { code: "busy", text: "The kernel is busy or gone. What is shown stays; try again later." } };

export class Asker {
  constructor(send, waits) {
    Object.assign(this, { send, waits, current: null, waiting: new Map() });
  }

  // Resolves with a reply that has an answer or an error, or with null when a newer question took its place.
  ask(name, args = {}, slot = "page") {
    return new Promise((resolve) => {
      this.waiting.get(slot)?.resolve(null);
      this.waiting.set(slot, { name, args, resolve });
      this.pump();
    });
  }

  async pump() {
    if (this.current) return;
    const [slot, mine] = this.waiting.entries().next().value ?? [];
    if (!mine) return;
    this.waiting.delete(slot);
    this.current = mine;
    const timers = [
      setTimeout(() => this.waits(true), SLOW_MS),
      setTimeout(() => this.done(mine, LOST), LOST_MS),
    ];
    const reply = await this.send(mine.name, mine.args);
    timers.forEach(clearTimeout);
    this.waits(false);
    this.done(mine, this.waiting.has(slot) ? null : reply);
  }

  done(mine, reply) {
    if (this.current === mine) this.current = null;
    mine.resolve(reply);
    this.pump();
  }
}
