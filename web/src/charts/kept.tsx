/** How often each level was kept in the search for a capacity. */
import { scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { count, short, sig, tick } from "../format";
import { Mark, useLook } from "../identity";
import type { Capacity, CapacityLine } from "../page";
import { Columns, ContenderLine, faintness, LineBox, PlaceLine, pct, Rows, WIDTH } from "./plane";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { drawable, logTicks, seen, shownOf } from "./scales";
import { type Axis, DrawnUp, useStretch, type View, Zoom } from "./stretch";

const HEIGHT = 240;
const ROW = 16; // of a contender's probes, above and below the curves
const PERCENT = [0, 25, 50, 75, 100];
const REACH = 2.5; // the largest factor between a drawn level and the capacities

/** A log axis around all capacities; levels far from them are drawn at its ends. */
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

/** Lines and probes that can be drawn. */
const drawableLines = (of: Capacity): CapacityLine[] =>
  of.lines
    .map((l) => ({
      ...l,
      probes: l.probes.filter(([, level]) => drawable(level)),
      curve: l.curve.filter(([level, share]) => drawable(level) && share >= 0 && share <= 1),
    }))
    .filter((l) => l.probes.length > 0);

/** The probes and the capacity of one contender, with its interval. */
function Probes({
  of,
  view,
  capacityAt,
  probeAt,
}: {
  of: CapacityLine;
  view: View;
  capacityAt: number;
  /** the height of a probe, which depends on whether it kept the service level */
  probeAt: (kept: boolean) => number;
}) {
  const look = useLook()(of.contender);
  const { x } = view;
  const reach = drawable(of.low) && drawable(of.high) ? shownOf(x(of.low), x(of.high)) : null;
  return (
    <>
      {of.probes.map(
        ([, level, kept], i) =>
          view.shows(level) && (
            <Mark key={i} look={look} x={pct(x(level))} y={probeAt(kept)} size={0.6} />
          ),
      )}
      {reach && (
        <line
          class="reach"
          x1={pct(reach[0])}
          x2={pct(reach[1])}
          y1={capacityAt}
          y2={capacityAt}
          stroke={look.colour}
        />
      )}
      {drawable(of.value) && view.shows(of.value) && (
        <Mark look={look} x={pct(x(of.value))} y={capacityAt} size={1} />
      )}
    </>
  );
}

/**
 * How often each level was kept, with one line for each contender. Probes are drawn above the lines
 * if they kept the service level, below if not.
 */
export function Kept({ of, strong }: { of: Capacity; strong: string | null }) {
  const lines = drawableLines(of);
  const axis = levelAxis(lines);
  const view = useStretch(axis, of.cell);
  const { x } = view;
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
  const bottom = HEIGHT + 2 * rows;
  const name = `Share of probes that keep ${of.service_level} over ${of.unit}: ${of.cell}`;
  return (
    <>
      <div class="plot" aria-label={name} aria-valuetext={spoken(there)} {...probe.props}>
        <svg width="100%" height={bottom} overflow="visible" role="img" aria-label={name}>
          <Rows ticks={PERCENT} y={(percent) => y(percent / 100)} />
          <text class="axis" x="-44" y="-12">
            {short(`% of probes that keep ${of.service_level}`, 60)}
          </text>
          <Columns
            ticks={view.zoomed ? logTicks(...view.ends) : axis.ticks}
            x={x}
            height={bottom}
            name={of.unit}
          />
          <LineBox height={bottom} zoomed={view.zoomed}>
            {lines.map((l) => (
              <ContenderLine
                key={l.contender}
                name={l.contender}
                d={path(seen(l.curve, ([level]) => x(level))) ?? ""}
                faint={faintness(strong, l.contender)}
              />
            ))}
          </LineBox>
          {spot !== null && <PlaceLine x={x(spot)} height={bottom} />}
          {lines.map((l, row) => (
            <g key={l.contender} class={faintness(strong, l.contender)}>
              <Probes
                of={l}
                view={view}
                capacityAt={y(0.5)}
                probeAt={(kept) => (row + 0.5) * ROW + (kept ? 0 : rows + HEIGHT)}
              />
            </g>
          ))}
          <DrawnUp view={view} height={bottom} />
        </svg>
      </div>
      <Readout values={there} />
      <Zoom
        of={name}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={`${view.ends.map(sig).join(" to ")} ${of.unit}`}
      />
    </>
  );
}

/** The contenders that were probed at a level, and how often they kept it. */
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
