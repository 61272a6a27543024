/** Metrics over the levels of swept parameters. */
import { useState } from "preact/hooks";
import { Levels } from "../charts/levels";
import { confidence, count } from "../format";
import type { Sweep } from "../page";
import { DataTable, Pick, prose, Section } from "../parts";
import { Legend, useHidden, useStrong } from "../shown";

const title = (s: Sweep): string => `${s.of} over ${s.parameter}`;

/** A metric over the levels of a swept parameter. */
export function CurvesSection({ sweeps }: { sweeps: Sweep[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [metric, setMetric] = useState<string | null>(null);
  const hidden = useHidden();
  const strong = useStrong();
  const titles = [...new Set(sweeps.map(title))];
  const of = titles.find((t) => t === chosen) ?? titles[0];
  const here = sweeps.filter((s) => title(s) === of);
  const shown = here.find((s) => s.metric === metric) ?? here[0];
  if (!of || !shown) return null;
  return (
    <Section
      id="curves"
      title="Curves"
      lead={`The typical trial at each level, with its interval over blocks at ${confidence(shown.confidence)}; levels are on a log scale. Verdicts compare within blocks, where drift cancels, so intervals may overlap here although a verdict is decided.`}
    >
      <div class="picks">
        <Pick
          label="Of"
          options={titles.map((t) => ({ value: t, text: t }))}
          value={of}
          onPick={setChosen}
        />
        <Pick
          label="Metric"
          options={here.map((s) => ({ value: s.metric, text: s.label }))}
          value={shown.metric}
          onPick={setMetric}
        />
      </div>
      <figure aria-label={`${shown.label}: ${of}`}>
        <Legend names={shown.lines.map((l) => l.contender)} />
        <Levels
          of={{ ...shown, lines: shown.lines.filter((l) => !hidden.has(l.contender)) }}
          strong={strong}
        />
        {shown.crossings.length + shown.repetitions.length > 0 && (
          <ul class="crossings">
            {[...shown.repetitions, ...shown.crossings.map((c) => c.sentence)].map(
              (sentence, i) => (
                <li key={i} dir="auto">
                  {prose(sentence)}
                </li>
              ),
            )}
          </ul>
        )}
        <DataTable
          title={`${shown.label}: ${of}`}
          columns={[
            "Contender",
            shown.parameter,
            shown.unit ? `${shown.label}, ${shown.unit}` : shown.label,
            "Low",
            "High",
            "Blocks used",
          ]}
          rows={() =>
            shown.lines.flatMap((l) =>
              l.points.map((p) => [l.contender, p.level, p.value, p.low, p.high, count(p.used)]),
            )
          }
        />
      </figure>
    </Section>
  );
}
