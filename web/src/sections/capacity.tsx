/** The capacity of each contender, with every probe of the search. */
import { useState } from "preact/hooks";
import { Kept } from "../charts/kept";
import { confidence, count, tick } from "../format";
import { Name } from "../identity";
import type { Capacity } from "../page";
import { DataTable, Pick, Section } from "../parts";
import { Legend, useHidden, useStrong } from "../shown";

/** The capacity of each contender, with every probe. */
export function CapacitySection({ capacities }: { capacities: Capacity[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const hidden = useHidden();
  const strong = useStrong();
  const of = capacities.find((c) => c.cell === chosen) ?? capacities[0];
  if (!of) return null;
  const title = `Capacity of ${of.cell}`;
  const capacityOf = (name: string) => {
    const value = of.lines.find((l) => l.contender === name)?.value ?? null;
    return value === null ? "unknown" : tick(value);
  };
  return (
    <Section
      id="capacity"
      title="Capacity"
      lead={`The number of ${of.unit} at which half of the probes keep ${of.service_level}. Marks above the curves are probes that kept it, marks below are probes that did not. The bar is the interval over blocks at ${confidence(of.confidence)}.`}
    >
      <div class="picks">
        <Pick
          label="Cell"
          options={capacities.map((c) => ({ value: c.cell, text: c.cell }))}
          value={of.cell}
          onPick={setChosen}
        />
      </div>
      <figure aria-label={title}>
        <Legend names={of.lines.map((l) => l.contender)} note={capacityOf} />
        <Kept
          of={{ ...of, lines: of.lines.filter((l) => !hidden.has(l.contender)) }}
          strong={strong}
        />
        {of.lines.some((l) => l.warnings.length > 0) && (
          <ul class="crossings">
            {of.lines.flatMap((l) =>
              l.warnings.map((warning) => (
                <li key={l.contender + warning} dir="auto">
                  <Name name={l.contender} />: {warning}
                </li>
              )),
            )}
          </ul>
        )}
        <CapacityTable of={of} title={title} />
        <DataTable
          title={`Probes of ${of.cell}`}
          columns={["Contender", "Kept", "Block", of.unit]}
          texts={2}
          rows={() =>
            of.lines.flatMap((l) =>
              l.probes.map(([block, level, kept]) => [
                l.contender,
                kept ? "yes" : "no",
                count(block),
                level,
              ]),
            )
          }
        />
      </figure>
    </Section>
  );
}

/** The capacities as a table. */
function CapacityTable({ of, title }: { of: Capacity; title: string }) {
  return (
    <DataTable
      title={title}
      columns={[
        "Contender",
        `Capacity, ${of.unit}`,
        "Low",
        "High",
        "Trials used",
        "Trials",
        "Probes",
        "Without result",
        "Restarts",
      ]}
      rows={() =>
        of.lines.map((l) => [
          l.contender,
          l.value,
          l.low,
          l.high,
          count(l.used),
          count(l.searched),
          count(l.probes.length),
          count(l.left_out),
          count(l.restarts),
        ])
      }
    />
  );
}
