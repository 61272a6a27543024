/** The look of each contender: colour, mark and dash, and its name next to them. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Contender } from "./page";

/** The look of a contender in every chart: colour, mark and, beyond seven contenders, a dash. */
export interface Look {
  colour: string;
  mark: number;
  dash: string;
  baseline: boolean;
}

const COLOURS = 7;
const MARKS = 6;
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

/** Gives the baseline the colour of text, and the others the colours in their order. */
export function looks(contenders: readonly Contender[]): Map<string, Look> {
  const result = new Map<string, Look>();
  let place = 0;
  for (const { name, baseline } of contenders) {
    if (baseline) result.set(name, { colour: "var(--ink)", mark: 0, dash: "", baseline });
    else {
      result.set(name, {
        colour: `var(--c${(place % COLOURS) + 1})`,
        mark: (place % (MARKS - 1)) + 1,
        dash: DASHES[Math.floor(place / COLOURS) % DASHES.length]!,
        baseline,
      });
      place += 1;
    }
  }
  return result;
}

export const Looks = createContext<Map<string, Look>>(new Map());
const UNKNOWN: Look = { colour: "var(--quiet)", mark: 0, dash: "2 2", baseline: false };
export const useLook = () => {
  const all = useContext(Looks);
  return (name: string): Look => all.get(name) ?? UNKNOWN;
};

/** Marks, each of which fits a circle of radius 5 around the origin. */
const SHAPES = [
  "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
  "M-4,-4h8v8h-8z",
  "M0,-5L5,4H-5z",
  "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
  "M0,5L5,-4H-5z",
  "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
];

export function Mark({
  look,
  x,
  y,
  size = 1,
}: {
  look: Look;
  x: string;
  y: number;
  size?: number;
}) {
  return (
    <svg x={x} y={y} overflow="visible" aria-hidden="true">
      <path class="mark" d={SHAPES[look.mark]} fill={look.colour} transform={`scale(${size})`} />
    </svg>
  );
}

export function Swatch({ name }: { name: string }) {
  const look = useLook()(name);
  return (
    <svg class="swatch" width="22" height="12" aria-hidden="true">
      <line
        x1="0"
        x2="22"
        y1="6"
        y2="6"
        stroke={look.colour}
        stroke-width={look.baseline ? 2.5 : 1.8}
        stroke-dasharray={look.dash}
      />
      <Mark look={look} x="11" y={6} />
    </svg>
  );
}

/** A name of the record, as text with its own direction of writing. */
export function Name({ name }: { name: string }) {
  const { baseline } = useLook()(name);
  return (
    <span class={baseline ? "name baseline" : "name"}>
      <Swatch name={name} />
      <bdi>{name}</bdi>
    </span>
  );
}
