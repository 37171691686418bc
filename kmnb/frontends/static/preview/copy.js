// What is shown, as text for elsewhere.

export function written(kind, { columns, rows }) {
  if (kind === "JSON") return JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]))), null, 1);
  if (kind === "Markdown") {
    const line = (cells) => `| ${cells.map((cell) => flat(cell).replace(/([|\\])/g, "\\$1")).join(" | ")} |`;
    return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n");
  }
  return [columns, ...rows].map((cells) => cells.map((cell) => flat(cell)).join("\t")).join("\n");
}

function flat(cell) {
  return String(cell ?? "").replace(/[\t\r\n]+/g, " ");
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
