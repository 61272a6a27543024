import { line } from "d3-shape";
import { short, tick } from "../format";
import { Mark, useLook } from "../identity";
import type { Curve } from "../page";
import { latencyScale, quantileName, quantileScale, spread } from "./scales";

const HEIGHT = 340;
const WIDTH = 1000; // of the stretched box that holds the lines
const MOST_LABELS = 12;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** Latency by quantile, one line a contender, named at its end. */
export function Curves({ curves, strong, name, axis }: { curves: Curve[]; strong: string | null; name: string; axis: string }) {
  const look = useLook();
  const drawn = curves
    .map((c) => ({ ...c, points: c.points.filter(([q, ms]) => q >= 0 && q < 1 && ms > 0) }))
    .filter((c) => c.points.length > 0);
  const { x, ticks } = quantileScale(drawn.reduce((top, c) => Math.max(top, c.points.at(-1)![0]), 0));
  const { y, ticks: levels } = latencyScale(drawn.flatMap((c) => c.points.map(([, ms]) => ms)), HEIGHT);
  const path = line<[number, number]>()
    .x(([q]) => (x(q) / 100) * WIDTH)
    .y(([, ms]) => y(ms));
  const labels = drawn.length <= MOST_LABELS ? spread(drawn.map((c) => y(c.points.at(-1)![1])), 17, HEIGHT) : [];
  const faint = (c: Curve) => (strong !== null && strong !== c.contender ? "faint" : "");

  return (
    <div class={labels.length ? "plot labelled" : "plot"}>
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
        <svg width="100%" height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" overflow="visible">
          {drawn.map((c) => {
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
        {drawn.map((c, i) => {
          const end = c.points.at(-1)!;
          return (
            <g key={c.contender} class={faint(c)}>
              {markers(c.points, ticks).map(([q, ms]) => (
                <Mark key={q} look={look(c.contender)} x={pct(x(q))} y={y(ms)} size={0.8} />
              ))}
              {labels.length > 0 && (
                <g class="direct">
                  <line x1={pct(x(end[0]))} y1={y(end[1])} x2="100%" y2={y(end[1])} stroke={look(c.contender).colour} />
                  <svg x="100%" overflow="visible">
                    <line x1="0" y1={y(end[1])} x2="10" y2={labels[i]} stroke={look(c.contender).colour} />
                    <text x="14" y={labels[i]} dy=".35em">
                      {short(c.contender)}
                    </text>
                  </svg>
                </g>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The recorded points nearest to the ticks: the marks that tell lines apart without colour. */
function markers(points: Curve["points"], ticks: number[]): Curve["points"] {
  const nines = (q: number) => -Math.log10(1 - q);
  const near = ticks.flatMap((tick) => {
    const best = points.reduce((a, b) => (Math.abs(nines(b[0]) - nines(tick)) < Math.abs(nines(a[0]) - nines(tick)) ? b : a));
    return Math.abs(nines(best[0]) - nines(tick)) < 0.1 ? [best] : [];
  });
  return [...new Set(near)];
}
