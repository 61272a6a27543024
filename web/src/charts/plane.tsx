/** Parts that charts with two axes share: ticks, lines, and names at the ends of lines. */
import type { ComponentChildren } from "preact";
import { short, tick } from "../format";
import { useLook } from "../identity";

/** Width of the stretched box that holds the lines. */
export const WIDTH = 1000;

export const pct = (x: number) => `${x.toFixed(3)}%`;

/** Horizontal lines and texts at the ticks of the vertical axis. */
export function Rows({
  ticks,
  y,
  left = 8,
}: {
  ticks: readonly number[];
  y: (value: number) => number;
  left?: number;
}) {
  return (
    <>
      {ticks.map((t) => (
        <g key={t}>
          <line class="grid" x1="0" x2="100%" y1={y(t)} y2={y(t)} />
          <text class="tick end" x={-left} y={y(t)} dy=".35em">
            {tick(t)}
          </text>
        </g>
      ))}
    </>
  );
}

/** Vertical lines and texts at the ticks of the horizontal axis, and its name. */
export function Columns({
  ticks,
  x,
  height,
  name,
  text = tick,
}: {
  ticks: readonly number[];
  x: (value: number) => number;
  height: number;
  name: string;
  text?: (value: number) => string;
}) {
  return (
    <>
      {ticks.map((t) => (
        <g key={t}>
          <line class="grid" x1={pct(x(t))} x2={pct(x(t))} y1="0" y2={height} />
          <text class="tick middle" x={pct(x(t))} y={height + 18}>
            {text(t)}
          </text>
        </g>
      ))}
      <text class="axis middle" x="50%" y={height + 38}>
        {name}
      </text>
    </>
  );
}

/** The box whose lines are stretched to the width of the chart. */
export function LineBox({
  height,
  zoomed,
  children,
}: {
  height: number;
  zoomed: boolean;
  children: ComponentChildren;
}) {
  return (
    <svg
      width="100%"
      height={height}
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
      overflow={zoomed ? "hidden" : "visible"}
    >
      {children}
    </svg>
  );
}

/** The line of a contender in its colour and dash. */
export function ContenderLine({ name, d, faint }: { name: string; d: string; faint: string }) {
  const { colour, dash, baseline } = useLook()(name);
  return (
    <path
      class={`curve ${faint}`}
      d={d}
      stroke={colour}
      stroke-width={baseline ? 2.6 : 1.9}
      stroke-dasharray={dash}
    />
  );
}

/** The vertical line at the chosen place. */
export function PlaceLine({ x, height }: { x: number; height: number }) {
  return <line class="probe" x1={pct(x)} x2={pct(x)} y1="0" y2={height} />;
}

/** The name of a contender, connected to the end of its line. */
export function EndLabel({
  name,
  end: [right, height],
  label,
}: {
  name: string;
  end: readonly [x: number, y: number];
  label: number;
}) {
  const { colour } = useLook()(name);
  return (
    <g class="direct">
      <line x1={pct(right)} y1={height} x2="100%" y2={height} stroke={colour} />
      <svg x="100%" overflow="visible">
        <line x1="0" y1={height} x2="10" y2={label} stroke={colour} />
        <text x="14" y={label} dy=".35em">
          {short(name)}
        </text>
      </svg>
    </g>
  );
}

/** The class of a line while another contender is highlighted. */
export const faintness = (strong: string | null, name: string): string =>
  strong !== null && strong !== name ? "faint" : "";
