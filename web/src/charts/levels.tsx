import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { interval, short, sig, tick } from "../format";
import { Mark, useLook } from "../identity";
import type { Sweep, SweepLine, SweepPoint } from "../page";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { ending, latencyScale, seen, spread } from "./scales";
import { type Axis, DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 320;
const WIDTH = 1000; // of the stretched box that holds the lines
const MOST_LABELS = 12;
const APART = 4; // per cent of the width between two ticks
const pct = (x: number) => `${x.toFixed(3)}%`;

/** What a logarithmic axis can hold. */
const drawable = (v: number | null): v is number => v !== null && Number.isFinite(v) && v > 0;

/** Levels on a log axis. */
function levelAxis(levels: readonly number[]): Axis {
  const [low, high] = [levels[0] ?? 1, levels.at(-1) ?? 1];
  const x = scaleLog()
    .domain(low < high ? [low, high] : [low / 2, high * 2])
    .range([0, 100])
    .clamp(true);
  return { x, at: (place) => x.invert(place) };
}

/** Ticks at the levels themselves, as far as there is room. */
function levelTicks(levels: readonly number[], x: (level: number) => number): number[] {
  const ticks: number[] = [];
  for (const level of levels)
    if (ticks.length === 0 || x(level) - x(ticks.at(-1)!) >= APART) ticks.push(level);
  return ticks;
}

/**
 * Values on a log axis; on a linear one from zero where some are zero, as shares of failures are.
 */
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

/**
 * A metric over the levels of a parameter: one line a contender with its intervals, named at its
 * end.
 */
export function Levels({ of, strong }: { of: Sweep; strong: string | null }) {
  const look = useLook();
  const lines = of.lines
    .map((l) => ({
      ...l,
      points: l.points.filter((p) => drawable(p.level) && Number.isFinite(p.value) && p.value >= 0),
    }))
    .filter((l) => l.points.length > 0);
  const points = lines.flatMap((l) => l.points);
  const levels = [...new Set(points.map((p) => p.level))].sort((a, b) => a - b);
  const view = useStretch(levelAxis(levels), `${of.of} ${of.parameter}`);
  const { x } = view;
  const probe = useProbe(view, levels);
  if (lines.length === 0) return <p class="empty">There is nothing to draw.</p>;
  const ticks = levelTicks(levels.filter(view.shows), x);
  const spot = probe.at === null ? null : x(levels[probe.at]!);
  const said = probe.at === null ? null : there(of, lines, levels[probe.at]!);
  const drawn = lines
    .map((l) => ({ ...l, points: seen(l.points, (p) => x(p.level)) }))
    .filter((l) => l.points.length > 0);
  const { y, ticks: values } = valueScale(drawn.flatMap((l) => l.points));
  const path = line<SweepPoint>()
    .x((p) => (x(p.level) / 100) * WIDTH)
    .y((p) => y(p.value));
  const ends = drawn.map((l) => ending(l.points.map((p) => [x(p.level), y(p.value)] as const)));
  const labels =
    drawn.length <= MOST_LABELS
      ? spread(
          ends.map(([, height]) => height),
          17,
          HEIGHT,
        )
      : [];
  const faint = (l: SweepLine) => (strong !== null && strong !== l.contender ? "faint" : "");
  const reach = (p: SweepPoint) =>
    p.low === null || p.high === null || !Number.isFinite(p.low) || !Number.isFinite(p.high)
      ? null
      : [y(p.low), y(p.high)];
  const name = `${of.label} over ${of.parameter} in ${of.of}, ${lines.length} contenders`;
  return (
    <>
      <div
        class={labels.length ? "plot labelled" : "plot"}
        aria-label={name}
        aria-valuetext={spoken(said)}
        {...probe.props}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          {values.map((v) => (
            <g key={v}>
              <line class="grid" x1="0" x2="100%" y1={y(v)} y2={y(v)} />
              <text class="tick end" x="-8" y={y(v)} dy=".35em">
                {tick(v)}
              </text>
            </g>
          ))}
          <text class="axis" x="-44" y="-12">
            {short(of.unit ? `${of.label}, ${of.unit}` : of.label, 40)}
          </text>
          {ticks.map((level) => (
            <g key={level}>
              <line class="grid" x1={pct(x(level))} x2={pct(x(level))} y1="0" y2={HEIGHT} />
              <text class="tick middle" x={pct(x(level))} y={HEIGHT + 18}>
                {tick(level)}
              </text>
            </g>
          ))}
          <text class="axis middle" x="50%" y={HEIGHT + 38}>
            {short(of.parameter, 40)}
          </text>
          {of.crossings
            .filter((c) => drawable(c.level) && view.shows(c.level))
            .map((c, i) => (
              <g key={i} class="pointer">
                <line x1={pct(x(c.level))} x2={pct(x(c.level))} y1="0" y2={HEIGHT} />
              </g>
            ))}
          <svg
            width="100%"
            height={HEIGHT}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            overflow={view.zoomed ? "hidden" : "visible"}
          >
            {drawn.map((l) => {
              const { colour, dash, baseline } = look(l.contender);
              return (
                <path
                  key={l.contender}
                  class={`curve ${faint(l)}`}
                  d={path(l.points) ?? ""}
                  stroke={colour}
                  stroke-width={baseline ? 2.6 : 1.9}
                  stroke-dasharray={dash}
                />
              );
            })}
          </svg>
          {spot !== null && <line class="probe" x1={pct(spot)} x2={pct(spot)} y1="0" y2={HEIGHT} />}
          {drawn.map((l, i) => (
            <g key={l.contender} class={faint(l)}>
              {l.points
                .filter((p) => view.shows(p.level))
                .map((p, k) => {
                  const span = reach(p);
                  return (
                    <g key={k}>
                      {span && (
                        <line
                          class="reach"
                          x1={pct(x(p.level))}
                          x2={pct(x(p.level))}
                          y1={span[0]}
                          y2={span[1]}
                          stroke={look(l.contender).colour}
                        />
                      )}
                      <Mark
                        look={look(l.contender)}
                        x={pct(x(p.level))}
                        y={y(p.value)}
                        size={0.8}
                      />
                    </g>
                  );
                })}
              {labels.length > 0 && (
                <g class="direct">
                  <line
                    x1={pct(ends[i]![0])}
                    y1={ends[i]![1]}
                    x2="100%"
                    y2={ends[i]![1]}
                    stroke={look(l.contender).colour}
                  />
                  <svg x="100%" overflow="visible">
                    <line
                      x1="0"
                      y1={ends[i]![1]}
                      x2="10"
                      y2={labels[i]}
                      stroke={look(l.contender).colour}
                    />
                    <text x="14" y={labels[i]} dy=".35em">
                      {short(l.contender)}
                    </text>
                  </svg>
                </g>
              )}
            </g>
          ))}
          <DrawnUp view={view} height={HEIGHT} />
        </svg>
      </div>
      <Readout values={said} />
      <Zoom
        of={name}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(sig).join(" to ")}
      />
    </>
  );
}

/** What each line has at a level, most first. */
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
