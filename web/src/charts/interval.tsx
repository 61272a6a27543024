import type { ComponentChildren } from "preact";
import { tick } from "../format";
import type { Claim, Verdict } from "../page";
import { band, type RatioScale } from "./scales";

export type Finding = Verdict["outcome"] | Claim["outcome"];

/** Tone is the colour; the shape says the same without it. Each fits a circle of radius 6 around the origin. */
const FINDINGS: Record<Finding, { tone: "good" | "bad" | "even" | "open"; shape: string }> = {
  better: { tone: "good", shape: "M0,-6L6,5H-6z" },
  confirmed: { tone: "good", shape: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z" },
  worse: { tone: "bad", shape: "M0,6L6,-5H-6z" },
  refuted: { tone: "bad", shape: "M-6,-4L-4,-6L0,-2L4,-6L6,-4L2,0L6,4L4,6L0,2L-4,6L-6,4L-2,0z" },
  equivalent: { tone: "even", shape: "M-5,-5H5V-1H-5zM-5,1H5V5H-5z" },
  undecided: { tone: "open", shape: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z" },
};

function Glyph({ finding }: { finding: Finding }) {
  const { tone, shape } = FINDINGS[finding];
  return <path class={`glyph ${tone}`} d={shape} />;
}

/** The outcome as mark and word. */
export function Outcome({ finding }: { finding: Finding }) {
  return (
    <span class={`outcome ${FINDINGS[finding].tone}`}>
      <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
        <Glyph finding={finding} />
      </svg>
      {finding}
    </span>
  );
}

export interface Estimate {
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  margin: number;
  outcome: Finding;
}

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;
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

/** The axis that stands over and under a column of intervals. */
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

/** What the marks mean, and how to read the rest. */
export function IntervalKey({ findings, children }: { findings: Finding[]; children?: ComponentChildren }) {
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
      <span>Bar: 95 % interval of the ratio to the baseline, log scale.</span>
      {children}
    </p>
  );
}
