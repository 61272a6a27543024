/** Readings of many trials over time, drawn by uPlot on a canvas. Start with `Series`. */
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { tick, withUnit } from "../format";
import { drawings } from "../svg";
import { plotted } from "./plotted";
import { nearer, type Stretch, stretchedBy } from "./stretch";
import { mark, shade, type Warm } from "./warm";

/** The line of one trial. */
export interface Line {
  label: string;
  colour: string;
  /** an excluded trial is dashed */
  dashed: boolean;
  t_s: number[];
  values: (number | null)[];
}

const HEIGHT = 190;

/**
 * Puts the samples of all lines on a common axis of 10 ms steps, as uPlot has one time axis for all
 * lines. Steps without a sample are null; nothing is averaged.
 */
export function align(lines: readonly Pick<Line, "t_s" | "values">[]): uPlot.AlignedData {
  const step = (t: number) => Math.round(t * 100);
  const steps = [...new Set(lines.flatMap((l) => l.t_s.map(step)))].sort((a, b) => a - b);
  const place = new Map(steps.map((s, i) => [s, i]));
  const columns = lines.map((l) => {
    const column = new Array<number | null>(steps.length).fill(null);
    l.t_s.forEach((t, i) => {
      column[place.get(step(t))!] = l.values[i] ?? null;
    });
    return column;
  });
  return [steps.map((s) => s / 100), ...columns];
}

/** A colour of the style sheet in the form that a canvas needs; cached, as every stroke asks. */
function resolve(colour: string, at: HTMLElement, known: Map<string, string>): string {
  let resolved = known.get(colour);
  if (resolved === undefined) {
    const probe = at.appendChild(document.createElement("i"));
    probe.style.color = colour;
    resolved = getComputedStyle(probe).color;
    probe.remove();
    known.set(colour, resolved);
  }
  return resolved;
}

export interface SeriesProps {
  name: string;
  unit: string;
  lines: Line[];
  log?: boolean;
  /** charts of one group share the crosshair and the emphasised trial */
  group: string;
  /** the time axis of all charts, and the part that is shown; null is all of it */
  span: Stretch;
  stretch: Stretch | null;
  onStretch: (stretch: Stretch | null) => void;
  warm: Warm | null;
  /** the colour theme, which changes the colours of lines */
  theme: string;
}

/** The next place with a value in a direction; `from` if there is none. */
export function next(
  values: ArrayLike<number | null | undefined>,
  from: number,
  step: number,
): number {
  for (let i = from + step; i >= 0 && i < values.length; i += step)
    if (values[i] !== null && values[i] !== undefined) return i;
  return from;
}

const valueText = (line: Line, t: number, value: number, unit: string): string =>
  `${line.label}, ${t.toFixed(1)} s: ${withUnit(value, unit)}`;

/**
 * Moves the crosshair and highlights a trial in every chart of the group. The types of uPlot lack
 * the last argument, which extends it to the group.
 */
function go(plot: uPlot, to: { left: number; top: number }, series: number | null) {
  const all = plot as unknown as {
    setCursor: (to: { left: number; top: number }, fire: boolean, everywhere: boolean) => void;
    setSeries: (
      series: number | null,
      how: { focus: boolean },
      fire: boolean,
      everywhere: boolean,
    ) => void;
  };
  all.setCursor(to, true, true);
  all.setSeries(series, { focus: true }, true, true);
}

const LEAST_DRAG = 5; // pixels

type Ink = (colour: string) => () => string;

/** The axes of time and of values. */
function axes(ink: Ink): uPlot.Axis[] {
  const axis: uPlot.Axis = {
    stroke: ink("var(--muted)"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: ink("var(--grid)"), width: 1 },
    ticks: { show: false },
  };
  return [
    { ...axis, space: 60, size: 26, gap: 4, values: (_, ticks) => ticks.map((t) => `${t} s`) },
    {
      ...axis,
      space: 34,
      size: 56,
      gap: 6,
      values: (_, ticks) => ticks.map((v) => (v === null ? "" : tick(v))),
    },
  ];
}

/** The range of values: from zero, or around them on a log scale. */
const valueAxis = (log: boolean): uPlot.Scale =>
  log
    ? { distr: 3, range: (_, min, max) => (min > 0 ? [min / 1.2, max * 1.2] : [1, 10]) }
    : { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] };

/** Many thin lines; dashed if no verdict uses the trial. */
const seriesOf = (lines: Line[], ink: Ink): uPlot.Series[] => [
  {},
  ...lines.map((l) => ({
    label: l.label,
    stroke: ink(l.colour),
    width: lines.length > 12 ? 0.8 : 1.3,
    dash: l.dashed ? [5, 4] : undefined,
    spanGaps: true,
    points: { show: l.values.length < 2 },
  })),
];

/** The crosshair, which all charts of a group share, and the drag that zooms. */
const cursor = (group: string, onStretch: SeriesProps["onStretch"]): uPlot.Cursor => ({
  y: false,
  points: { one: true, size: 6 },
  focus: { prox: 24 },
  hover: { skip: [null, undefined] },
  sync: { key: group, setSeries: true },
  // the charts share their part of the time axis, so this one only reports a drag
  drag: { setScale: false },
  bind: {
    dblclick: () => () => {
      onStretch(null);
      return null;
    },
  },
});

