import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { tick, withUnit } from "../format";
import { drawings } from "../svg";
import { plotted } from "./plotted";
import { nearer, type Stretch, stretchedBy } from "./stretch";
import { mark, shade, type Warm } from "./warm";

/** One trial's course. */
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
 * uPlot wants one time axis for all lines, and trials tick at their own instants: this puts every
 * sample on a common axis of 10 ms steps, the rest null. Nothing is averaged.
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

/** A colour of the style sheet as the canvas needs it; asked for at every stroke, so remembered. */
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
  /** the time that all have something of, and the part that is shown; null is all of it */
  span: Stretch;
  stretch: Stretch | null;
  onStretch: (stretch: Stretch | null) => void;
  warm: Warm | null;
  /** changes when the colours do */
  theme: string;
}

/** The next place that has a value, if there is one in that direction. */
export function next(
  values: ArrayLike<number | null | undefined>,
  from: number,
  step: number,
): number {
  for (let i = from + step; i >= 0 && i < values.length; i += step)
    if (values[i] !== null && values[i] !== undefined) return i;
  return from;
}

const told = (line: Line, t: number, value: number, unit: string): string =>
  `${line.label}, ${t.toFixed(1)} s: ${withUnit(value, unit)}`;

/**
 * Puts the crosshair there, and the emphasis on a trial, in every chart of the group: what the
 * types leave out is the last argument, which says so.
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

/**
 * Many trials over time, thinly; the one under the pointer stands out in every chart of the group.
 */
export function Series({
  name,
  unit,
  lines,
  log = false,
  group,
  span,
  stretch,
  onStretch,
  warm,
  theme,
}: SeriesProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const inks = useRef(new Map<string, string>());
  const [readout, setReadout] = useState("");
  /** the trial and the sample that the keys have come to */
  const place = useRef<[line: number, sample: number]>([0, -1]);

  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const u = plot.current;
    if (!u || lines.length === 0) return;
    const by = stretchedBy(e);
    if (by !== undefined) {
      e.preventDefault();
      const [from, to] = stretch ?? span;
      const { left = -1 } = u.cursor;
      return onStretch(
        by === null
          ? null
          : nearer([from, to], span, left >= 0 ? u.posToVal(left, "x") : (from + to) / 2, by),
      );
    }
    let [line, sample] = place.current;
    line = Math.min(line, lines.length - 1);
    const column = (i: number) => u.data[i + 1] ?? [];
    if (e.key === "ArrowRight") sample = next(column(line), sample, 1);
    else if (e.key === "ArrowLeft")
      sample = next(column(line), sample < 0 ? column(line).length : sample, -1);
    else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      line = (line + (e.key === "ArrowUp" ? lines.length - 1 : 1)) % lines.length;
      sample = next(column(line), Math.max(0, sample) - 1, 1);
    } else if (e.key === "Escape") return go(u, { left: -10, top: -10 }, null);
    else return;
    e.preventDefault();
    place.current = [line, sample];
    const [t, value] = [u.data[0][sample], column(line)[sample]];
    if (t === undefined || value === null || value === undefined) return;
    go(u, { left: u.valToPos(t, "x"), top: u.valToPos(value, "y") }, line + 1);
    setReadout(told(lines[line]!, t, value, unit));
  };

  useLayoutEffect(() => {
    const host = box.current!;
    const data = align(
      log
        ? lines.map((l) => ({
            ...l,
            values: l.values.map((v) => (v !== null && v > 0 ? v : null)),
          }))
        : lines,
    );
    const colours = (colour: string) => resolve(colour, host, inks.current);
    const ink = (colour: string) => () => colours(colour);
    let focused: number | null = null;
    const say = (u: uPlot) => {
      const at = focused === null ? null : u.cursor.idxs?.[focused];
      const line = focused === null ? undefined : lines[focused - 1];
      const value = at == null || focused === null ? null : (data[focused]?.[at] ?? null);
      setReadout(line && at != null && value !== null ? told(line, data[0][at]!, value, unit) : "");
    };
    const axis: uPlot.Axis = {
      stroke: ink("var(--muted)"),
      font: "12px system-ui, sans-serif",
      grid: { stroke: ink("var(--grid)"), width: 1 },
      ticks: { show: false },
    };
    const made = new uPlot(
      {
        width: Math.max(120, host.clientWidth),
        height: HEIGHT,
        padding: [8, 14, 0, 0],
        legend: { show: false },
        focus: { alpha: 0.12 },
        cursor: {
          y: false,
          points: { one: true, size: 6 },
          focus: { prox: 24 },
          hover: { skip: [null, undefined] },
          sync: { key: group, setSeries: true },
          // what is shown of the time is not the chart's own, so it only says what was drawn up
          drag: { setScale: false },
          bind: {
            dblclick: () => () => {
              onStretch(null);
              return null;
            },
          },
        },
        scales: {
          x: { time: false },
          y: log
            ? { distr: 3, range: (_, min, max) => (min > 0 ? [min / 1.2, max * 1.2] : [1, 10]) }
            : { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] },
        },
        axes: [
          {
            ...axis,
            space: 60,
            size: 26,
            gap: 4,
            values: (_, ticks) => ticks.map((t) => `${t} s`),
          },
          {
            ...axis,
            space: 34,
            size: 56,
            gap: 6,
            values: (_, ticks) => ticks.map((v) => (v === null ? "" : tick(v))),
          },
        ],
        series: [
          {},
          ...lines.map((l) => ({
            label: l.label,
            stroke: ink(l.colour),
            width: lines.length > 12 ? 0.8 : 1.3,
            dash: l.dashed ? [5, 4] : undefined,
            spanGaps: true,
            points: { show: l.values.length < 2 },
          })),
        ],
        hooks: {
          setSeries: [
            (u, index) => {
              focused = index;
              say(u);
            },
          ],
          setCursor: [say],
          setSelect: [
            (u) => {
              const { left, width } = u.select;
              if (width < LEAST_DRAG) return;
              onStretch([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          drawClear: [(u) => warm && shade(u, warm, colours)],
          draw: [(u) => warm && mark(u, warm, colours)],
        },
      },
      data,
      host,
    );
    plot.current = made;
    place.current = [0, -1];
    drawings.set(made.ctx.canvas, () => plotted(made, lines, log, warm, colours));
    const watch = new ResizeObserver(() => {
      const width = host.clientWidth;
      if (width >= 120 && width !== made.width) made.setSize({ width, height: HEIGHT });
    });
    watch.observe(host);
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
    <figure class="series">
      <figcaption>
        <b>{unit ? `${name}, ${unit}` : name}</b> <span class="readout">{readout}</span>
      </figcaption>
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
    </figure>
  );
}
