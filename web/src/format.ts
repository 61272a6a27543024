/** Numbers for readers: three significant digits, thin spaces between thousands, the unit last. */

const THIN = "\u202f";
export const NONE = "–";

const grouped = (digits: string) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);

/** Three significant digits; whole numbers below 1000 stay whole. */
export function sig(x: number | null): string {
  if (x === null || !Number.isFinite(x)) return NONE;
  if (x < 0) return `\u2212${sig(-x)}`;
  if (x !== 0 && (x >= 1e15 || x < 1e-4))
    return x.toExponential(2).replace("e+", "e").replace("e-", "e\u2212");
  const rounded = Number(x.toPrecision(3));
  if (rounded >= 1000) return grouped(String(rounded));
  return Number.isInteger(x) ? String(x) : x.toPrecision(3);
}

/** A tick of an axis: as short as it can be. */
export function tick(x: number | null): string {
  if (x === null || !Number.isFinite(x)) return NONE;
  const digits = String(Number(x.toPrecision(6)));
  return x >= 1000 && x < 1e15 ? grouped(digits) : digits;
}

/** A count: every digit. */
export function count(n: number | null): string {
  if (n === null || !Number.isFinite(n)) return NONE;
  return Math.abs(n) >= 1e15
    ? sig(n)
    : (n < 0 ? "\u2212" : "") + grouped(String(Math.round(Math.abs(n))));
}

/** A value and its unit, kept on one line. */
export function withUnit(x: number | null, unit: string): string {
  return x === null ? NONE : unit ? `${sig(x)}\u00a0${unit}` : sig(x);
}

/** A duration given in milliseconds. */
export function duration(ms: number | null): string {
  return ms !== null && Math.abs(ms) >= 1000 ? withUnit(ms / 1000, "s") : withUnit(ms, "ms");
}

/** The start-up time of a contender; unknown if it was already running. */
export function startUp({
  ready_ms: ready,
  reached,
}: {
  ready_ms: { median: number; min: number; max: number } | null;
  reached?: boolean;
}): string {
  if (ready) return `${duration(ready.median)} (${duration(ready.min)} to ${duration(ready.max)})`;
  return reached ? "unknown: it was already running" : "never ready";
}

/** A size given in bytes, in powers of 1000. */
export function bytes(n: number | null): string {
  if (n === null) return NONE;
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(n))) / 3)));
  return withUnit(n / 1000 ** power, ["B", "kB", "MB", "GB", "TB"][power]!);
}

/** A ratio with its interval: "0.31 (0.29 to 0.33)". */
export function interval(ratio: number | null, low: number | null, high: number | null): string {
  if (ratio === null) return NONE;
  return low === null || high === null ? sig(ratio) : `${sig(ratio)} (${sig(low)} to ${sig(high)})`;
}

/** A margin such as 0.05: "5 %". */
export const percent = (share: number): string =>
  withUnit(Number((share * 100).toPrecision(9)), "%");

/** A confidence such as 0.9987 as "99.87 %", with enough digits to differ from 100 %. */
export function confidence(share: number): string {
  const error = (1 - share) * 100;
  if (Number.isNaN(error)) return NONE;
  if (error <= 0) return withUnit(100, "%");
  const decimals = Math.min(9, Math.max(0, 1 - Math.floor(Math.log10(error))));
  return `${Number((100 - error).toFixed(decimals))}\u00a0%`;
}

/** A p-value: two digits, none below a ten-thousandth. */
export function probability(p: number | null): string {
  if (p === null || !Number.isFinite(p)) return NONE;
  return p < 1e-4 ? "< 0.0001" : String(Number(p.toPrecision(2)));
}

/** Keeps the numbers of a sentence next to their units. */
export const unbroken = (sentence: string): string =>
  sentence.replace(/(\d) (?=(%|×|ms|µs|s|MB|\/s)(?![\p{L}\d]))/gu, "$1\u00a0");

/** Cuts a text to `length` characters, for places that cannot wrap. */
export function short(text: string, length = 26): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** An address of the web, else null: addresses of a record are not trusted. */
export function webAddress(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}
