/** Values by second and trial as colours. Start with `Heat`. */
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
const USABLE = 1e300; // beyond it, a ratio of two values may overflow
const MOST_HEIGHT = 120; // pixels of one contender's rows together
const MOST_ROW = 14;

const coloured = (v: number | null | undefined): v is number =>
  v != null && v > 1 / USABLE && v < USABLE;

/** The `STEPS` + 1 limits of the steps, even on a log scale; null if there is nothing to colour. */
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

/** The columns whose seconds are in a stretch of time; all if none is. */
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

/** A value for each trial and second as a colour, which shows drift and outliers. */
export function Heat({ rows, name, unit, stretch, zoom }: HeatProps) {
  const [readout, say] = useState("");
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
        <span class="readout">{readout}</span>
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

/** The tiles of valid or of excluded trials, one path for each step. */
function Tiles({
  rows,
  valid,
  shown: { first, count },
  limits,
}: Pick<StripProps, "rows" | "shown" | "limits"> & { valid: boolean }) {
  const paths = Array.from({ length: STEPS }, () => "");
  rows.forEach((row, r) => {
    if (row.valid !== valid) return;
    row.values.forEach((value, s) => {
      if (s >= first && s < first + count && coloured(value))
        paths[stepOf(value, limits)] += `M${s},${r}h1v1h-1z`;
    });
  });
  return <>{paths.map((d, i) => d !== "" && <path key={i} class={`h${i}`} d={d} />)}</>;
}

type Place = [row: number, second: number];

/** The place to which a key leads; null if it is not a key of the chart. */
function nextPlace(
  key: string,
  place: Place | null,
  rows: number,
  { first, count }: StripProps["shown"],
): Place | null {
  const steps: Record<string, Place> = {
    ArrowRight: [0, 1],
    ArrowLeft: [0, -1],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    Home: [0, -count],
    End: [0, count],
  };
  const step = steps[key];
  if (!step) return null;
  const [row, second] = place ?? [0, step[1] < 0 ? first + count : first - 1];
  return [
    Math.min(rows - 1, Math.max(0, row + step[0])),
    Math.min(first + count - 1, Math.max(first, second + step[1])),
  ];
}

/** The value of a trial in a second, in words; empty if there is none. */
function valueText(row: HeatRow | undefined, s: number, unit: string): string {
  const [t, value] = [row?.t_s[s] ?? null, row?.values[s] ?? null];
  return row && t !== null
    ? `${row.label}, ${sig(t)} s: ${value === null ? "too few samples" : withUnit(value, unit)}`
    : "";
}

function Strip({ contender, rows, shown, limits, say, zoom, unit, name }: StripProps) {
  /** the row and the second chosen by keys */
  const [place, setPlace] = useState<Place | null>(null);
  const { first, count } = shown;
  const height = rows.length * Math.min(MOST_ROW, MOST_HEIGHT / Math.max(1, rows.length));
  const textAt = (r: number, s: number) => valueText(rows[r], s, unit);
  const point = (e: TargetedPointerEvent<SVGSVGElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    say(
      textAt(
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
    if (e.key === "Escape") return leave();
    const next = by === undefined ? nextPlace(e.key, place, rows.length, shown) : null;
    if (by === undefined && !next) return;
    e.preventDefault();
    if (by !== undefined) return zoom(by);
    if (!next) return;
    setPlace(next);
    say(textAt(...next));
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
        aria-valuetext={(place && textAt(...place)) || "no second chosen"}
        onKeyDown={key}
        onBlur={leave}
      >
        <svg
          width="100%"
          height={height}
          viewBox={`${first} 0 ${Math.max(1, count)} ${Math.max(1, rows.length)}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name} of ${contender}, ${rows.length} trials over ${count} s; the values are in the table`}
          onPointerMove={point}
          onPointerLeave={() => say("")}
        >
          <rect class="nothing" x={first} width="100%" height="100%" />
          <Tiles rows={rows} valid shown={shown} limits={limits} />
          <g class="faint">
            <Tiles rows={rows} valid={false} shown={shown} limits={limits} />
          </g>
          {place &&
            ["halo", "cursor"].map((look) => (
              <rect key={look} class={look} x={place[1]} y={place[0]} width="1" height="1" />
            ))}
        </svg>
      </div>
    </div>
  );
}
