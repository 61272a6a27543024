/** CPU time per request by category: contenders next to each other, with their intervals. */
import { interval, sig, tick } from "../format";
import { Name, useLook } from "../identity";
import type { CausesCategory, CausesContender, CausesCost } from "../page";
import { linear } from "./linear";

const HEIGHT = 16;
const pct = (x: number) => `${x.toFixed(3)}%`;

/** One group of bars for each category, one bar in it for each contender. */
export function CategoryBars({
  categories,
  contenders,
  shown,
}: {
  categories: CausesCategory[];
  contenders: CausesContender[];
  /** the indices of the contenders that are not hidden */
  shown: number[];
}) {
  const ends = categories.flatMap((c) =>
    shown.flatMap((at) => [c.costs[at]?.us ?? 0, c.costs[at]?.high ?? 0]),
  );
  const { x, ticks } = linear(ends);
  return (
    <div class="categories">
      {categories.map((category) => (
        <div key={category.name} class="category" role="group" aria-label={category.name}>
          <h3>
            <bdi>{category.name}</bdi>
          </h3>
          <div>
            {shown.map((at) => (
              <Bar
                key={at}
                contender={contenders[at]!.name}
                category={category.name}
                cost={category.costs[at]}
                x={x}
                ticks={ticks}
              />
            ))}
          </div>
        </div>
      ))}
      <div class="category" aria-hidden="true">
        <span />
        <div class="cause-bar">
          <span />
          <svg class="ratio-axis" width="100%" height="20">
            {ticks.map((t) => (
              <text key={t} x={pct(x(t))} y="14">
                {tick(t)}
              </text>
            ))}
          </svg>
          <span class="small">µs per request</span>
        </div>
      </div>
    </div>
  );
}

function Bar({
  contender,
  category,
  cost,
  x,
  ticks,
}: {
  contender: string;
  category: string;
  cost: CausesCost | undefined;
  x: (us: number) => number;
  ticks: number[];
}) {
  const look = useLook()(contender);
  const us = cost && Number.isFinite(cost.us) ? cost.us : 0;
  const [low, high] = [cost?.low ?? null, cost?.high ?? null];
  const drawn = low !== null && high !== null && Number.isFinite(low) && Number.isFinite(high);
  const text = interval(cost?.us ?? null, low, high);
  return (
    <div class="cause-bar">
      <Name name={contender} />
      <svg
        class="strip"
        width="100%"
        height={HEIGHT}
        role="img"
        aria-label={`${category}, ${contender}: ${text} µs per request`}
      >
        {ticks.map((t) => (
          <line key={t} class="grid" x1={pct(x(t))} x2={pct(x(t))} y1="0" y2={HEIGHT} />
        ))}
        <rect y="3" width={pct(x(us))} height={HEIGHT - 6} fill={look.colour} opacity="0.75" />
        {drawn && (
          <line
            class="cause-interval"
            x1={pct(x(low))}
            x2={pct(x(high))}
            y1={HEIGHT / 2}
            y2={HEIGHT / 2}
          />
        )}
      </svg>
      <span class="cause-value" title={`${text} µs`}>
        {sig(us)}
        {drawn && <small> ({`${sig(low)} to ${sig(high)}`})</small>}
      </span>
    </div>
  );
}
