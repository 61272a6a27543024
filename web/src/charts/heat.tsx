import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { sig, withUnit } from "../format";
import { Name } from "../identity";
import { type Stretch, stretchedBy } from "./stretch";

/** One trial's row. */
export interface HeatRow {
  contender: string;
  label: string;
  valid: boolean;
  t_s: number[];
  values: (number | null)[];
}

const STEPS = 7;
const USABLE = 1e300; // what a ratio of two of them can still be told of
const MOST_HEIGHT = 120; // pixels of one contender's rows together
const MOST_ROW = 14;

const coloured = (v: number | null | undefined): v is number =>
  v != null && v > 1 / USABLE && v < USABLE;

/**
 * Limits of the steps, even on a log scale: `STEPS` + 1 of them; null where there is nothing to
 * colour.
 */
export function steps(values: readonly (number | null)[]): number[] | null {
  const shown = values.filter(coloured);
  if (shown.length === 0) return null;
  const low = shown.reduce((a, b) => Math.min(a, b));
  const high = Math.max(
    low * 1.5,
    shown.reduce((a, b) => Math.max(a, b)),
  );
  const [from, to] = [Math.log(low), Math.log(high)];
  return Array.from({ length: STEPS + 1 }, (_, i) => Math.exp(from + ((to - from) * i) / STEPS));
}

/** The step that a value falls into, from 0. */
export function stepOf(value: number, limits: readonly number[]): number {
  const [low, high] = [Math.log(limits[0]!), Math.log(limits.at(-1)!)];
  const place = Math.floor((STEPS * (Math.log(value) - low)) / (high - low));
  return Math.min(STEPS - 1, Math.max(0, place));
}

/** The columns whose seconds lie in a stretch of time; all where none does. */
export function columns(
  t_s: readonly number[],
  stretch: Stretch | null,
): { first: number; count: number } {
  const inside = (t: number) => stretch !== null && t >= stretch[0] && t <= stretch[1];
  const [first, last] = [t_s.findIndex(inside), t_s.findLastIndex(inside)];
  return first < 0 ? { first: 0, count: t_s.length } : { first, count: last - first + 1 };
}

interface HeatProps {
  rows: HeatRow[];
  name: string;
  unit: string;
  /** the seconds that are shown; null for all */
  stretch: Stretch | null;
  zoom: (by: number | null) => void;
}

/**
 * A value for each trial and second by its colour: what drifts, and which second stands out, in one
 * look.
 */
export function Heat({ rows, name, unit, stretch, zoom }: HeatProps) {
  const [said, say] = useState("");
  const limits = steps(rows.flatMap((r) => r.values));
  if (limits === null) return <p class="empty">Nothing was recorded by the second.</p>;
  const names = [...new Set(rows.map((r) => r.contender))];
  const longest = rows.reduce<number[]>(
    (most, r) => (r.t_s.length > most.length ? r.t_s : most),
    [],
  );
  const shown = columns(longest, stretch);
  return (
    <figure class="heat" aria-label={`${name} by second and trial`}>
      <figcaption>
        <b>
          {name}, {unit}
        </b>{" "}
        <span class="readout">{said}</span>
      </figcaption>
      {names.map((contender) => (
        <Strip
          key={contender}
          contender={contender}
          rows={rows.filter((r) => r.contender === contender)}
          shown={shown}
          limits={limits}
          say={say}
          zoom={zoom}
          unit={unit}
          name={name}
        />
      ))}
      <p class="key">
        {limits.slice(0, -1).map((low, i) => (
          <span key={i}>
            <svg width="14" height="14" aria-hidden="true">
              <rect class={`h${i}`} width="14" height="14" />
            </svg>
            {sig(low)} to {withUnit(limits[i + 1]!, unit)}
          </span>
        ))}
        <span>Blank: too few samples in that second. Faint: an excluded trial.</span>
      </p>
    </figure>
  );
}

interface StripProps {
  contender: string;
  rows: HeatRow[];
  shown: { first: number; count: number };
  limits: readonly number[];
  say: (text: string) => void;
  zoom: (by: number | null) => void;
  unit: string;
  name: string;
}

function Strip({
  contender,
  rows,
  shown: { first, count },
  limits,
  say,
  zoom,
  unit,
  name,
}: StripProps) {
  /** the row and the second that the keys have come to */
  const [place, setPlace] = useState<[row: number, second: number] | null>(null);
  const high = Math.min(MOST_ROW, MOST_HEIGHT / Math.max(1, rows.length));
  const height = high * rows.length;
  const drawn = (valid: boolean) => {
    const paths = Array.from({ length: STEPS }, () => "");
    rows.forEach((row, r) => {
      if (row.valid !== valid) return;
      row.values.forEach((value, s) => {
        if (s >= first && s < first + count && coloured(value))
          paths[stepOf(value, limits)] += `M${s},${r}h1v1h-1z`;
      });
    });
    return paths.map((d, i) => d !== "" && <path key={i} class={`h${i}`} d={d} />);
  };
  const told = (r: number, s: number): string => {
    const row = rows[r];
    const [t, value] = [row?.t_s[s] ?? null, row?.values[s] ?? null];
    return row && t !== null
      ? `${row.label}, ${sig(t)} s: ${value === null ? "too few samples" : withUnit(value, unit)}`
      : "";
  };
  const point = (e: TargetedPointerEvent<SVGSVGElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    say(
      told(
        Math.floor(((e.clientY - box.top) / box.height) * rows.length),
        first + Math.floor(((e.clientX - box.left) / box.width) * count),
      ),
    );
  };
  const leave = () => {
    setPlace(null);
    say("");
  };
  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = stretchedBy(e);
    const steps: Record<string, [rows: number, seconds: number]> = {
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      Home: [0, -count],
      End: [0, count],
    };
    const step = steps[e.key];
    if (e.key === "Escape") return leave();
    if (by === undefined && !step) return;
    e.preventDefault();
    if (by !== undefined) return zoom(by);
    const [row, second] = place ?? [0, step![1] < 0 ? first + count : first - 1];
    const next: [number, number] = [
      Math.min(rows.length - 1, Math.max(0, row + step![0])),
      Math.min(first + count - 1, Math.max(first, second + step![1])),
    ];
    setPlace(next);
    say(told(...next));
  };
  return (
    <div class="heat-row">
      <Name name={contender} />
      <div
        tabIndex={0}
        role="slider"
        aria-label={`${name} of ${contender} by second and trial`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, count - 1)}
        aria-valuenow={
          place === null ? 0 : Math.min(Math.max(0, count - 1), Math.max(0, place[1] - first))
        }
        aria-valuetext={(place && told(...place)) || "no second chosen"}
        onKeyDown={key}
        onBlur={leave}
      >
        <svg
          width="100%"
          height={height}
          viewBox={`${first} 0 ${Math.max(1, count)} ${Math.max(1, rows.length)}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name} of ${contender}, ${rows.length} trials over ${count} s; the values stand in the table`}
          onPointerMove={point}
          onPointerLeave={() => say("")}
        >
          <rect class="nothing" x={first} width="100%" height="100%" />
          {drawn(true)}
          <g class="faint">{drawn(false)}</g>
          {place &&
            ["halo", "cursor"].map((look) => (
              <rect key={look} class={look} x={place[1]} y={place[0]} width="1" height="1" />
            ))}
        </svg>
      </div>
    </div>
  );
}
