/** A ratio with its interval, its outcome and its statistics. Start with `Interval`. */
import type { ComponentChildren } from "preact";
import { confidence, interval, probability, tick } from "../format";
import type { Claim, Estimate as Judged, Verdict } from "../page";
import { band, type RatioScale } from "./scales";

type Range = [low: number, high: number];

/** An outcome; `itself` is the baseline compared with itself. */
export type Finding = Verdict["outcome"] | Claim["outcome"] | "itself";

/**
 * The colour (tone) and the shape of each outcome; shapes differ without colour as well. Each fits
 * a circle of radius 6 around the origin.
 */
const FINDINGS: Record<Finding, { tone: "good" | "bad" | "even" | "open"; shape: string }> = {
  better: { tone: "good", shape: "M0,-6L6,5H-6z" },
  confirmed: { tone: "good", shape: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z" },
  worse: { tone: "bad", shape: "M0,6L6,-5H-6z" },
  refuted: { tone: "bad", shape: "M-6,-4L-4,-6L0,-2L4,-6L6,-4L2,0L6,4L4,6L0,2L-4,6L-6,4L-2,0z" },
  equivalent: { tone: "even", shape: "M-5,-5H5V-1H-5zM-5,1H5V5H-5z" },
  itself: { tone: "even", shape: "M-1.5,-6h3v12h-3z" },
  undecided: { tone: "open", shape: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z" },
};

function Glyph({ finding }: { finding: Finding }) {
  const { tone, shape } = FINDINGS[finding];
  return <path class={`glyph ${tone}`} d={shape} />;
}

/** An outcome as a mark and a word. */
export function Outcome({ finding, word = finding }: { finding: Finding; word?: string }) {
  return (
    <span class={`outcome ${FINDINGS[finding].tone}`}>
      <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
        <Glyph finding={finding} />
      </svg>
      {word}
    </span>
  );
}

export interface Estimate {
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  margin: number;
  outcome: Finding;
  /** the interval that did not decide */
  other?: Range | null;
}

/** The narrower of the two intervals of a verdict. */
export const other = (e: Judged): Range | null =>
  e.decided_by === "t" ? e.bootstrap : e.decided_by === "bootstrap" ? e.t : null;

/** The interval that decided, and its check: "97.5 % by t; sign flip p 0.0005". */
export function Ground({ of }: { of: Judged & { outcome: Finding } }) {
  if (of.ratio_low === null) return null;
  const by = of.decided_by
    ? ` by ${of.decided_by}`
    : of.t && of.bootstrap
      ? " by t and bootstrap"
      : null;
  const needed =
    of.outcome === "undecided" &&
    of.blocks_needed !== null &&
    !of.reason.includes(String(of.blocks_needed)) &&
    of.blocks_needed;
  return (
    <p class="small ground">
      {confidence(of.confidence)}
      {by ?? " interval"}
      {of.sign_flip_p !== null && `; sign flip p\u00a0${probability(of.sign_flip_p)}`}
      {needed && `; about ${needed} blocks would settle it`}
    </p>
  );
}

const GROUNDS = [
  "Decided by",
  "Confidence",
  "t interval",
  "Bootstrap interval",
  "Sign flip p",
  "Blocks needed",
];

/** The same for a table. */
export const grounds = (e: Judged): (string | null)[] => [
  e.decided_by,
  e.ratio_low === null ? null : confidence(e.confidence),
  e.t && interval(e.ratio, ...e.t),
  e.bootstrap && interval(e.ratio, ...e.bootstrap),
  e.sign_flip_p === null ? null : probability(e.sign_flip_p),
  e.blocks_needed === null ? null : String(e.blocks_needed),
];
grounds.columns = GROUNDS;

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;
const BENEATH = MIDDLE + 8.5;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** One ratio with its interval on the common axis, over the band of its margin. */
export function Interval({ of, scale, label }: { of: Estimate; scale: RatioScale; label: string }) {
  const { ratio, ratio_low: low, ratio_high: high, outcome } = of;
  const [from, to] = band(of.margin).map(scale.x) as [number, number];
  const { tone } = FINDINGS[outcome];
  const beyond = (v: number) => v > scale.reach || v < 1 / scale.reach;
  return (
    <svg class="interval" width="100%" height={HEIGHT} role="img" aria-label={label}>
      {scale.ticks.map((t) => (
        <line key={t} class="grid" x1={pct(scale.x(t))} x2={pct(scale.x(t))} y1="0" y2={HEIGHT} />
      ))}
      <rect class="band" x={pct(from)} width={pct(to - from)} y="0" height={HEIGHT} />
      <line class="one" x1="50%" x2="50%" y1="0" y2={HEIGHT} />
      {low !== null && high !== null && (
        <g class={`whisker ${tone}`}>
          <line x1={pct(scale.x(low))} x2={pct(scale.x(high))} y1={MIDDLE} y2={MIDDLE} />
          {[low, high].filter(beyond).map((end) => (
            <svg key={end} x={pct(scale.x(end))} y={MIDDLE} overflow="visible">
              <path d={end > 1 ? "M-6,-5L0,0L-6,5" : "M6,-5L0,0L6,5"} />
            </svg>
          ))}
        </g>
      )}
      {of.other && (
        <line
          class="other"
          x1={pct(scale.x(of.other[0]))}
          x2={pct(scale.x(of.other[1]))}
          y1={BENEATH}
          y2={BENEATH}
        />
      )}
      {ratio === null ? (
        <text class="none" x="50%" dx="8" y={MIDDLE} dy=".35em">
          no ratio
        </text>
      ) : (
        <svg x={pct(scale.x(ratio))} y={MIDDLE} overflow="visible">
          <g transform="scale(.85)">
            <Glyph finding={outcome} />
          </g>
        </svg>
      )}
    </svg>
  );
}

/** The axis above a column of intervals. */
export function RatioAxis({ scale }: { scale: RatioScale }) {
  return (
    <svg class="ratio-axis" width="100%" height="20" aria-hidden="true">
      {scale.ticks.map((t) => (
        <text key={t} class={t === 1 ? "one" : ""} x={pct(scale.x(t))} y="14">
          {tick(t)}×
        </text>
      ))}
    </svg>
  );
}

/** Explains the thin line below a bar. */
export function OtherInterval() {
  return (
    <span>
      <svg width="22" height="12" aria-hidden="true">
        <line class="whisker even" x1="1" x2="21" y1="4" y2="4" />
        <line class="other" x1="5" x2="18" y1="10" y2="10" />
      </svg>
      the union of two intervals decides (t and hierarchical bootstrap); if one contains the other,
      the narrower one is drawn below
    </span>
  );
}

/** Explains marks, bars and band. */
export function IntervalKey({
  findings,
  confidences,
  children,
}: {
  findings: Finding[];
  confidences: number[];
  children?: ComponentChildren;
}) {
  const known = [...new Set(confidences)].sort((a, b) => a - b).map(confidence);
  return (
    <p class="key">
      {findings.map((f) => (
        <Outcome key={f} finding={f} />
      ))}
      <span>
        <svg width="22" height="12" aria-hidden="true">
          <rect class="band" width="22" height="12" />
          <line class="one" x1="11" x2="11" y1="0" y2="12" />
        </svg>
        within the margin: too little to matter
      </span>
      <span>
        Bar: {known.length === 1 && `${known[0]} `}interval of the ratio to the baseline, log scale.
      </span>
      {children}
    </p>
  );
}