/** Reports the stretch that was dragged. */
function reportDrag(u: uPlot, onStretch: SeriesProps["onStretch"]) {
  const { left, width } = u.select;
  if (width < LEAST_DRAG) return;
  onStretch([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

type Chosen = [line: number, sample: number];

/** The trial and the sample to which an arrow key leads; null for any other key. */
function chosenBy(key: string, u: uPlot, [line, sample]: Chosen, lines: number): Chosen | null {
  const at = Math.min(line, lines - 1);
  const column = (i: number) => u.data[i + 1] ?? [];
  switch (key) {
    case "ArrowRight":
      return [at, next(column(at), sample, 1)];
    case "ArrowLeft":
      return [at, next(column(at), sample < 0 ? column(at).length : sample, -1)];
    case "ArrowUp":
    case "ArrowDown": {
      const to = (at + (key === "ArrowUp" ? lines - 1 : 1)) % lines;
      return [to, next(column(to), Math.max(0, sample) - 1, 1)];
    }
    default:
      return null;
  }
}

/** Draws a plot into its host, and returns it. */
function drawPlot(
  host: HTMLElement,
  { lines, log = false, group, onStretch, warm, unit }: SeriesProps,
  inks: Map<string, string>,
  setReadout: (text: string) => void,
): uPlot {
  const positive = (v: number | null) => (v !== null && v > 0 ? v : null);
  const data = align(log ? lines.map((l) => ({ ...l, values: l.values.map(positive) })) : lines);
  const colours = (colour: string) => resolve(colour, host, inks);
  const ink = (colour: string) => () => colours(colour);
  let focused: number | null = null;
  const say = (u: uPlot) => {
    const at = focused === null ? null : u.cursor.idxs?.[focused];
    const line = focused === null ? undefined : lines[focused - 1];
    const value = at == null || focused === null ? null : (data[focused]?.[at] ?? null);
    setReadout(
      line && at != null && value !== null ? valueText(line, data[0][at]!, value, unit) : "",
    );
  };
  const plot = new uPlot(
    {
      width: Math.max(120, host.clientWidth),
      height: HEIGHT,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      focus: { alpha: 0.12 },
      cursor: cursor(group, onStretch),
      scales: { x: { time: false }, y: valueAxis(log) },
      axes: axes(ink),
      series: seriesOf(lines, ink),
      hooks: {
        setSeries: [
          (u, index) => {
            focused = index;
            say(u);
          },
        ],
        setCursor: [say],
        setSelect: [(u) => reportDrag(u, onStretch)],
        drawClear: [(u) => warm && shade(u, warm, colours)],
        draw: [(u) => warm && mark(u, warm, colours)],
      },
    },
    data,
    host,
  );
  drawings.set(plot.ctx.canvas, () => plotted(plot, lines, log, warm, colours));
  return plot;
}

/** Resizes a plot with its host. */
function watchWidth(host: HTMLElement, plot: uPlot): ResizeObserver {
  const watch = new ResizeObserver(() => {
    const width = host.clientWidth;
    if (width >= 120 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
  });
  watch.observe(host);
  return watch;
}

/** Many trials over time; the one at the pointer is highlighted in every chart of the group. */
export function Series(props: SeriesProps) {
  const { name, unit, lines, log = false, group, span, stretch, onStretch, warm, theme } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const inks = useRef(new Map<string, string>());
  const [readout, setReadout] = useState("");
  /** the trial and the sample chosen by keys */
  const place = useRef<Chosen>([0, -1]);

  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const u = plot.current;
    if (!u || lines.length === 0) return;
    const by = stretchedBy(e);
    if (by !== undefined) {
      e.preventDefault();
      return onStretch(by === null ? null : zoomed(u, stretch ?? span, span, by));
    }
    if (e.key === "Escape") return go(u, { left: -10, top: -10 }, null);
    const chosen = chosenBy(e.key, u, place.current, lines.length);
    if (!chosen) return;
    e.preventDefault();
    place.current = chosen;
    const [line, sample] = chosen;
    const [t, value] = [u.data[0][sample], (u.data[line + 1] ?? [])[sample]];
    if (t === undefined || value === null || value === undefined) return;
    go(u, { left: u.valToPos(t, "x"), top: u.valToPos(value, "y") }, line + 1);
    setReadout(valueText(lines[line]!, t, value, unit));
  };

  useLayoutEffect(() => {
    const host = box.current!;
    const made = drawPlot(host, props, inks.current, setReadout);
    plot.current = made;
    place.current = [0, -1];
    const watch = watchWidth(host, made);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [lines, log, unit, group, warm, onStretch]);

  useLayoutEffect(() => {
    const [min, max] = stretch ?? span;
    if (min < max) plot.current?.setScale("x", { min, max });
  }, [stretch, span, lines, log, unit, group, warm, onStretch]);

  useLayoutEffect(() => {
    inks.current.clear();
    plot.current?.redraw(false);
  }, [theme]);

  return (
    <SeriesFigure title={unit ? `${name}, ${unit}` : name} readout={readout}>
      <div
        ref={box}
        tabIndex={0}
        role="slider"
        aria-label={`${name} over time, ${lines.length} trials`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, lines.length - 1)}
        aria-valuenow={place.current[0]}
        aria-valuetext={readout || "no trial chosen"}
        onKeyDown={key}
      />
    </SeriesFigure>
  );
}

/** The part of the time axis after zooming around the crosshair, or around the middle. */
function zoomed(u: uPlot, [from, to]: Stretch, span: Stretch, by: number): Stretch | null {
  const { left = -1 } = u.cursor;
  return nearer([from, to], span, left >= 0 ? u.posToVal(left, "x") : (from + to) / 2, by);
}

/** A chart below its title and the chosen value. */
function SeriesFigure({
  title,
  readout,
  children,
}: {
  title: string;
  readout: string;
  children: ComponentChildren;
}) {
  return (
    <figure class="series">
      <figcaption>
        <b>{title}</b> <span class="readout">{readout}</span>
      </figcaption>
      {children}
    </figure>
  );
}
