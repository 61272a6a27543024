/**
 * Copies a plot over time as SVG. uPlot draws on a canvas, whose picture has no text. So this draws
 * the visible part once more, from the lines of the plot.
 */
import { scaleLinear } from "d3-scale";
import type uPlot from "uplot";
import { tick } from "../format";
import { escaped } from "../svg";
import { logTicks } from "./scales";
import { drawnWarm, type Warm } from "./warm";

export interface Plotted {
  colour: string;
  dashed: boolean;
}

const round = (x: number) => Number(x.toFixed(1));

/** The visible part of a plot as elements of an SVG, in the pixels of its canvas's box. */
export function plotted(
  plot: uPlot,
  lines: readonly Plotted[],
  log: boolean,
  warm: Warm | null,
  ink: (colour: string) => string,
): string {
  const { offsetLeft: left, offsetTop: top, clientWidth: width, clientHeight: height } = plot.over;
  const { x, y } = plot.scales;
  const ends = [x?.min, x?.max, y?.min, y?.max];
  if (!ends.every((v): v is number => typeof v === "number" && Number.isFinite(v))) return "";
  const [from, to, low, high] = ends as [number, number, number, number];
  const px = (t: number) => round(left + plot.valToPos(t, "x"));
  const py = (v: number) => round(top + plot.valToPos(v, "y"));
  const [muted, grid] = [ink("var(--muted)"), ink("var(--grid)")].map(escaped) as [string, string];
  const word = (text: string, at: string) =>
    `<text ${at} fill="${muted}" font-size="12" font-family="sans-serif">${escaped(text)}</text>`;
  const values = log && low > 0 ? logTicks(low, high) : scaleLinear().domain([low, high]).ticks(5);
  const levels = values.map(
    (v) =>
      `<path d="M${left},${py(v)}h${width}" stroke="${grid}"/>${word(tick(v), `x="${left - 6}" y="${py(v)}" text-anchor="end" dominant-baseline="central"`)}`,
  );
  const times = scaleLinear()
    .domain([from, to])
    .ticks(6)
    .map((t) => word(`${tick(t)} s`, `x="${px(t)}" y="${top + height + 16}" text-anchor="middle"`));
  const [at, ...columns] = plot.data;
  const courses = columns.map((column, i) => {
    const points = [...column].flatMap((v, k) => {
      const t = at[k]!;
      return v === null || v === undefined || t < from || t > to ? [] : [`${px(t)},${py(v)}`];
    });
    const { colour, dashed } = lines[i]!;
    return points.length === 0
      ? ""
      : `<path d="M${points.join("L")}" fill="none" stroke="${escaped(ink(colour))}"${dashed ? ' stroke-dasharray="5 4"' : ""}/>`;
  });
  const [beneath, above] = warm ? drawnWarm(warm, { left, top, width, height }, px, ink) : ["", ""];
  return [beneath, ...levels, ...times, ...courses, above].join("");
}
