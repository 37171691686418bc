// Questions: one under way at a time, the newest one waiting, older ones dropped before they are sent.

export const SLOW_MS = 400;
export const LOST_MS = 8000;

export class Asker {
  constructor(ask, status) {
    this.send = ask;
    this.status = status;
    this.current = null;
    this.next = null;
  }

  // Resolves with an answer, with an error that has a text, or with null when a newer question took its place.
  ask(name, args) {
    return new Promise((resolve) => {
      if (this.next) this.next.resolve(null);
      this.next = { name, args, resolve };
      this.pump();
    });
  }

  async pump() {
    if (this.current || !this.next) return;
    const mine = (this.current = this.next);
    this.next = null;
    const timers = [
      setTimeout(() => this.status("waiting for the kernel …"), SLOW_MS),
      setTimeout(() => this.lost(mine), LOST_MS),
    ];
    const reply = await this.send(mine.name, mine.args);
    timers.forEach(clearTimeout);
    if (this.current === mine) this.current = null;
    mine.resolve(this.next ? null : reply);
    this.pump();
  }

  // The kernel is busy, or gone. Nothing waits: the next question is sent when somebody asks it.
  lost(mine) {
    if (this.current !== mine) return;
    this.current = null;
    mine.resolve({ error: { code: "busy", text: "The kernel is busy or gone. What is shown stays; try again." } });
    this.pump();
  }
}
