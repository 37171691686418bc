// The part of a preview that every output carries. The rest is asked for once a page and kept under its version.

const GONE = { error: { code: "gone", text: "The kernel was restarted or is gone. Run the cell again." } };
const pages = (globalThis.__kmnb_modules ??= new Map());

function channel(model) {
  let last = 0;
  const waiting = new Map();
  model.on("msg:custom", (message) => {
    const done = waiting.get(message?.id);
    if (done) {
      waiting.delete(message.id);
      done(message);
    }
  });
  return (ask, args = {}) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      try {
        model.send({ id, ask, arguments: args });
      } catch {
        // A closed channel raises; whoever asked is told instead of left waiting.
        waiting.delete(id);
        resolve(GONE);
      }
    });
}

async function load(ask) {
  const { answer } = await ask("module");
  const url = URL.createObjectURL(new Blob([answer.js], { type: "text/javascript" }));
  try {
    return { ...(await import(url)), css: answer.css };
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function render({ model, el }) {
  // The static twin hides what follows it unless it lives.
  el.classList.add("kmnb-live");
  const ask = channel(model);
  const version = model.get("module");
  el.textContent = model.get("reference").title;
  if (!pages.has(version)) {
    const loading = load(ask);
    loading.catch(() => pages.delete(version));
    pages.set(version, loading);
  }
  const slow = setTimeout(() => el.append(" · waiting for the kernel …"), 400);
  const part = await pages.get(version);
  clearTimeout(slow);
  const gone = (tell) => ["comm:close", "comm_live_update"].forEach((name) => model.on(name, () => model.comm_live || tell()));
  return part.mount({ el, ask, reference: model.get("reference"), css: part.css, gone });
}

export default { render };
