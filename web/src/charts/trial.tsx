/** One trial from the start of its process to its end. Start with `WholeTrial`. */
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { duration, short, tick, withUnit } from "../format";
import { useLook } from "../identity";
import type { Measurement, Trial } from "../page";
import { LineBox, pct, Rows, WIDTH } from "./plane";
import { Readout, spoken, useProbe, type Values } from "./probe";
import { latencyScale, seen, shownOf } from "./scales";
import { DrawnUp, useStretch, Zoom } from "./stretch";

const HEIGHT = 200;
const BAND = 22; // height of the phases above the curve

export type Measure = "rate_per_s" | "p50_ms" | "p99_ms" | "max_ms";

/** A stretch of a trial, in seconds from the start of the process. */
export interface Phase {
  name: string;
  kind: "start" | "warmup" | "cell";
  from: number;
  to: number;
  t_s: number[];
  values: (number | null)[];
  /** the measurement of a cell */
  measurement?: Measurement;
}

/**
 * The phases of a trial. Older records do not have the beginning of a cell; there each cell follows
 * the one before.
 */
export function phases(trial: Trial, measure: Measure): Phase[] {
  const finite = (v: number | null): v is number => v !== null && Number.isFinite(v) && v >= 0;
  if (!finite(trial.ready_ms)) return [];
  const ready = trial.ready_ms / 1000;
  const found: Phase[] = [
    { name: "start", kind: "start", from: 0, to: ready, t_s: [], values: [] },
  ];
  let now = ready;
  const { warmup } = trial;
  if (warmup && warmup.t_s.length > 0) {
    const t_s = warmup.t_s.filter(Number.isFinite).map((t) => ready + t);
    const step = t_s.length > 1 ? t_s[1]! - t_s[0]! : 1;
    now = (t_s.at(-1) ?? ready) + Math.max(0, step);
    found.push({
      name: "warm-up",
      kind: "warmup",
      from: ready,
      to: now,
      t_s,
      values: measure === "p99_ms" ? [] : warmup[measure],
    });
  }
  for (const m of [...trial.measurements].sort((a, b) => a.position - b.position)) {
    const from = finite(m.began_s) ? m.began_s : now;
    const last = m.seconds.t_s.at(-1) ?? 0;
    now = from + (finite(m.lasted_s) && m.lasted_s > 0 ? m.lasted_s : last);
    found.push({
      name: m.cell,
      kind: "cell",
      from,
      to: now,
      t_s: m.seconds.t_s.map((t) => from + t),
      values: m.seconds[measure],
      measurement: m,
    });
  }
  return found.filter((p) => Number.isFinite(p.from) && Number.isFinite(p.to) && p.to < 1e9);
}

interface WholeTrialProps {
  trial: Trial;
  measure: Measure;
  word: string;
  unit: string;
}

/** Everything that the chart draws: phases, their lines, axes, and the chosen place. */
function useWholeTrial({ trial, measure, unit }: WholeTrialProps) {
  const all = phases(trial, measure);
  const end = all.reduce((most, p) => Math.max(most, p.to), 0);
  const points = (p: Phase): [number, number][] =>
    p.t_s.flatMap((t, i): [number, number][] =>
      p.values[i] != null && p.values[i]! > 0 && t <= end ? [[t, p.values[i]!]] : [],
    );
  const courses = all.map((p) => ({ ...p, points: points(p) }));
  const whole = scaleLinear()
    .domain([0, end || 1])
    .range([0, 100])
    .clamp(true);
  const view = useStretch(
    { x: whole, at: (place) => whole.invert(place) },
    `${trial.block} ${trial.position}`,
  );
  const { x } = view;
  const stops = courses
    .flatMap((p) => p.points.map(([t, v]) => ({ t, v, phase: p.name })))
    .sort((a, b) => a.t - b.t);
  const probe = useProbe(
    view,
    stops.map((s) => s.t),
  );
  const drawn = courses.map((p) => seen(p.points, ([t]) => x(t)));
  const { y, ticks } = latencyScale(
    drawn.flatMap((course) => course.map(([, v]) => v)),
    HEIGHT,
  );
  const here = probe.at === null ? null : stops[probe.at]!;
  const values: Values | null = here && {
    at: `${duration(here.t * 1000)} after the start`,
    of: [{ name: here.phase, text: withUnit(here.v, unit) }],
  };
  const steady = (trial.steady_ms ?? Number.NaN) / 1000;
  return {
    all,
    end,
    view,
    drawn,
    y: (value: number) => BAND + y(value),
    ticks,
    props: probe.props,
    here,
    values,
    steady: steady <= end && view.shows(steady) ? x(steady) : null,
  };
}

/** The phases of a trial as bands, with their names if there is room. */
function Phases({ all, x, height }: { all: Phase[]; x: (t: number) => number; height: number }) {
  return (
    <>
      {all.map((p, i) => {
        const here = shownOf(x(p.from), x(p.to));
        if (here === null) return null;
        const [from, to] = here;
        return (
          <g key={i} class={`phase ${p.kind}`}>
            <rect x={pct(from)} width={pct(to - from)} y="0" height={height} />
            {to - from > 8 && (
              <svg x={pct((from + to) / 2)} overflow="visible">
                <text class="middle" y="15">
                  {short(p.name, Math.max(4, Math.floor((to - from) * 0.9)))}
                </text>
              </svg>
            )}
          </g>
        );
      })}
    </>
  );
}

/**
 * One trial from the start of its process to its end: start-up, warm-up and each cell on one axis.
 */
export function WholeTrial(props: WholeTrialProps) {
  const { trial, word } = props;
  const { colour } = useLook()(trial.contender);
  const { all, end, view, drawn, y, ticks, here, values, steady, ...chart } = useWholeTrial(props);
  if (end === 0)
    return <p class="empty">It never gave a correct response, so there is nothing to draw.</p>;
  const { x } = view;
  const path = line<[number, number]>()
    .x(([t]) => (x(t) / 100) * WIDTH)
    .y(([, v]) => y(v));
  const bottom = BAND + HEIGHT;
  const name = `${word} over the whole trial of ${trial.contender} in block ${trial.block}`;
  return (
    <>
      <div class="plot" aria-label={name} aria-valuetext={spoken(values)} {...chart.props}>
        <svg width="100%" height={bottom} overflow="visible" role="img" aria-label={name}>
          <Phases all={all} x={x} height={bottom} />
          <Rows ticks={ticks} y={y} />
          {scaleLinear()
            .domain(view.ends)
            .ticks(6)
            .map((t) => (
              <text key={t} class="tick middle" x={pct(x(t))} y={bottom + 18}>
                {tick(t)}
              </text>
            ))}
          <text class="axis middle" x="50%" y={bottom + 38}>
            s from the start of the process
          </text>
          <LineBox height={bottom} zoomed={view.zoomed}>
            {drawn.map((course, i) => (
              <path
                key={i}
                class="curve"
                d={path(course) ?? ""}
                stroke={colour}
                stroke-width="1.8"
              />
            ))}
          </LineBox>
          {steady !== null && (
            <line class="steady" x1={pct(steady)} x2={pct(steady)} y1="0" y2={bottom} />
          )}
          {here && (
            <line class="probe" x1={pct(x(here.t))} x2={pct(x(here.t))} y1={BAND} y2={bottom} />
          )}
          <DrawnUp view={view} height={bottom} />
        </svg>
      </div>
      <Readout values={values} />
      <Zoom
        of={name}
        zoomed={view.zoomed}
        zoom={view.zoom}
        shown={`${view.ends.map((s) => duration(s * 1000)).join(" to ")} after the start`}
      />
    </>
  );
}
