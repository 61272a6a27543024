/** A metric over the levels of a swept parameter as lines. Start with `Levels`. */
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { interval, short, sig, tick } from "../format";
import { Mark, useLook } from "../identity";
import type { Sweep, SweepLine, SweepPoint } from "../page";
import {
  Columns,
  ContenderLine,
  EndLabel,
  faintness,
  LineBox,
  PlaceLine,
  pct,
  Rows,
  WIDTH,
} from "./plane";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { drawable, ending, latencyScale, seen, spread } from "./scales";
import { type Axis, DrawnUp, useStretch, type View, Zoom } from "./stretch";

const HEIGHT = 320;
const MOST_LABELS = 12;
const APART = 4; // per cent of the width between two ticks

/** Levels on a log axis. */
function levelAxis(levels: readonly number[]): Axis {
  const [low, high] = [levels[0] ?? 1, levels.at(-1) ?? 1];
  const x = scaleLog()
    .domain(low < high ? [low, high] : [low / 2, high * 2])
    .range([0, 100])
    .clamp(true);
  return { x, at: (place) => x.invert(place) };
}

/** Ticks at the levels, if there is room. */
function levelTicks(levels: readonly number[], x: (level: number) => number): number[] {
  const ticks: number[] = [];
  for (const level of levels)
    if (ticks.length === 0 || x(level) - x(ticks.at(-1)!) >= APART) ticks.push(level);
  return ticks;
}

/** Values on a log axis, or on a linear one from zero if some are zero. */
function valueScale(points: SweepPoint[]): { y: (value: number) => number; ticks: number[] } {
  const values = points
    .flatMap((p) => [p.value, p.low, p.high])
    .filter((v): v is number => v !== null && Number.isFinite(v));
  if (points.every((p) => p.value > 0)) return latencyScale(values, HEIGHT);
  const y = scaleLinear()
    .domain([0, values.reduce((a, b) => Math.max(a, b), 0) || 1])
    .range([HEIGHT, 0])
    .clamp(true);
  return { y, ticks: y.ticks(4) };
}

/** Everything that the chart draws: lines within the visible part, axes, and the chosen place. */
function useLevels(of: Sweep) {
  const lines = of.lines
    .map((l) => ({
      ...l,
      points: l.points.filter((p) => drawable(p.level) && Number.isFinite(p.value) && p.value >= 0),
    }))
    .filter((l) => l.points.length > 0);
  const levels = [...new Set(lines.flatMap((l) => l.points.map((p) => p.level)))].sort(
    (a, b) => a - b,
  );
  const view = useStretch(levelAxis(levels), `${of.of} ${of.parameter}`);
  const { x } = view;
  const probe = useProbe(view, levels);
  const place = probe.at === null ? null : levels[probe.at]!;
  const drawn = lines
    .map((l) => ({ ...l, points: seen(l.points, (p) => x(p.level)) }))
    .filter((l) => l.points.length > 0);
  const { y, ticks: values } = valueScale(drawn.flatMap((l) => l.points));
  const ends = drawn.map((l) => ending(l.points.map((p) => [x(p.level), y(p.value)] as const)));
  const heights = ends.map(([, height]) => height);
  return {
    count: lines.length,
    view,
    props: probe.props,
    place,
    chosen: place === null ? null : there(of, lines, place),
    ticks: levelTicks(levels.filter(view.shows), x),
    drawn,
    y,
    values,
    ends,
    labels: drawn.length <= MOST_LABELS ? spread(heights, 17, HEIGHT) : [],
  };
}

/** The points of a line that are visible, with their intervals. */
function Points({ of, view, y }: { of: SweepLine; view: View; y: (value: number) => number }) {
  const look = useLook()(of.contender);
  const finite = (v: number | null): v is number => v !== null && Number.isFinite(v);
  return (
    <>
      {of.points
        .filter((p) => view.shows(p.level))
        .map((p, k) => {
          const x = pct(view.x(p.level));
          return (
            <g key={k}>
              {finite(p.low) && finite(p.high) && (
                <line
                  class="reach"
                  x1={x}
                  x2={x}
                  y1={y(p.low)}
                  y2={y(p.high)}
                  stroke={look.colour}
                />
              )}
              <Mark look={look} x={x} y={y(p.value)} size={0.8} />
            </g>
          );
        })}
    </>
  );
}

/**
 * A metric over the levels of a parameter, with one line and its intervals for each contender. The
 * name is at the end of its line.
 */
export function Levels({ of, strong }: { of: Sweep; strong: string | null }) {
  const { count, view, props, place, chosen, ticks, drawn, y, values, ends, labels } =
    useLevels(of);
  if (count === 0) return <p class="empty">There is nothing to draw.</p>;
  const { x } = view;
  const path = line<SweepPoint>()
    .x((p) => (x(p.level) / 100) * WIDTH)
    .y((p) => y(p.value));
  const name = `${of.label} over ${of.parameter} in ${of.of}, ${count} contenders`;
  return (
    <>
      <div
        class={labels.length ? "plot labelled" : "plot"}
        aria-label={name}
        aria-valuetext={spoken(chosen)}
        {...props}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          <Rows ticks={values} y={y} />
          <text class="axis" x="-44" y="-12">
            {short(of.unit ? `${of.label}, ${of.unit}` : of.label, 40)}
          </text>
          <Columns ticks={ticks} x={x} height={HEIGHT} name={short(of.parameter, 40)} />
          {of.crossings
            .filter((c) => drawable(c.level) && view.shows(c.level))
            .map((c, i) => (
              <g key={i} class="pointer">
                <line x1={pct(x(c.level))} x2={pct(x(c.level))} y1="0" y2={HEIGHT} />
              </g>
            ))}
          <LineBox height={HEIGHT} zoomed={view.zoomed}>
            {drawn.map((l) => (
              <ContenderLine
                key={l.contender}
                name={l.contender}
                d={path(l.points) ?? ""}
                faint={faintness(strong, l.contender)}
              />
            ))}
          </LineBox>
          {place !== null && <PlaceLine x={x(place)} height={HEIGHT} />}
          {drawn.map((l, i) => (
            <g key={l.contender} class={faintness(strong, l.contender)}>
              <Points of={l} view={view} y={y} />
              {labels.length > 0 && (
                <EndLabel name={l.contender} end={ends[i]!} label={labels[i]!} />
              )}
            </g>
          ))}
          <DrawnUp view={view} height={HEIGHT} />
        </svg>
      </div>
      <Readout values={chosen} />
      <Zoom
        of={name}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(sig).join(" to ")}
      />
    </>
  );
}

/** The values of all lines at a level, highest first. */
function there(of: Sweep, lines: SweepLine[], level: number): Values {
  const found = lines.flatMap((l) =>
    l.points.filter((p) => p.level === level).map((p) => ({ name: l.contender, point: p })),
  );
  const text = (p: SweepPoint) => `${interval(p.value, p.low, p.high)} ${of.unit}`.trimEnd();
  return {
    at: `${tick(level)} ${of.parameter}`,
    of: found
      .sort((a, b) => b.point.value - a.point.value)
      .map(({ name, point }) => ({ name, text: text(point) })),
  };
}
