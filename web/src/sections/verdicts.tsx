/** The verdicts of the chosen cell, each metric on its own axis. */
import {
  Ground,
  grounds,
  Interval,
  IntervalKey,
  OtherInterval,
  Outcome,
  other,
  RatioAxis,
} from "../charts/interval";
import { band, ratioScale } from "../charts/scales";
import { useNearer, Zoom } from "../charts/stretch";
import { count, percent, withUnit } from "../format";
import { Name } from "../identity";
import type { Verdict } from "../page";
import { type CellChoice, CellPicker, DataTable, prose, Section } from "../parts";
import { useTicks } from "../ticks";

export function VerdictsSection({ verdicts, ...choice }: { verdicts: Verdict[] } & CellChoice) {
  const here = verdicts.filter((v) => v.cell === choice.cell?.name);
  const near = useNearer();
  const metrics = [...new Set(here.map((v) => v.metric))];
  return (
    <Section
      id="verdicts"
      title="Verdicts"
      lead="Every contender against the baseline, metric by metric, from ratios within each block. The union of two intervals decides."
    >
      <CellPicker {...choice} />
      {here.length === 0 ? (
        <p class="empty">There is no verdict for this cell.</p>
      ) : (
        <figure
          class="forest"
          aria-label={`Verdicts in cell ${choice.cell?.name}: ratios to the baseline with intervals`}
        >
          {metrics.map((metric) => (
            <Metric
              key={metric}
              verdicts={here.filter((v) => v.metric === metric)}
              times={near.times}
            />
          ))}
          <Zoom of={`verdicts in ${choice.cell?.name}`} {...near.props} />
          <IntervalKey
            findings={["better", "worse", "equivalent", "undecided"]}
            confidences={here.filter((v) => v.ratio_low !== null).map((v) => v.confidence)}
          >
            <OtherInterval />
          </IntervalKey>
          <VerdictsTable verdicts={here} cell={choice.cell?.name ?? ""} />
        </figure>
      )}
    </Section>
  );
}

/** One metric on its own axis: on a common one, a start-up ratio of 0.01 would hide the others. */
function Metric({ verdicts, times }: { verdicts: Verdict[]; times: number }) {
  const ratios = verdicts.flatMap((v) => [
    v.ratio,
    v.ratio_low,
    v.ratio_high,
    ...(other(v) ?? []),
    ...band(v.margin),
  ]);
  const scale = ratioScale(ratios, useTicks(), times);
  const drawn = verdicts.some((v) => v.ratio !== null);
  const { label, unit, lower_is_better: lower, baseline, baseline_value } = verdicts[0]!;
  return (
    <div class="metric" role="group" aria-label={label}>
      <div class="forest-row metric-head">
        <h3>
          <bdi>{label}</bdi>
        </h3>
        {drawn ? <RatioAxis scale={scale} /> : <span />}
        <p class="small">
          {lower ? "◂ less is better" : "more is better ▸"}
          {baseline_value !== null && (
            <>
              ; <bdi>{baseline}</bdi> {withUnit(baseline_value, unit)}
            </>
          )}
        </p>
      </div>
      {verdicts.map((v) => (
        <div class="forest-row" key={v.contender}>
          <Name name={v.contender} />
          {drawn ? (
            <Interval
              of={{ ...v, other: other(v) }}
              scale={scale}
              label={`${v.label}, ${v.contender}: ${v.outcome}. ${v.phrase}`}
            />
          ) : (
            <span class="small no-ratio">no ratio</span>
          )}
          <div class="phrase">
            <Outcome finding={v.outcome} /> <span dir="auto">{prose(v.phrase)}</span>
            {/* without a ratio the phrase is the reason */}
            {v.outcome === "undecided" && v.reason && v.reason !== v.phrase && (
              <p class="small" dir="auto">
                {prose(v.reason)}
              </p>
            )}
            <Ground of={v} />
          </div>
        </div>
      ))}
    </div>
  );
}

/** The verdicts of a cell as a table. */
function VerdictsTable({ verdicts, cell }: { verdicts: Verdict[]; cell: string }) {
  return (
    <DataTable
      title={`verdicts in ${cell}`}
      columns={[
        "Metric",
        "Contender",
        "Outcome",
        "Verdict",
        "Why undecided",
        "Ratio",
        "Low",
        "High",
        ...grounds.columns,
        "Value",
        "Baseline",
        "Unit",
        "Margin",
        "Blocks used",
        "Excluded",
      ]}
      texts={5}
      rows={() =>
        verdicts.map((v) => [
          v.label,
          v.contender,
          v.outcome,
          v.phrase,
          v.reason || null,
          v.ratio,
          v.ratio_low,
          v.ratio_high,
          ...grounds(v),
          v.value,
          v.baseline_value,
          v.unit,
          percent(v.margin),
          count(v.used),
          count(v.excluded),
        ])
      }
    />
  );
}
