/** A value of a table: numbers are shown with three digits and copied with all. */
export type Value = string | number | null | undefined;

/** Writes CSV (RFC 4180). Rows end with CR LF; commas, quotes and line breaks are quoted. */
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
 * Removes typographic spaces and signs, and quotes names that a spreadsheet would take for a
 * formula.
 */
function plain(text: string): string {
  const bare = text
    .replace(/(?<=\d)\u202f(?=\d)/g, "")
    .replaceAll("\u00a0", " ")
    .replace(/\u2212(?=\d)/g, "-");
  return /^[=+@\t\r]|^-(?!\d)/.test(bare) ? `'${bare}` : bare;
}
