import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { short, tick } from "../format";
import type { Picture } from "../page";

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
  return points.map(([x], i) => (i < last ? points[i + 1]![0] : x + (last > 0 ? x - points[last - 1]![0] : 1)));
}

/** Bars or lines over one axis, with places to point at. */
export function SmallPicture({ of }: { of: Picture }) {
  const series = of.series.map((s) => ({ ...s, points: s.points.filter(([x, y]) => drawable(x) && drawable(y)) })).filter((s) => s.points.length > 0);
  const marks = of.marks.filter((m) => drawable(m.at));
  if (series.length === 0) return <p class="empty">There is nothing to draw.</p>;
  const xs = series.flatMap((s) => [...s.points.map(([x]) => x), ...(of.bars ? edges(s.points) : [])]).concat(marks.map((m) => m.at));
  const ys = series.flatMap((s) => s.points.map(([, y]) => y)).concat(0);
  const least = (all: number[]) => all.reduce((a, b) => Math.min(a, b));
  const most = (all: number[]) => all.reduce((a, b) => Math.max(a, b));
  const apart = (low: number, high: number): [number, number] => (low < high ? [low, high] : [low - 0.5, high + 0.5]);
  const xScale = scaleLinear(apart(least(xs), most(xs)), [0, 100]);
  const yScale = scaleLinear(apart(least(ys), most(ys) * 1.04), [HEIGHT, 0]);
  const path = line<[number, number]>()
    .x(([x]) => (xScale(x) / 100) * WIDTH)
    .y(([, y]) => yScale(y));
  const top = marks.length * ROW + 8;
  const look = (i: number) => ({ colour: `var(--c${(i % COLOURS) + 1})`, dash: DASHES[Math.floor(i / COLOURS) % DASHES.length] });
  return (
    <figure class="picture">
      <figcaption>
        <b dir="auto">{of.title}</b>
        {series.length > 1 && (
          <span class="key">
            {series.map((s, i) => (
              <span key={i}>
                <svg width="18" height="10" aria-hidden="true">
                  <line x1="0" x2="18" y1="5" y2="5" stroke={look(i).colour} stroke-width={of.bars ? 8 : 2} stroke-dasharray={look(i).dash} />
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
      <div class="plot" style={{ paddingTop: `${top}px` }}>
        <svg width="100%" height={HEIGHT} overflow="visible" role="img" aria-label={`${of.title}: ${of.y} over ${of.x}`}>
          {yScale.ticks(3).map((t) => (
            <g key={t}>
              <line class="grid" x1="0" x2="100%" y1={yScale(t)} y2={yScale(t)} />
              <text class="tick end" x="-6" y={yScale(t)} dy=".35em">
                {tick(t)}
              </text>
            </g>
          ))}
          {xScale.ticks(5).map((t) => (
            <text key={t} class="tick middle" x={pct(xScale(t))} y={HEIGHT + 16}>
              {tick(t)}
            </text>
          ))}
          <svg width="100%" height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" overflow="visible">
            {series.map((s, i) =>
              of.bars ? (
                edges(s.points).map((end, k) => {
                  const [x, y] = s.points[k]!;
                  const from = (xScale(Math.min(x, end)) / 100) * WIDTH;
                  const width = Math.max(1.5, (Math.abs(xScale(end) - xScale(x)) / 100) * WIDTH - 1);
                  return <rect key={`${i} ${k}`} class="bar" x={from} width={width} y={Math.min(yScale(y), yScale(0))} height={Math.abs(yScale(y) - yScale(0))} fill={look(i).colour} />;
                })
              ) : (
                <path key={i} class="curve" d={path(s.points) ?? ""} stroke={look(i).colour} stroke-width="1.8" stroke-dasharray={look(i).dash} />
              ),
            )}
          </svg>
          {marks.map((m, i) => (
            <g key={i} class="pointer">
              <line x1={pct(xScale(m.at))} x2={pct(xScale(m.at))} y1={i * ROW - top + 8} y2={HEIGHT} />
              <svg x={pct(xScale(m.at))} overflow="visible">
                <text class={xScale(m.at) > 50 ? "end" : ""} x={xScale(m.at) > 50 ? -5 : 5} y={i * ROW - top + 17}>
                  {short(m.text, 34)}
                </text>
              </svg>
            </g>
          ))}
          <text class="axis middle" x="50%" y={HEIGHT + 34}>
            {short(of.x, 40)}
          </text>
        </svg>
      </div>
    </figure>
  );
}
