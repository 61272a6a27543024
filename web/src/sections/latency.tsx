/** Latency by quantile in the chosen cell. */
import { useState } from "preact/hooks";
import { Curves } from "../charts/curves";
import { quantileName } from "../charts/scales";
import { count } from "../format";
import type { Curve } from "../page";
import {
  among,
  type CellChoice,
  CellPicker,
  DataTable,
  latencyWord,
  Pick,
  Section,
} from "../parts";
import { Legend, useHidden, useStrong } from "../shown";

/** The quantiles at which the axis may begin: the whole curve, or only its tail. */
const FROM = [0, 0.5, 0.9, 0.99];

export function LatencySection({ curves, ...all }: { curves: Curve[] } & CellChoice) {
  const choice = among(
    all,
    curves.map((c) => c.cell),
  );
  const hidden = useHidden();
  const strong = useStrong();
  const [chosen, setFrom] = useState(0);
  const here = curves.filter((c) => c.cell === choice.cell?.name);
  const shown = here.filter((c) => !hidden.has(c.contender));
  const word = latencyWord(choice.cell);
  const top = here.reduce((most, c) => c.points.reduce((a, [q]) => Math.max(a, q), most), 0);
  const reached = FROM.filter((q) => q === 0 || top > q);
  const from = reached.includes(chosen) ? chosen : 0;
  return (
    <Section
      folded
      id="latency"
      title={`${word} by quantile`}
      lead={
        choice.cell?.scheduled === false
          ? "The load has no schedule, so this is service time, from the instant of sending. A pause of the contender also delays the requests that would have measured it."
          : "Measured from the scheduled instant of a request, so waiting is included. Each further nine has the same width. A line ends where there are too few samples for a quantile."
      }
    >
      <CellPicker {...choice} />
      {here.length === 0 ? (
        <p class="empty">No latency was recorded for this cell.</p>
      ) : (
        <figure aria-label={`${word} by quantile in cell ${choice.cell?.name}`}>
          {reached.length > 1 && (
            <div class="picks">
              <Pick
                label="From"
                value={String(from)}
                onPick={(q) => setFrom(Number(q))}
                options={reached.map((q) => ({
                  value: String(q),
                  text: q === 0 ? "the shortest" : quantileName(q),
                }))}
              />
            </div>
          )}
          <Legend names={here.map((c) => c.contender)} />
          <Curves
            curves={shown}
            from={from}
            strong={strong}
            name={`${word} by quantile in cell ${choice.cell?.name}, ${shown.length} contenders`}
            axis={`${word}, ms`}
          />
          <DataTable
            title={`${word.toLowerCase()} by quantile in ${choice.cell?.name}`}
            columns={["Contender", "Quantile", `${word}, ms`, "Samples of the curve"]}
            texts={1}
            rows={() =>
              here.flatMap((c) =>
                c.points.map(([q, ms]) => [c.contender, quantileName(q), ms, count(c.samples)]),
              )
            }
          />
        </figure>
      )}
    </Section>
  );
}
