/** Latency by quantile as lines. Start with `Curves`. */
import { line } from "d3-shape";
import { confidence, withUnit } from "../format";
import { Mark, useLook } from "../identity";
import type { Curve } from "../page";
import { useTicks } from "../ticks";
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
import {
  ending,
  latencyScale,
  quantileName,
  quantileScale,
  quantileTicks,
  seen,
  spread,
} from "./scales";
import { DrawnUp, useStretch, type View, Zoom } from "./stretch";

const HEIGHT = 340;
const MOST_LABELS = 12;

const nines = (q: number) => -Math.log10(1 - q);
/** Quantiles closer than this look the same. */
const NEAR = 0.02;

interface Props {
  curves: Curve[];
  /** the quantile that the axis begins with */
  from: number;
  strong: string | null;
  name: string;
  axis: string;
}

/** Everything that the chart draws: lines within the visible part, axes, and the chosen place. */
function useCurves({ curves, from }: Props) {
  const drawn = curves
    .map((c) => ({ ...c, points: c.points.filter(([q, ms]) => q >= from && q < 1 && ms > 0) }))
    .filter((c) => c.points.length > 0);
  const axisTicks = useTicks();
  const whole = quantileScale(
    drawn.reduce((top, c) => Math.max(top, c.points.at(-1)![0]), 0),
    axisTicks,
    from,
  );
  const view = useStretch(whole, `from ${from}`);
  const { x } = view;
  const stops = places(drawn);
  const probe = useProbe(view, stops);
  const place = probe.at === null ? null : stops[probe.at]!;
  const lines = drawn
    .map((c) => ({ ...c, points: seen(c.points, ([q]) => x(q)) }))
    .filter((c) => c.points.length > 0);
  const { y, ticks: levels } = latencyScale(
    lines.flatMap((c) => c.points.map(([, ms]) => ms)),
    HEIGHT,
  );
  const ends = lines.map((c) => ending(c.points.map(([q, ms]) => [x(q), y(ms)] as const)));
  return {
    view,
    ticks: view.zoomed ? quantileTicks(...view.ends, axisTicks) : whole.ticks,
    lines,
    y,
    levels,
    ends,
    labels: labelsOf(ends),
    props: probe.props,
    place,
    values: place === null ? null : valuesAt(drawn, place),
  };
}

/** The heights of the names at the ends of lines; none if there are too many lines. */
const labelsOf = (ends: readonly (readonly [number, number])[]): number[] =>
  ends.length > MOST_LABELS
    ? []
    : spread(
        ends.map(([, height]) => height),
        17,
        HEIGHT,
      );

/** Latency by quantile, with one line for each contender, named at its end. */
export function Curves(props: Props) {
  const { strong, name } = props;
  const {
    view,
    ticks,
    lines,
    y,
    levels,
    ends,
    labels,
    props: keys,
    place,
    values,
  } = useCurves(props);
  const { x } = view;
  const path = line<[number, number]>()
    .x(([q]) => (x(q) / 100) * WIDTH)
    .y(([, ms]) => y(ms));
  return (
    <>
      <div
        class={labels.length ? "plot labelled" : "plot"}
        aria-label={name}
        aria-valuetext={spoken(values)}
        {...keys}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          <Rows ticks={levels} y={y} />
          <text class="axis" x="-44" y="-12">
            {props.axis}
          </text>
          <Columns
            ticks={ticks}
            x={x}
            height={HEIGHT}
            text={quantileName}
            name="of requests took at most this long"
          />
          <LineBox height={HEIGHT} zoomed={view.zoomed}>
            {lines.map((c) => (
              <ContenderLine
                key={c.contender}
                name={c.contender}
                d={path(c.points) ?? ""}
                faint={faintness(strong, c.contender)}
              />
            ))}
          </LineBox>
          {place !== null && <PlaceLine x={x(place)} height={HEIGHT} />}
          {lines.map((c, i) => (
            <g key={c.contender} class={faintness(strong, c.contender)}>
              <Markers of={c} ticks={ticks} view={view} y={y} />
              {labels.length > 0 && (
                <EndLabel name={c.contender} end={ends[i]!} label={labels[i]!} />
              )}
            </g>
          ))}
          <DrawnUp view={view} height={HEIGHT} />
        </svg>
      </div>
      <Readout values={values} />
      <Zoom
        of={name}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(confidence).join(" to ")}
      />
    </>
  );
}

/** Every recorded quantile once. */
function places(curves: Curve[]): number[] {
  const all = curves.flatMap((c) => c.points.map(([q]) => q)).sort((a, b) => a - b);
  const stops: number[] = [];
  for (const q of all)
    if (stops.length === 0 || nines(q) - nines(stops.at(-1)!) > NEAR) stops.push(q);
  return stops;
}

/** The recorded value of each curve at a place, slowest first. */
function valuesAt(curves: Curve[], q: number): Values {
  const at = (c: Curve) => c.points.find(([p]) => Math.abs(nines(p) - nines(q)) <= NEAR)?.[1];
  const found = curves.flatMap((c) => {
    const ms = at(c);
    return ms === undefined ? [] : [{ name: c.contender, ms }];
  });
  return {
    at: quantileName(q),
    of: found
      .sort((a, b) => b.ms - a.ms)
      .map(({ name, ms }) => ({ name, text: withUnit(ms, "ms") })),
  };
}

/** The recorded points nearest to the ticks, whose marks distinguish lines without colour. */
function markers(points: Curve["points"], ticks: number[]): Curve["points"] {
  if (points.length === 0) return [];
  const near = ticks.flatMap((tick) => {
    const best = points.reduce((a, b) =>
      Math.abs(nines(b[0]) - nines(tick)) < Math.abs(nines(a[0]) - nines(tick)) ? b : a,
    );
    return Math.abs(nines(best[0]) - nines(tick)) < 0.1 ? [best] : [];
  });
  return [...new Set(near)];
}

/** The marks of a line. */
function Markers({
  of,
  ticks,
  view,
  y,
}: {
  of: Curve;
  ticks: number[];
  view: View;
  y: (ms: number) => number;
}) {
  const look = useLook()(of.contender);
  const visible = of.points.filter(([q]) => view.shows(q));
  return (
    <>
      {markers(visible, ticks).map(([q, ms]) => (
        <Mark key={q} look={look} x={pct(view.x(q))} y={y(ms)} size={0.8} />
      ))}
    </>
  );
}
