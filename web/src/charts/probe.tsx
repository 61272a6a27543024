import type { HTMLAttributes, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";

const MOST_SHOWN = 12;

/** A place on a chart's horizontal axis, chosen by pointer or keys among `stops`, which are per cents of the width. */
export function useProbe(stops: readonly number[]): { at: number | null; props: HTMLAttributes<HTMLDivElement> } {
  const [chosen, choose] = useState<number | null>(null);
  const last = stops.length - 1;
  const at = chosen === null || last < 0 ? null : Math.min(chosen, last);
  const point = (e: TargetedPointerEvent<HTMLDivElement>) => {
    const plane = e.currentTarget.querySelector("svg")?.getBoundingClientRect();
    if (!plane || plane.width === 0) return;
    const x = (100 * (e.clientX - plane.left)) / plane.width;
    choose(stops.reduce((best, stop, i) => (Math.abs(stop - x) < Math.abs(stops[best]! - x) ? i : best), 0));
  };
  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
    const step = steps[e.key];
    if (e.key === "Escape") return choose(null);
    if (step === undefined) return;
    e.preventDefault();
    const from = at ?? (step > 0 ? -1 : last + 1);
    choose(Math.min(last, Math.max(0, from + step)));
  };
  if (last < 0) return { at, props: {} };
  return {
    at,
    props: {
      tabIndex: 0,
      role: "slider",
      "aria-valuemin": 0,
      "aria-valuemax": last,
      "aria-valuenow": at ?? 0,
      onPointerMove: point,
      onPointerDown: point,
      onPointerLeave: () => choose(null),
      onKeyDown: key,
      onBlur: () => choose(null),
    },
  };
}

export interface Values {
  /** "99 % of requests" */
  at: string;
  of: { name: string; text: string }[];
}

/** The same in words, for those who hear it. */
export const spoken = (values: Values | null): string =>
  values === null ? "no place chosen" : `${values.at}: ${values.of.slice(0, MOST_SHOWN).map((v) => `${v.name} ${v.text}`).join("; ") || "nothing"}`;

/** What stands at the place. */
export function Readout({ values }: { values: Values | null }) {
  if (values === null) return <p class="values hint">Point at the chart, or use its arrow keys, to read values.</p>;
  return (
    <p class="values">
      <b>{values.at}</b>
      {values.of.slice(0, MOST_SHOWN).map((v, i) => (
        <span key={i}>
          <bdi>{v.name}</bdi> {v.text}
        </span>
      ))}
      {values.of.length > MOST_SHOWN && <span>and {values.of.length - MOST_SHOWN} more</span>}
    </p>
  );
}
