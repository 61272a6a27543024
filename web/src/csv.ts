/** What a table holds: numbers are shown with three digits and copied with all. */
export type Value = string | number | null | undefined;

/** RFC 4180: rows end with CR LF; what has a comma, a quote or a line break is quoted. */
export function asCsv(columns: readonly string[], rows: readonly (readonly Value[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(value: Value): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  if (value === null || value === undefined || value === "–") return "";
  const text = plain(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Without the spaces and signs that only please the eye; a name that a spreadsheet would take for a
 * formula stays a name.
 */
function plain(text: string): string {
  const bare = text
    .replace(/(?<=\d)\u202f(?=\d)/g, "")
    .replaceAll("\u00a0", " ")
    .replace(/\u2212(?=\d)/g, "-");
  return /^[=+@\t\r]|^-(?!\d)/.test(bare) ? `'${bare}` : bare;
}
