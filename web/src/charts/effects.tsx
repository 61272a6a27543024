/** The effects of factors on several metrics, as intervals. */
import { scaleLinear } from "d3-scale";
import { confidence, interval, tick, unbroken, withUnit } from "../format";
import type { Effects } from "../page";

const HEIGHT = 26;
const MIDDLE = HEIGHT / 2;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** Shares of the mean on a linear axis that contains zero; `times` zooms in. */
function shareScale(of: Effects, times: number) {
  const ends = of.effects.flatMap((e) => [e.share_low, e.share_high]).filter(Number.isFinite);
  const low = ends.reduce((a, b) => Math.min(a, b), 0);
  const high = ends.reduce((a, b) => Math.max(a, b), 0);
  const room = (high - low || 1) * 0.06;
  const x = scaleLinear()
    .domain([(low - room) / times, (high + room) / times])
    .range([0, 100])
    .clamp(true);
  return { x, ticks: x.ticks(4), ends: x.domain() as [number, number] };
}

/** The effect of each factor on each metric, as shares of its mean: one row for each factor. */
export function EffectsChart({ all, times }: { all: Effects[]; times: number }) {
  const names = [...new Set(all.flatMap((of) => of.effects.map((e) => e.name)))];
  const scales = all.map((of) => shareScale(of, times));
  return (
    <div
      class="effects"
      style={{
        gridTemplateColumns: `minmax(8rem, auto) repeat(${all.length}, minmax(8.5rem, 1fr))`,
      }}
    >
      <span />
      {all.map((of) => (
        <p key={of.metric} class="effects-head">
          <b>{of.label}</b>
          <small>
            {of.reason ||
              `% of the mean of ${withUnit(of.mean, of.unit)}, with intervals at ${confidence(of.confidence)}`}
          </small>
        </p>
      ))}
      {names.map((name) => (
        <Row key={name} name={name} all={all} scales={scales} />
      ))}
      <span />
      {all.map((of, i) => (
        <svg key={of.metric} class="ratio-axis" width="100%" height="20" aria-hidden="true">
          {scales[i]!.ticks.map((t) => (
            <text key={t} class={t === 0 ? "one" : ""} x={pct(scales[i]!.x(t))} y="14">
              {tick(t * 100)}
            </text>
          ))}
        </svg>
      ))}
    </div>
  );
}

function Row({
  name,
  all,
  scales,
}: {
  name: string;
  all: Effects[];
  scales: ReturnType<typeof shareScale>[];
}) {
  return (
    <>
      <bdi class="effects-name">{name}</bdi>
      {all.map((of, i) => {
        const effect = of.effects.find(
          (e) => e.name === name && [e.share, e.share_low, e.share_high].every(Number.isFinite),
        );
        const { x, ticks, ends } = scales[i]!;
        const tone = !effect || (effect.low <= 0 && effect.high >= 0) ? "open" : "even";
        const label = effect
          ? `${name}, ${of.label}: ${interval(effect.value, effect.low, effect.high)} ${of.unit}`
          : `${name}, ${of.label}: nothing beyond chance`;
        return (
          <svg
            key={of.metric}
            class="strip"
            width="100%"
            height={HEIGHT}
            role="img"
            aria-label={label}
          >
            <title>{effect ? unbroken(effect.phrase) : label}</title>
            {ticks.map((t) => (
              <line key={t} class="grid" x1={pct(x(t))} x2={pct(x(t))} y1="0" y2={HEIGHT} />
            ))}
            <line class="one" x1={pct(x(0))} x2={pct(x(0))} y1="0" y2={HEIGHT} />
            {effect && (
              <>
                <g class={`whisker ${tone}`}>
                  <line
                    x1={pct(x(effect.share_low))}
                    x2={pct(x(effect.share_high))}
                    y1={MIDDLE}
                    y2={MIDDLE}
                  />
                  {effect.share_low < ends[0] && (
                    <svg x="0%" y={MIDDLE} overflow="visible">
                      <path d="M6,-5L0,0L6,5" />
                    </svg>
                  )}
                  {effect.share_high > ends[1] && (
                    <svg x="100%" y={MIDDLE} overflow="visible">
                      <path d="M-6,-5L0,0L-6,5" />
                    </svg>
                  )}
                </g>
                <circle class={`effect ${tone}`} cx={pct(x(effect.share))} cy={MIDDLE} r="4.5" />
              </>
            )}
          </svg>
        );
      })}
    </>
  );
}
