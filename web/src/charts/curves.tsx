import { line } from "d3-shape";
import { confidence, short, tick, withUnit } from "../format";
import { Mark, useLook } from "../identity";
import type { Curve } from "../page";
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
import { DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 340;
const WIDTH = 1000; // of the stretched box that holds the lines
const MOST_LABELS = 12;
const pct = (x: number) => `${x.toFixed(3)}%`;

const nines = (q: number) => -Math.log10(1 - q);
/** Quantiles that are the same to the eye. */
const NEAR = 0.02;

interface Props {
  curves: Curve[];
  /** the quantile that the axis begins with */
  from: number;
  strong: string | null;
  name: string;
  axis: string;
}

/** Latency by quantile, one line a contender, named at its end. */
export function Curves({ curves, from, strong, name, axis }: Props) {
  const look = useLook();
  const drawn = curves
    .map((c) => ({ ...c, points: c.points.filter(([q, ms]) => q >= from && q < 1 && ms > 0) }))
    .filter((c) => c.points.length > 0);
  const whole = quantileScale(
    drawn.reduce((top, c) => Math.max(top, c.points.at(-1)![0]), 0),
    from,
  );
  const view = useStretch(whole, `from ${from}`);
  const { x } = view;
  const ticks = view.zoomed ? quantileTicks(...view.ends) : whole.ticks;
  const stops = places(drawn);
  const probe = useProbe(view, stops);
  const values = probe.at === null ? null : said(drawn, stops[probe.at]!);
  const lines = drawn
    .map((c) => ({ ...c, points: seen(c.points, ([q]) => x(q)) }))
    .filter((c) => c.points.length > 0);
  const { y, ticks: levels } = latencyScale(
    lines.flatMap((c) => c.points.map(([, ms]) => ms)),
    HEIGHT,
  );
  const path = line<[number, number]>()
    .x(([q]) => (x(q) / 100) * WIDTH)
    .y(([, ms]) => y(ms));
  const ends = lines.map((c) => ending(c.points.map(([q, ms]) => [x(q), y(ms)] as const)));
  const labels =
    lines.length <= MOST_LABELS
      ? spread(
          ends.map(([, height]) => height),
          17,
          HEIGHT,
        )
      : [];
  const faint = (c: Curve) => (strong !== null && strong !== c.contender ? "faint" : "");

  return (
    <>
      <div
        class={labels.length ? "plot labelled" : "plot"}
        aria-label={name}
        aria-valuetext={spoken(values)}
        {...probe.props}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          {levels.map((ms) => (
            <g key={ms}>
              <line class="grid" x1="0" x2="100%" y1={y(ms)} y2={y(ms)} />
              <text class="tick end" x="-8" y={y(ms)} dy=".35em">
                {tick(ms)}
              </text>
            </g>
          ))}
          <text class="axis" x="-44" y="-12">
            {axis}
          </text>
          {ticks.map((q) => (
            <g key={q}>
              <line class="grid" x1={pct(x(q))} x2={pct(x(q))} y1="0" y2={HEIGHT} />
              <text class="tick middle" x={pct(x(q))} y={HEIGHT + 18}>
                {quantileName(q)}
              </text>
            </g>
          ))}
          <text class="axis middle" x="50%" y={HEIGHT + 38}>
            of requests took at most this long
          </text>
          <svg
            width="100%"
            height={HEIGHT}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            overflow={view.zoomed ? "hidden" : "visible"}
          >
            {lines.map((c) => {
              const { colour, dash, baseline } = look(c.contender);
              return (
                <path
                  key={c.contender}
                  class={`curve ${faint(c)}`}
                  d={path(c.points) ?? ""}
                  stroke={colour}
                  stroke-width={baseline ? 2.6 : 1.9}
                  stroke-dasharray={dash}
                />
              );
            })}
          </svg>
          {probe.at !== null && (
            <line
              class="probe"
              x1={pct(x(stops[probe.at]!))}
              x2={pct(x(stops[probe.at]!))}
              y1="0"
              y2={HEIGHT}
            />
          )}
          {lines.map((c, i) => {
            const [right, height] = ends[i]!;
            return (
              <g key={c.contender} class={faint(c)}>
                {markers(
                  c.points.filter(([q]) => view.shows(q)),
                  ticks,
                ).map(([q, ms]) => (
                  <Mark key={q} look={look(c.contender)} x={pct(x(q))} y={y(ms)} size={0.8} />
                ))}
                {labels.length > 0 && (
                  <g class="direct">
                    <line
                      x1={pct(right)}
                      y1={height}
                      x2="100%"
                      y2={height}
                      stroke={look(c.contender).colour}
                    />
                    <svg x="100%" overflow="visible">
                      <line
                        x1="0"
                        y1={height}
                        x2="10"
                        y2={labels[i]}
                        stroke={look(c.contender).colour}
                      />
                      <text x="14" y={labels[i]} dy=".35em">
                        {short(c.contender)}
                      </text>
                    </svg>
                  </g>
                )}
              </g>
            );
          })}
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

/** What each curve records there, slowest first. */
function said(curves: Curve[], q: number): Values {
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

/** The recorded points nearest to the ticks: the marks that tell lines apart without colour. */
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
