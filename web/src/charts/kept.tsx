import { scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { count, short, sig, tick } from "../format";
import { Mark, useLook } from "../identity";
import type { Capacity, CapacityLine } from "../page";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { logTicks, seen, shownOf } from "./scales";
import { type Axis, DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 240;
const ROW = 16; // of a contender's probes, above and below the curves
const WIDTH = 1000; // of the stretched box that holds the lines
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const REACH = 2.5; // the search's far levels are drawn no further from the capacities than this

/** What a logarithmic axis can hold. */
const drawable = (v: number | null): v is number => v !== null && Number.isFinite(v) && v > 0;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** A log axis around all capacities; levels of the search that lie far off are held at its ends. */
function levelAxis(lines: CapacityLine[]): Axis & { ticks: number[] } {
  const edges = lines.flatMap((l) => [l.value, l.low, l.high]).filter(drawable);
  const all = lines.flatMap((l) => l.probes.map(([, level]) => level)).filter(drawable);
  const [low, high] = [
    all.reduce((a, b) => Math.min(a, b), Infinity),
    all.reduce((a, b) => Math.max(a, b), 0),
  ];
  if (!(low < high)) return { x: () => 50, at: () => high, ticks: high > 0 ? [high] : [] };
  const within: [number, number] = edges.length
    ? [
        Math.max(low, edges.reduce((a, b) => Math.min(a, b)) / REACH),
        Math.min(high, edges.reduce((a, b) => Math.max(a, b)) * REACH),
      ]
    : [low, high];
  const domain: [number, number] = within[0] < within[1] ? within : [low, high];
  const x = scaleLog().domain(domain).range([0, 100]).clamp(true);
  return { x, at: (place) => x.invert(place), ticks: logTicks(...domain) };
}

/**
 * How often each level was kept, one line a contender; its probes above where they were kept, below
 * where not.
 */
export function Kept({ of, strong }: { of: Capacity; strong: string | null }) {
  const look = useLook();
  const lines = of.lines
    .map((l) => ({
      ...l,
      probes: l.probes.filter(([, level]) => drawable(level)),
      curve: l.curve.filter(([level, share]) => drawable(level) && share >= 0 && share <= 1),
    }))
    .filter((l) => l.probes.length > 0);
  const axis = levelAxis(lines);
  const view = useStretch(axis, of.cell);
  const { x } = view;
  const ticks = view.zoomed ? logTicks(...view.ends) : axis.ticks;
  const levels = [...new Set(lines.flatMap((l) => l.probes.map(([, level]) => level)))].sort(
    (a, b) => a - b,
  );
  const probe = useProbe(view, levels);
  const spot = probe.at === null ? null : levels[probe.at]!;
  const there = spot === null ? null : probed(lines, spot, of.unit);
  const rows = lines.length * ROW;
  const y = (share: number) => rows + (1 - share) * HEIGHT;
  const path = line<[number, number]>()
    .x(([level]) => (x(level) / 100) * WIDTH)
    .y(([, share]) => y(share));
  const faint = (l: CapacityLine) => (strong !== null && strong !== l.contender ? "faint" : "");
  const bottom = HEIGHT + 2 * rows;
  const said = `Share of probes that keep ${of.service_level} over ${of.unit}: ${of.cell}`;

  return (
    <>
      <div class="plot" aria-label={said} aria-valuetext={spoken(there)} {...probe.props}>
        <svg width="100%" height={bottom} overflow="visible" role="img" aria-label={said}>
          {SHARES.map((share) => (
            <g key={share}>
              <line class="grid" x1="0" x2="100%" y1={y(share)} y2={y(share)} />
              <text class="tick end" x="-8" y={y(share)} dy=".35em">
                {tick(share * 100)}
              </text>
            </g>
          ))}
          <text class="axis" x="-44" y="-12">
            {short(`% of probes that keep ${of.service_level}`, 60)}
          </text>
          {ticks.map((level) => (
            <g key={level}>
              <line class="grid" x1={pct(x(level))} x2={pct(x(level))} y1="0" y2={bottom} />
              <text class="tick middle" x={pct(x(level))} y={bottom + 18}>
                {tick(level)}
              </text>
            </g>
          ))}
          <text class="axis middle" x="50%" y={bottom + 38}>
            {of.unit}
          </text>
          <svg
            width="100%"
            height={bottom}
            viewBox={`0 0 ${WIDTH} ${bottom}`}
            preserveAspectRatio="none"
            overflow={view.zoomed ? "hidden" : "visible"}
          >
            {lines.map((l) => {
              const { colour, dash, baseline } = look(l.contender);
              return (
                <path
                  key={l.contender}
                  class={`curve ${faint(l)}`}
                  d={path(seen(l.curve, ([level]) => x(level))) ?? ""}
                  stroke={colour}
                  stroke-width={baseline ? 2.6 : 1.9}
                  stroke-dasharray={dash}
                />
              );
            })}
          </svg>
          {spot !== null && (
            <line class="probe" x1={pct(x(spot))} x2={pct(x(spot))} y1="0" y2={bottom} />
          )}
          {lines.map((l, row) => {
            const reach = drawable(l.low) && drawable(l.high) ? shownOf(x(l.low), x(l.high)) : null;
            return (
              <g key={l.contender} class={faint(l)}>
                {l.probes.map(
                  ([, level, kept], i) =>
                    view.shows(level) && (
                      <Mark
                        key={i}
                        look={look(l.contender)}
                        x={pct(x(level))}
                        y={kept ? (row + 0.5) * ROW : rows + HEIGHT + (row + 0.5) * ROW}
                        size={0.6}
                      />
                    ),
                )}
                {reach && (
                  <line
                    class="reach"
                    x1={pct(reach[0])}
                    x2={pct(reach[1])}
                    y1={y(0.5)}
                    y2={y(0.5)}
                    stroke={look(l.contender).colour}
                  />
                )}
                {drawable(l.value) && view.shows(l.value) && (
                  <Mark look={look(l.contender)} x={pct(x(l.value))} y={y(0.5)} size={1} />
                )}
              </g>
            );
          })}
          <DrawnUp view={view} height={bottom} />
        </svg>
      </div>
      <Readout values={there} />
      <Zoom
        of={said}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={`${view.ends.map(sig).join(" to ")} ${of.unit}`}
      />
    </>
  );
}

/** Who was asked for that level, and how often it was kept. */
function probed(lines: CapacityLine[], level: number, unit: string): Values {
  const of = lines.flatMap((l) => {
    const here = l.probes.filter(([, at]) => at === level);
    const kept = here.filter(([, , kept]) => kept).length;
    return here.length === 0
      ? []
      : [{ name: l.contender, text: `kept ${count(kept)} of ${count(here.length)}` }];
  });
  return { at: `${tick(level)} ${unit}`, of };
}
