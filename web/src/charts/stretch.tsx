/** Zoom along an axis by keys, buttons or a drag. Start with `useStretch`. */
import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Scale } from "./scales";

/** A part of an axis. */
export type Stretch = readonly [from: number, to: number];

const WHOLE: Stretch = [0, 100];
const NEAREST = 0.001; // the smallest part of the whole axis
const SHORTEST = 1; // per cent of the width from which a press counts as a drag

/** Zooms in (`by` below 1) or out, around `at`; null if that shows all of it. */
export function nearer(
  [from, to]: Stretch,
  [first, last]: Stretch,
  at: number,
  by: number,
): Stretch | null {
  const next: Stretch = [
    Math.max(first, at - (at - from) * by),
    Math.min(last, at + (to - at) * by),
  ];
  if (next[0] <= first && next[1] >= last) return null;
  return next[1] - next[0] > (last - first) * NEAREST ? next : [from, to];
}

const BY = new Map<string, number | null>([
  ["+", 0.5],
  ["=", 0.5],
  ["-", 2],
  ["0", null],
]);

/**
 * The factor by which a key zooms: null shows all of it, undefined is no zoom. Keys with Ctrl and
 * similar belong to the browser.
 */
export const stretchedBy = (
  e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">,
): number | null | undefined => (e.ctrlKey || e.metaKey || e.altKey ? undefined : BY.get(e.key));

/** The axis along the width of a chart. */
export interface Axis {
  /** in per cents of the width */
  x: Scale;
  /** the value at a per cent of the width */
  at: (place: number) => number;
}

/** The part of an axis that is shown. */
export interface View extends Axis {
  zoomed: boolean;
  /** the values at its ends */
  ends: Stretch;
  shows: (value: number) => boolean;
  /** zooms around a per cent of the width; null shows all of it */
  zoom: (by: number | null, around?: number) => void;
  /** the stretch dragged so far, in per cents of the width */
  drawn: Stretch | null;
  down: (e: TargetedPointerEvent<HTMLDivElement>) => void;
  move: (e: TargetedPointerEvent<HTMLDivElement>) => void;
  up: (e: TargetedPointerEvent<HTMLDivElement>) => void;
  cancel: () => void;
}

/** The place of an event in per cents of the chart's plane; null outside of it. */
export function placeOf(e: TargetedPointerEvent<HTMLDivElement>): number | null {
  const plane = (
    e.currentTarget.querySelector(".plane") ?? e.currentTarget.querySelector("svg")
  )?.getBoundingClientRect();
  return plane && plane.width > 0 ? (100 * (e.clientX - plane.left)) / plane.width : null;
}

const within = (place: number): number => Math.min(100, Math.max(0, place));

/** The places of a stretch of values on the whole axis; all of it if the stretch is empty. */
function places(axis: Axis, of: Stretch | null): Stretch {
  if (of === null) return WHOLE;
  const [from, to] = [axis.x(of[0]), axis.x(of[1])];
  return to - from > (100 * NEAREST) / 2 ? [from, to] : WHOLE;
}

/**
 * Zoom along an axis by keys, buttons or a drag. It lasts as long as `key`, which names the subject
 * of the axis.
 */
export function useStretch(axis: Axis, key: string): View {
  const [kept, keep] = useState<{ key: string; of: Stretch } | null>(null);
  const [drawn, draw] = useState<Stretch | null>(null);
  const began = useRef<number | null>(null);
  const [low, high] = places(axis, kept?.key === key ? kept.of : null);
  const zoomed = low > 0 || high < 100;
  const x = zoomed ? (value: number) => (100 * (axis.x(value) - low)) / (high - low) : axis.x;
  const whole = (place: number) => low + (place * (high - low)) / 100;
  const at = (place: number) => axis.at(whole(place));
  const show = (next: Stretch | null) =>
    keep(next && { key, of: [axis.at(next[0]), axis.at(next[1])] });
  const cancel = () => {
    began.current = null;
    draw(null);
  };
  return {
    x,
    at,
    zoomed,
    ends: [at(0), at(100)],
    shows: (value) => x(value) >= -1e-6 && x(value) <= 100 + 1e-6,
    zoom: (by, around = 50) =>
      show(by === null ? null : nearer([low, high], WHOLE, whole(around), by)),
    drawn,
    down: (e) => {
      const place = placeOf(e);
      // a moving finger scrolls the report
      if (
        e.pointerType === "touch" ||
        e.button !== 0 ||
        place === null ||
        place < -SHORTEST ||
        place > 100 + SHORTEST
      )
        return;
      began.current = within(place);
      e.currentTarget.setPointerCapture?.(e.pointerId);
    },
    move: (e) => {
      const place = placeOf(e);
      if (began.current === null || place === null) return;
      draw(began.current < place ? [began.current, within(place)] : [within(place), began.current]);
    },
    up: () => {
      if (drawn !== null && drawn[1] - drawn[0] >= SHORTEST)
        show([whole(drawn[0]), whole(drawn[1])]);
      cancel();
    },
    cancel,
  };
}

/** The stretch dragged so far. */
export function DrawnUp({ view: { drawn }, height }: { view: View; height: number }) {
  return (
    drawn && (
      <rect
        class="drawn-up"
        x={`${drawn[0].toFixed(3)}%`}
        width={`${(drawn[1] - drawn[0]).toFixed(3)}%`}
        y="0"
        height={height}
      />
    )
  );
}

interface ZoomProps {
  /** its subject, for screen readers */
  of: string;
  zoomed: boolean;
  zoom: (by: number | null) => void;
  /** the stretch that is shown, in words */
  shown: string;
}

const MOST_TIMES = 64;

/** Zoom of axes that keep their middle (1 or zero) in view; values beyond are drawn at the edge. */
export function useNearer(): {
  times: number;
  props: Pick<ZoomProps, "zoomed" | "zoom" | "shown">;
} {
  const [times, set] = useState(1);
  const zoom = (by: number | null) =>
    set(by === null ? 1 : Math.min(MOST_TIMES, Math.max(1, times / by)));
  return {
    times,
    props: {
      zoomed: times > 1,
      zoom,
      shown: `${times}×; values beyond are drawn at the edge`,
    },
  };
}

/** Buttons for zoom. */
export function Zoom({ of, zoomed, zoom, shown }: ZoomProps) {
  const buttons: [text: string, by: number | null, idle: boolean][] = [
    ["Zoom in", 0.5, false],
    ["Zoom out", 2, !zoomed],
    ["Show all", null, !zoomed],
  ];
  const key = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = stretchedBy(e);
    if (by === undefined) return;
    e.preventDefault();
    zoom(by);
  };
  return (
    <div class="zoom" role="group" aria-label={`Zoom: ${of}`} onKeyDown={key}>
      {buttons.map(([text, by, idle]) => (
        // not disabled, as a disabled button loses the focus after a press
        <button
          key={text}
          type="button"
          aria-label={`${text}: ${of}`}
          aria-disabled={idle}
          onClick={() => !idle && zoom(by)}
        >
          {text}
        </button>
      ))}
      <span class="small" role="status">
        {zoomed ? shown : ""}
      </span>
    </div>
  );
}
