/** The effects of crossed factors. */
import { useState } from "preact/hooks";
import { EffectsChart } from "../charts/effects";
import { useNearer, Zoom } from "../charts/stretch";
import { count, probability } from "../format";
import type { Effects } from "../page";
import { DataTable, Pick, Scroll, Section } from "../parts";

/** The effect of each crossed factor, apart from the others. */
export function EffectsSection({ effects }: { effects: Effects[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const near = useNearer();
  const cells = [...new Set(effects.map((e) => e.cell))];
  const cell = cells.find((c) => c === chosen) ?? cells[0];
  const here = effects.filter((e) => e.cell === cell);
  if (!cell) return null;
  const used = here.map((e) => `${count(e.used)} of ${count(e.used + e.excluded)}`);
  return (
    <Section
      id="effects"
      title="Effects"
      lead="Every factor was present in half of the starts and absent in the other half, in every combination with the others. Each effect is the mean with the factor minus the mean without it. Pairs of factors are listed only if together they surely add more, or less, than their sum."
    >
      <div class="picks">
        <Pick
          label="Cell"
          options={cells.map((c) => ({ value: c, text: c }))}
          value={cell}
          onPick={setChosen}
        />
      </div>
      <figure aria-label={`What each factor adds in ${cell}`}>
        <Scroll label={`What each factor adds in ${cell}`}>
          <EffectsChart all={here} times={near.times} />
        </Scroll>
        <Zoom of={`what each factor adds in ${cell}`} {...near.props} />
        <p class="key">
          <span>Starts used: {[...new Set(used)].join(", ")}.</span>
          <span>Dashed: not beyond chance.</span>
        </p>
        <DataTable
          title={`What each factor adds in ${cell}`}
          columns={["Factor", "Metric", "Adds", "Low", "High", "% of the mean", "p (Holm)"]}
          texts={2}
          rows={() =>
            here.flatMap((of) =>
              of.effects.map((e) => [
                e.name,
                of.unit ? `${of.label}, ${of.unit}` : of.label,
                e.value,
                e.low,
                e.high,
                e.share * 100,
                e.p === null ? null : probability(e.p),
              ]),
            )
          }
        />
      </figure>
    </Section>
  );
}
