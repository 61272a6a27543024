import { useState } from "preact/hooks";
import { Curves } from "../charts/curves";
import { quantileName } from "../charts/scales";
import { count, sig } from "../format";
import { Name } from "../identity";
import type { Curve } from "../page";
import { among, CellPicker, DataTable, latencyWord, Section, type CellChoice } from "../parts";

export function LatencySection({ curves, ...all }: { curves: Curve[] } & CellChoice) {
  const choice = among(all, curves.map((c) => c.cell));
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [strong, setStrong] = useState<string | null>(null);
  const here = curves.filter((c) => c.cell === choice.cell?.name);
  const shown = here.filter((c) => !hidden.has(c.contender));
  const word = latencyWord(choice.cell);
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  return (
    <Section
      id="latency"
      title={`${word} by quantile`}
      lead={
        choice.cell?.scheduled === false
          ? "The load has no schedule, so this is service time: it counts from the sending, and a pause of the contender holds back the requests that would have felt it."
          : "Counted from the instant a request was due, so that waiting counts. Each further nine takes the same width; a line ends where its samples no longer support a quantile."
      }
    >
      <CellPicker {...choice} />
      {here.length === 0 ? (
        <p class="empty">No latency was recorded for this cell.</p>
      ) : (
        <figure>
          <div class="legend" role="group" aria-label="Show or hide a contender">
            {here.map((c) => (
              <button
                key={c.contender}
                type="button"
                aria-pressed={!hidden.has(c.contender)}
                onClick={() => toggle(c.contender)}
                onPointerEnter={() => setStrong(c.contender)}
                onPointerLeave={() => setStrong(null)}
                onFocus={() => setStrong(c.contender)}
                onBlur={() => setStrong(null)}
              >
                <Name name={c.contender} />
              </button>
            ))}
          </div>
          <Curves
            curves={shown}
            strong={strong !== null && !hidden.has(strong) ? strong : null}
            name={`${word} by quantile in cell ${choice.cell?.name}, ${shown.length} contenders`}
            axis={`${word}, ms`}
          />
          <DataTable
            title={`${word.toLowerCase()} by quantile in ${choice.cell?.name}`}
            columns={["Contender", "Quantile", `${word}, ms`, "Samples of the curve"]}
            texts={1}
            rows={() => here.flatMap((c) => c.points.map(([q, ms]) => [c.contender, quantileName(q), sig(ms), count(c.samples)]))}
          />
        </figure>
      )}
    </Section>
  );
}
