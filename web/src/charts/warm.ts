/** The end of warm-up on a time axis that trials share. */
import type uPlot from "uplot";
import { escaped } from "../svg";
import type { Stretch } from "./stretch";

/**
 * The end of warm-up on a time axis that trials share. Trials differ, so it is a stretch with one
 * mark for each trial.
 */
export interface Warm {
  /** the first trial's warm-up and the last one's, in seconds */
  ended: Stretch;
  /** the steady state of each trial; a trial that never became steady has none */
  steady: { t: number; colour: string }[];
}

const TICK = 14; // height of a mark in pixels
const LIGHT = 0.5; // opacity of the shade while only some trials were warming up

/** Combines the ends of warm-up and the steady states of trials; null without warm-up. */
export function warmOf(
  trials: readonly { ended: number; steady: number | null; colour: string }[],
): Warm | null {
  const ends = trials.map((t) => t.ended).filter(Number.isFinite);
  if (ends.length === 0) return null;
  return {
    ended: [ends.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b))],
    steady: trials.flatMap(({ steady, colour }) =>
      steady !== null && Number.isFinite(steady) ? [{ t: steady, colour }] : [],
    ),
  };
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The shades from left to right within a box; `scale` gives its pixels. */
function shades(
  { ended }: Warm,
  { left, width }: Box,
  px: (t: number) => number,
): { from: number; to: number; share: number }[] {
  const within = (t: number) => Math.min(left + width, Math.max(left, px(t)));
  const [first, last] = [within(ended[0]), within(ended[1])];
  return [
    { from: left, to: first, share: 1 },
    { from: first, to: last, share: LIGHT },
  ].filter(({ from, to }) => to > from);
}

const marks = ({ steady }: Warm, { left, width }: Box, px: (t: number) => number) =>
  steady
    .map(({ t, colour }) => ({ x: px(t), colour }))
    .filter(({ x }) => x >= left && x <= left + width);

/** Draws the shades below the grid and the lines of a plot. */
export function shade(plot: uPlot, warm: Warm, ink: (colour: string) => string) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = ink("var(--band)");
  for (const { from, to, share } of shades(warm, bbox, (t) => plot.valToPos(t, "x", true))) {
    ctx.globalAlpha = share;
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.restore();
}

/** Draws the marks above the lines. */
export function mark(plot: uPlot, warm: Warm, ink: (colour: string) => string) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const { x, colour } of marks(warm, bbox, (t) => plot.valToPos(t, "x", true))) {
    ctx.strokeStyle = ink(colour);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + TICK * devicePixelRatio);
    ctx.stroke();
  }
  ctx.restore();
}

/** Shades and marks as elements of an SVG: those below the lines, and those above. */
export function drawnWarm(
  warm: Warm,
  box: Box,
  px: (t: number) => number,
  ink: (colour: string) => string,
): [beneath: string, above: string] {
  const beneath = shades(warm, box, px).map(
    ({ from, to, share }) =>
      `<rect x="${from}" y="${box.top}" width="${to - from}" height="${box.height}" fill="${escaped(ink("var(--band)"))}" opacity="${share}"/>`,
  );
  const above = marks(warm, box, px).map(
    ({ x, colour }) =>
      `<path d="M${x},${box.top}v${TICK}" stroke="${escaped(ink(colour))}" stroke-width="1.5"/>`,
  );
  return [beneath.join(""), above.join("")];
}
