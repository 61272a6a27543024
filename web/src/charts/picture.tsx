import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { short, sig, tick } from "../format";
import type { Picture } from "../page";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { seen } from "./scales";
import { DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 150;
const WIDTH = 1000; // of the stretched box that holds the lines
const ROW = 15; // of a mark's words
const COLOURS = 7;
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const pct = (x: number) => `${x.toFixed(3)}%`;

/** Numbers that a picture can hold; what is beyond is not drawn. */
const drawable = (v: number) => Number.isFinite(v) && Math.abs(v) < 1e15;

/** Where bars end: each at the next, the last as wide as the one before. */
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

/** What each series has there. */
const there = (of: Picture, series: Picture["series"], at: number): Values => ({
  at: `${short(of.x, 40)}: ${sig(at)}`,
  of: series.flatMap((s) =>
    s.points.filter(([x]) => x === at).map(([, y]) => ({ name: s.name, text: sig(y) })),
  ),
});

/** Bars or lines over one axis, with places to point at. A line of one point is a dot. */
export function SmallPicture({ of }: { of: Picture }) {
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
  if (series.length === 0) return <p class="empty">There is nothing to draw.</p>;
  const xScale = view.x;
  const ticks =
    stops.length === 1 && !of.bars && view.shows(stops[0]!)
      ? stops
      : scaleLinear().domain(view.ends).ticks(5);
  const yScale = scaleLinear(apart(least(ys), most(ys) * 1.04), [HEIGHT, 0]);
  const spot = probe.at === null ? null : stops[probe.at]!;
  const values = spot === null ? null : there(of, series, spot);
  const name = `${of.title}: ${of.y} over ${of.x}`;
  const path = line<[number, number]>()
    .x(([x]) => (xScale(x) / 100) * WIDTH)
    .y(([, y]) => yScale(y));
  const shown = marks.filter((m) => view.shows(m.at));
  const top = marks.length * ROW + 8;
  const look = (i: number) => ({
    colour: `var(--c${(i % COLOURS) + 1})`,
    dash: DASHES[Math.floor(i / COLOURS) % DASHES.length],
  });
  return (
    <figure class="picture">
      <figcaption>
        <b dir="auto">{of.title}</b>
        {series.length > 1 && (
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
                    stroke-width={of.bars ? 8 : 2}
                    stroke-dasharray={look(i).dash}
                  />
                </svg>
                <bdi>{s.name}</bdi>
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <p class="small" dir="auto">
        {of.y}
      </p>
      <div
        class="plot"
        style={{ paddingTop: `${top}px` }}
        aria-label={name}
        aria-valuetext={spoken(values)}
        {...probe.props}
      >
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={name}>
          {yScale.ticks(3).map((t) => (
            <g key={t}>
              <line class="grid" x1="0" x2="100%" y1={yScale(t)} y2={yScale(t)} />
              <text class="tick end" x="-6" y={yScale(t)} dy=".35em">
                {tick(t)}
              </text>
            </g>
          ))}
          {ticks.map((t) => (
            <text key={t} class="tick middle" x={pct(xScale(t))} y={HEIGHT + 16}>
              {tick(t)}
            </text>
          ))}
          <svg
            width="100%"
            height={HEIGHT}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            overflow={view.zoomed ? "hidden" : "visible"}
          >
            {series.map((s, i) =>
              of.bars ? (
                edges(s.points).map((end, k) => {
                  const [x, y] = s.points[k]!;
                  const from = (xScale(Math.min(x, end)) / 100) * WIDTH;
                  const width = Math.max(
                    1.5,
                    (Math.abs(xScale(end) - xScale(x)) / 100) * WIDTH - 1,
                  );
                  return (
                    <rect
                      key={`${i} ${k}`}
                      class="bar"
                      x={from}
                      width={width}
                      y={Math.min(yScale(y), yScale(0))}
                      height={Math.abs(yScale(y) - yScale(0))}
                      fill={look(i).colour}
                    />
                  );
                })
              ) : (
                <path
                  key={i}
                  class="curve"
                  d={path(seen(s.points, ([x]) => xScale(x))) ?? ""}
                  stroke={look(i).colour}
                  stroke-width="1.8"
                  stroke-dasharray={look(i).dash}
                />
              ),
            )}
          </svg>
          {!of.bars &&
            series.map((s, i) => {
              const [x, y] = s.points[0]!;
              return (
                s.points.length === 1 &&
                view.shows(x) && (
                  <circle
                    key={i}
                    class="alone"
                    cx={pct(xScale(x))}
                    cy={yScale(y)}
                    r="3"
                    fill={look(i).colour}
                  />
                )
              );
            })}
          {spot !== null && (
            <line class="probe" x1={pct(xScale(spot))} x2={pct(xScale(spot))} y1="0" y2={HEIGHT} />
          )}
          {shown.map((m, i) => (
            <g key={i} class="pointer">
              <line
                x1={pct(xScale(m.at))}
                x2={pct(xScale(m.at))}
                y1={i * ROW - top + 8}
                y2={HEIGHT}
              />
              <svg x={pct(xScale(m.at))} overflow="visible">
                <text
                  class={xScale(m.at) > 50 ? "end" : ""}
                  x={xScale(m.at) > 50 ? -5 : 5}
                  y={i * ROW - top + 17}
                >
                  {short(m.text, 34)}
                </text>
              </svg>
            </g>
          ))}
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
