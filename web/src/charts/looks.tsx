/** A line of blocks with the interim analyses. */
import { confidence } from "../format";
import type { Stopping } from "../page";

const LINE = 34;
const HEIGHT = 62;
const MOST_LABELS = 6;
const MOST_TICKS = 120;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** A line of blocks: those that were run, and the interim analyses with their confidence. */
export function LooksLine({ of }: { of: Stopping }) {
  const last = Math.max(1, of.planned, of.run, ...of.looks.map((l) => l.blocks));
  const x = (blocks: number) => 2 + (96 * Math.min(Math.max(0, blocks), last)) / last;
  const ticks = last <= MOST_TICKS ? Array.from({ length: last }, (_, i) => i + 1) : [];
  const sparse = of.looks.length > MOST_LABELS;
  const label = of.looks
    .map(
      (l) => `after ${l.blocks} blocks at ${confidence(l.confidence)}${l.taken ? ", taken" : ""}`,
    )
    .join("; ");
  return (
    <svg
      class="looks"
      width="100%"
      height={HEIGHT}
      overflow="visible"
      role="img"
      aria-label={`${of.run} of ${of.planned} blocks were run. Interim analyses: ${label || "none"}.`}
    >
      <line class="planned" x1={pct(x(0))} x2={pct(x(last))} y1={LINE} y2={LINE} />
      <line class="run" x1={pct(x(0))} x2={pct(x(of.run))} y1={LINE} y2={LINE} />
      {ticks.map((block) => (
        <line
          key={block}
          class="grid-tick"
          x1={pct(x(block))}
          x2={pct(x(block))}
          y1={LINE - 3}
          y2={LINE + 3}
        />
      ))}
      {of.looks.map((look, i) => (
        <svg key={i} x={pct(x(look.blocks))} y={LINE} overflow="visible">
          <path class={look.taken ? "look taken" : "look"} d="M0,-7L7,0L0,7L-7,0z" />
          {(!sparse || i === of.looks.length - 1 || look.taken !== of.looks[i + 1]?.taken) && (
            <g class={x(look.blocks) > 92 ? "end" : x(look.blocks) < 8 ? "" : "middle"}>
              <text class="tick" y="-14">
                {look.confidence < 1 ? confidence(look.confidence) : "no verdict yet"}
              </text>
              <text class="tick" y="24">
                {look.blocks}
              </text>
            </g>
          )}
        </svg>
      ))}
    </svg>
  );
}
