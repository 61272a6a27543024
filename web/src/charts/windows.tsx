/** The warm-up of one start as a small chart. */
import { scaleLog } from "d3-scale";
import { line } from "d3-shape";

const WIDTH = 120;
const HEIGHT = 44;

/** The range of all starts of a contender, so that equal heights are equal values. */
export function common(values: readonly (number | null)[]): [low: number, high: number] | null {
  const shown = values.filter((v): v is number => v !== null && Number.isFinite(v) && v > 0);
  return shown.length === 0
    ? null
    : [shown.reduce((a, b) => Math.min(a, b)), shown.reduce((a, b) => Math.max(a, b))];
}

interface Props {
  t_s: number[];
  values: (number | null)[];
  range: [number, number];
  /** the longest time of the contender, so that equal widths are equal times */
  until_s: number;
  steady_after_s: number | null;
  colour: string;
  label: string;
}

/** A small chart of one start, shaded before the steady state. */
export function Course({
  t_s,
  values,
  range: [low, high],
  until_s,
  steady_after_s,
  colour,
  label,
}: Props) {
  const time = (t: number) =>
    until_s > 0 ? (WIDTH * Math.min(Math.max(0, t), until_s)) / until_s : 0;
  const y = scaleLog()
    .domain(low * 1.2 < high ? [low, high] : [low / 1.1, high * 1.1])
    .range([HEIGHT - 3, 3])
    .clamp(true);
  const points = t_s.flatMap((t, i): [number, number][] =>
    Number.isFinite(t) && values[i] != null && values[i]! > 0 ? [[t, values[i]!]] : [],
  );
  const path = line<[number, number]>()
    .x(([t]) => time(t))
    .y(([, v]) => y(v));
  const steady =
    steady_after_s !== null && Number.isFinite(steady_after_s) ? time(steady_after_s) : null;
  return (
    <svg
      class="course"
      width="100%"
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <rect class="band" width={steady ?? WIDTH} height={HEIGHT} />
      {steady !== null && <line class="steady" x1={steady} x2={steady} y1="0" y2={HEIGHT} />}
      {points.length === 1 ? (
        <circle cx={time(points[0]![0])} cy={y(points[0]![1])} r="1.5" fill={colour} />
      ) : (
        <path class="curve" d={path(points) ?? ""} stroke={colour} stroke-width="1.5" />
      )}
    </svg>
  );
}
