/** The small chart of a symptom. Start with `SmallPicture`. */
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { short, sig, tick } from "../format";
import type { Picture } from "../page";
import { LineBox, PlaceLine, pct, Rows, WIDTH } from "./plane";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { seen } from "./scales";
import { DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 150;
const ROW = 15; // height of a mark's text
const COLOURS = 7;
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

/** Whether a number can be drawn. */
const drawable = (v: number) => Number.isFinite(v) && Math.abs(v) < 1e15;

/** The ends of bars: each ends at the next, and the last is as wide as the one before. */
function edges(points: [number, number][]): number[] {
  const last = points.length - 1;
  return points.map(([x], i) =>
    i < last ? points[i + 1]![0] : x + (last > 0 ? x - points[last - 1]![0] : 1),
  );
}

const least = (all: readonly number[]) => all.reduce((a, b) => Math.min(a, b), Infinity);
const most = (all: readonly number[]) => all.reduce((a, b) => Math.max(a, b), -Infinity);
const apart = (low: number, high: number): [number, number] =>
  low < high ? [low, high] : [low - 0.5, high + 0.5];

/** The values of all series at a place. */
const there = (of: Picture, series: Series, at: number): Values => ({
  at: `${short(of.x, 40)}: ${sig(at)}`,
  of: series.flatMap((s) =>
    s.points.filter(([x]) => x === at).map(([, y]) => ({ name: s.name, text: sig(y) })),
  ),
});

const look = (i: number) => ({
  colour: `var(--c${(i % COLOURS) + 1})`,
  dash: DASHES[Math.floor(i / COLOURS) % DASHES.length],
});

type Scale = (value: number) => number;
type Series = Picture["series"];

/** The names of the series. */
function SeriesKey({ series, bars }: { series: Series; bars: boolean }) {
  return (
    <span class="key">
      {series.map((s, i) => (
        <span key={i}>
          <svg width="18" height="10" aria-hidden="true">
            <line
              x1="0"
              x2="18"
              y1="5"
              y2="5"
              stroke={look(i).colour}
              stroke-width={bars ? 8 : 2}
              stroke-dasharray={look(i).dash}
            />
          </svg>
          <bdi>{s.name}</bdi>
        </span>
      ))}
    </span>
  );
}

/** The bars of one series. */
function Bars({
  points,
  x,
  y,
  of,
}: {
  points: [number, number][];
  x: Scale;
  y: Scale;
  of: number;
}) {
  return (
    <>
      {edges(points).map((end, k) => {
        const [at, value] = points[k]!;
        return (
          <rect
            key={k}
            class="bar"
            x={(x(Math.min(at, end)) / 100) * WIDTH}
            width={Math.max(1.5, (Math.abs(x(end) - x(at)) / 100) * WIDTH - 1)}
            y={Math.min(y(value), y(0))}
            height={Math.abs(y(value) - y(0))}
            fill={look(of).colour}
          />
        );
      })}
    </>
  );
}

/** The line of one series. */
function SeriesLine({
  points,
  x,
  y,
  of,
}: {
  points: [number, number][];
  x: Scale;
  y: Scale;
  of: number;
}) {
  const path = line<[number, number]>()
    .x(([at]) => (x(at) / 100) * WIDTH)
    .y(([, value]) => y(value));
  return (
    <path
      class="curve"
      d={path(seen(points, ([at]) => x(at))) ?? ""}
      stroke={look(of).colour}
      stroke-width="1.8"
      stroke-dasharray={look(of).dash}
    />
  );
}

/** Places on the horizontal axis with their texts, one below the other. */
function Pointers({ marks, x, top }: { marks: Picture["marks"]; x: Scale; top: number }) {
  return (
    <>
      {marks.map((m, i) => {
        const place = x(m.at);
        return (
          <g key={i} class="pointer">
            <line x1={pct(place)} x2={pct(place)} y1={i * ROW - top + 8} y2={HEIGHT} />
            <svg x={pct(place)} overflow="visible">
              <text class={place > 50 ? "end" : ""} x={place > 50 ? -5 : 5} y={i * ROW - top + 17}>
                {short(m.text, 34)}
              </text>
            </svg>
          </g>
        );
      })}
    </>
  );
}

/** Everything that the chart draws: series that can be drawn, axes, and the chosen place. */
function usePicture(of: Picture) {
  const series = of.series
    .map((s) => ({ ...s, points: s.points.filter(([x, y]) => drawable(x) && drawable(y)) }))
    .filter((s) => s.points.length > 0);
  const marks = of.marks.filter((m) => drawable(m.at));
  const xs = series
    .flatMap((s) => [...s.points.map(([x]) => x), ...(of.bars ? edges(s.points) : [])])
    .concat(marks.map((m) => m.at));
  const ys = series.flatMap((s) => s.points.map(([, y]) => y)).concat(0);
  const whole = scaleLinear(xs.length === 0 ? [0, 1] : apart(least(xs), most(xs)), [0, 100]);
  const view = useStretch({ x: whole, at: (place) => whole.invert(place) }, of.title);
  const stops = [...new Set(series.flatMap((s) => s.points.map(([x]) => x)))].sort((a, b) => a - b);
  const probe = useProbe(view, stops);
  const spot = probe.at === null ? null : stops[probe.at]!;
  const isOne = stops.length === 1 && !of.bars && view.shows(stops[0]!);
  return {
    series,
    marks,
    view,
    y: scaleLinear(apart(least(ys), most(ys) * 1.04), [HEIGHT, 0]),
    ticks: isOne ? stops : scaleLinear().domain(view.ends).ticks(5),
    props: probe.props,
    spot,
    values: spot === null ? null : there(of, series, spot),
  };
}

/** Bars or lines over one axis, with places to point at. A line of one point is a dot. */
export function SmallPicture({ of }: { of: Picture }) {
  const { series, marks, view, y, ticks, props, spot, values } = usePicture(of);
  if (series.length === 0) return <p class="empty">There is nothing to draw.</p>;
  const { x } = view;
  const name = `${of.title}: ${of.y} over ${of.x}`;
  const top = marks.length * ROW + 8;
  return (
    <figure class="picture">
      <figcaption>
        <b dir="auto">{of.title}</b>
        {series.length > 1 && <SeriesKey series={series} bars={of.bars} />}
      </figcaption>
      <p class="small" dir="auto">
        {of.y}
      </p>
      <div
        class="plot"
        style={{ paddingTop: `${top}px` }}
        aria-label={name}
        aria-valuetext={spoken(values)}
        {...props}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          <Rows ticks={y.ticks(3)} y={y} left={6} />
          {ticks.map((t) => (
            <text key={t} class="tick middle" x={pct(x(t))} y={HEIGHT + 16}>
              {tick(t)}
            </text>
          ))}
          <LineBox height={HEIGHT} zoomed={view.zoomed}>
            {series.map(({ points }, i) =>
              of.bars ? (
                <Bars key={i} points={points} x={x} y={y} of={i} />
              ) : (
                <SeriesLine key={i} points={points} x={x} y={y} of={i} />
              ),
            )}
          </LineBox>
          {!of.bars &&
            series.map(({ points: [[at, value] = [0, 0], ...more] }, i) =>
              more.length === 0 && view.shows(at) ? (
                <circle
                  key={i}
                  class="alone"
                  cx={pct(x(at))}
                  cy={y(value)}
                  r="3"
                  fill={look(i).colour}
                />
              ) : null,
            )}
          {spot !== null && <PlaceLine x={x(spot)} height={HEIGHT} />}
          <Pointers marks={marks.filter((m) => view.shows(m.at))} x={x} top={top} />
          <text class="axis middle" x="50%" y={HEIGHT + 34}>
            {short(of.x, 40)}
          </text>
          <DrawnUp view={view} height={HEIGHT} />
        </svg>
      </div>
      {values === null ? <p class="values" /> : <Readout values={values} />}
      <Zoom
        of={of.title}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={view.ends.map(sig).join(" to ")}
      />
    </figure>
  );
}
