/** Values at a place of a chart, chosen by pointer or keys. Start with `useProbe`. */
import type { HTMLAttributes, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { placeOf, stretchedBy, type View } from "./stretch";

const MOST_SHOWN = 12;

/**
 * A place among `stops`, chosen by pointer or keys, which also zoom. `stops` are values of the axis
 * in their order.
 */
export function useProbe(
  view: View,
  stops: readonly number[],
): { at: number | null; props: HTMLAttributes<HTMLDivElement> } {
  const [chosen, choose] = useState<number | null>(null);
  const first = stops.findIndex(view.shows);
  const last = stops.findLastIndex(view.shows);
  const at = chosen === null || chosen < first || chosen > last || last < 0 ? null : chosen;
  const point = (e: TargetedPointerEvent<HTMLDivElement>) => {
    const place = placeOf(e);
    if (place === null || last < 0) return;
    let best = first;
    for (let i = first; i <= last; i++)
      if (Math.abs(view.x(stops[i]!) - place) < Math.abs(view.x(stops[best]!) - place)) best = i;
    choose(best);
  };
  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = stretchedBy(e);
    if (by !== undefined) {
      e.preventDefault();
      return view.zoom(by, at === null ? undefined : view.x(stops[at]!));
    }
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: 10,
      PageDown: -10,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[e.key];
    if (e.key === "Escape") return choose(null);
    if (step === undefined || last < 0) return;
    e.preventDefault();
    const from = at ?? (step > 0 ? first - 1 : last + 1);
    choose(Math.min(last, Math.max(first, from + step)));
  };
  if (stops.length === 0) return { at, props: { role: "group", "aria-valuetext": undefined } };
  return {
    at,
    props: {
      tabIndex: 0,
      role: "slider",
      "aria-valuemin": Math.max(0, first),
      "aria-valuemax": Math.max(0, last),
      "aria-valuenow": at ?? Math.max(0, first),
      onPointerMove: (e) => {
        point(e);
        view.move(e);
      },
      onPointerDown: (e) => {
        point(e);
        view.down(e);
      },
      onPointerUp: view.up,
      onPointerCancel: view.cancel,
      onPointerLeave: () => choose(null),
      onDblClick: () => view.zoom(null),
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

/** The same in words, for screen readers. */
export const spoken = (values: Values | null): string =>
  values === null
    ? "no place chosen"
    : `${values.at}: ${
        values.of
          .slice(0, MOST_SHOWN)
          .map((v) => `${v.name} ${v.text}`)
          .join("; ") || "nothing"
      }`;

/** The values at the place. */
export function Readout({ values }: { values: Values | null }) {
  if (values === null)
    return (
      <p class="values hint">
        Point at the chart, or use its arrow keys, to read values; drag, or use + − 0, to zoom.
      </p>
    );
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
