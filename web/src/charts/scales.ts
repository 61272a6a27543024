/**
 * Axes of charts: the position of a value, and the ticks. Tables of ticks come with the data of the
 * report (`Ticks`), so that exported charts have the same.
 */
import { scaleLinear, scaleLog } from "d3-scale";
import type { Ticks } from "../page";

/**
 * Horizontal positions are per cents of the width and vertical ones pixels. A chart so fits any
 * width, on screen and on paper.
 */
export type Scale = (value: number) => number;

/** Whether a logarithmic axis has a place for a value. */
export const drawable = (v: number | null): v is number =>
  v !== null && Number.isFinite(v) && v > 0;

export interface RatioScale {
  x: Scale;
  /** the largest ratio shown; the smallest is its inverse, so that 1 is in the middle */
  reach: number;
  ticks: number[];
}

/**
 * A log axis around 1 that contains all of `values`, up to a thousandfold; `times` zooms in. Values
 * beyond the axis are drawn at its ends.
 */
export function ratioScale(
  values: readonly (number | null)[],
  { ratios }: Ticks,
  times = 1,
): RatioScale {
  const farthest = Math.max(0, ...values.filter(drawable).map((v) => Math.abs(Math.log(v))));
  const reach = Math.min(1100, Math.max(1.3, Math.exp(farthest * 1.06))) ** (1 / times);
  const ticks = (ratios.find((of) => reach >= of.reach)?.ticks ?? [1]).filter(
    (t) => t <= reach && t >= 1 / reach,
  );
  const scale = scaleLog()
    .domain([1 / reach, reach])
    .range([0, 100])
    .clamp(true);
  return { x: (v) => (v > 0 ? scale(v) : 0), reach, ticks };
}

/** The band within which a difference is too small to matter: [1/(1+margin), 1+margin]. */
export const band = (margin: number): [number, number] => [
  1 / (1 + Math.max(0, margin)),
  1 + Math.max(0, margin),
];

/** Quantiles on log(1/(1−q)): each nine takes the same width. */
export interface QuantileScale {
  x: Scale;
  /** the quantile at a per cent of the width */
  at: (place: number) => number;
  ticks: number[];
}

/** Ticks of a stretch of quantiles: nines, or finer ones if it is too short for two of them. */
export function quantileTicks(from: number, to: number, ticks: Ticks): number[] {
  for (const all of [ticks.quantiles, ticks.fine_quantiles]) {
    const ticks = all.filter((q) => q >= from - 1e-9 && q <= to + 1e-9);
    if (ticks.length > 1) return ticks;
  }
  return scaleLinear().domain([from, to]).ticks(3);
}

/** An axis of quantiles from `lowest` to `highest`; a high `lowest` shows only the tail. */
export function quantileScale(highest: number, { quantiles }: Ticks, lowest = 0): QuantileScale {
  const top = Math.min(0.999999, Math.max(0.9, highest, 1 - (1 - lowest) / 10));
  const scale = scaleLog()
    .domain([1 / (1 - lowest), 1 / (1 - top)])
    .range([0, 100])
    .clamp(true);
  return {
    x: (q) => scale(1 / (1 - Math.min(q, top))),
    at: (place) => 1 - 1 / scale.invert(place),
    ticks: quantiles.filter((q) => q >= lowest && q <= top + 1e-9),
  };
}

/** 0.999 → "99.9 %" */
export const quantileName = (q: number): string => `${Number((q * 100).toFixed(7))}\u00a0%`;

export interface LatencyScale {
  y: Scale;
  ticks: number[];
}

/** Latencies in milliseconds on a log axis, downwards from `height` pixels. */
export function latencyScale(values: readonly number[], height: number): LatencyScale {
  const shown = values.filter(drawable);
  const low = shown.length ? shown.reduce((a, b) => Math.min(a, b)) : 1;
  const high = shown.length ? shown.reduce((a, b) => Math.max(a, b)) : 10;
  const domain: [number, number] =
    low * 1.5 > high ? [low / 1.5, high * 1.5] : [low / 1.12, high * 1.12];
  const y = scaleLog().domain(domain).range([height, 0]).clamp(true);
  return { y: (ms) => (ms > 0 ? y(ms) : height), ticks: logTicks(domain[0], domain[1]) };
}

/**
 * Round numbers between two limits: 1, 2 and 5 in each decade; over many decades one for each, or
 * fewer.
 */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return scaleLinear().domain([low, high]).ticks(4);
  const steps = decades <= 3 ? [1, 2, 5] : [1];
  const every = Math.ceil(decades / 8);
  const ticks: number[] = [];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.log10(high); exponent += every)
    for (const step of steps) ticks.push(Number(`${step}e${exponent}`));
  return ticks.filter((t) => t >= low && t <= high);
}

const ROUNDED = 1e-6; // of a per cent

/**
 * The points that a width of 0 to 100 shows, and the next one on either side, to which lines lead.
 * Points are in the order of their places.
 */
export function seen<T>(points: readonly T[], place: (point: T) => number): T[] {
  const first = points.findIndex((p) => place(p) >= -ROUNDED);
  const last = points.findLastIndex((p) => place(p) <= 100 + ROUNDED);
  return first < 0 || last < 0 ? [] : points.slice(Math.max(0, first - 1), last + 2);
}

/** The end of a line in the visible part: its last place, or where it leaves the right edge. */
export function ending(
  places: readonly (readonly [x: number, y: number])[],
): readonly [x: number, y: number] {
  const [before, last] = [places.at(-2), places.at(-1) ?? ([0, 0] as const)];
  if (last[0] <= 100 || !before) return last;
  return [100, before[1] + ((last[1] - before[1]) * (100 - before[0])) / (last[0] - before[0])];
}

/** The part of a span that a width of 0 to 100 shows; null if it shows none of it. */
export function shownOf(from: number, to: number): [from: number, to: number] | null {
  return to < 0 || from > 100 || !(from <= to) ? null : [Math.max(0, from), Math.min(100, to)];
}

/**
 * Pushes labels apart so that none overlaps. Each stays as near as possible to its height, and all
 * stay within [0, height].
 */
export function spread(wanted: readonly number[], gap: number, height: number): number[] {
  const order = wanted.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  const step = Math.min(gap, order.length > 1 ? height / (order.length - 1) : gap);
  const placed: number[] = [];
  for (const [k, { y }] of order.entries()) placed.push(Math.max(y, k ? placed[k - 1]! + step : 0));
  for (let k = placed.length - 1, limit = height; k >= 0; k--, limit -= step)
    placed[k] = Math.min(placed[k]!, limit);
  const result: number[] = [];
  for (const [k, { i }] of order.entries()) result[i] = placed[k]!;
  return result;
}
