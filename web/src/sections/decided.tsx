/** The section about how verdicts were decided. Start with `DecidedSection`. */
import { Interval, RatioAxis } from "../charts/interval";
import { LooksLine } from "../charts/looks";
import { band, ratioScale } from "../charts/scales";
import { useNearer, Zoom } from "../charts/stretch";
import { confidence, count, interval, percent, probability } from "../format";
import { Name } from "../identity";
import type { Claim, Noise, Page, Stopping } from "../page";
import { CopyTable, DataTable, Facts, Scroll, Section } from "../parts";
import { useTicks } from "../ticks";

type Props = Pick<Page, "claims" | "stopping" | "noise" | "instrument" | "contenders">;

/**
 * The statistics behind the verdicts: interim analyses, the correction for many claims, the noise
 * of the machine, and the error of the instrument.
 */
export function DecidedSection({ claims, stopping, noise, instrument, contenders }: Props) {
  return (
    <Section
      folded
      id="decided"
      title="How it was decided"
      lead={`Planned before the run: ${confidence(stopping.confidence)} confidence over all interim analyses, and a margin of ${percent(stopping.margin)} within which a difference does not matter.`}
    >
      <h3>Interim analyses</h3>
      <LooksPart stopping={stopping} />
      <h3>Many claims</h3>
      <Holm claims={claims} confidence={stopping.confidence} />
      <h3>The baseline against itself</h3>
      {noise.length === 0 ? (
        <p class="empty">
          Not measured. With aa = true in the experiment, the baseline takes part twice, which shows
          the noise of this machine on this day.
        </p>
      ) : (
        <NoisePart noise={noise} baseline={contenders.find((c) => c.baseline)?.name ?? ""} />
      )}
      <h3>The error of the instrument</h3>
      {instrument.length === 0 ? (
        <p class="empty">
          The record has no self-test of this machine; faceoff selftest makes one.
        </p>
      ) : (
        <Facts facts={instrument} />
      )}
    </Section>
  );
}

function LooksPart({ stopping }: { stopping: Stopping }) {
  const { looks, planned, run, early } = stopping;
  if (looks.length === 0) return <p class="empty">The only analysis is after the last block.</p>;
  const at = looks.filter((l) => l.taken).at(-1);
  return (
    <figure aria-label="Blocks and interim analyses">
      <p class="small">
        {early && at
          ? `Stopped after ${at.blocks} of at most ${planned} blocks: everything was decided.`
          : `${Math.min(run, planned)} of ${planned} blocks were run.`}{" "}
        Several analyses require a higher confidence at each of them. Filled marks: analyses that
        took place.
      </p>
      <LooksLine of={stopping} />
      <DataTable
        title="interim analyses"
        columns={[
          "After blocks",
          "Taken",
          "Confidence of better and worse",
          "Confidence of equivalent",
        ]}
        texts={2}
        rows={() =>
          looks.map((l) => [
            count(l.blocks),
            l.taken ? "yes" : "no",
            l.confidence < 1 ? confidence(l.confidence) : "no verdict yet",
            l.confidence_equivalence < 1 ? confidence(l.confidence_equivalence) : "no verdict yet",
          ])
        }
      />
    </figure>
  );
}

function Holm({ claims, confidence: wanted }: { claims: Claim[]; confidence: number }) {
  const tested = claims.filter((c) => c.p !== null);
  if (tested.length === 0) return <p class="empty">No claim was tested.</p>;
  return (
    <>
      <p class="small">
        {tested.length} of {claims.length} {claims.length === 1 ? "claim was" : "claims were"}{" "}
        tested. Holm's correction limits the chance that any of them is decided wrongly to{" "}
        {percent(1 - wanted)}. A claim is decided if its corrected p is at most that.
      </p>
      <Scroll label="Claims with their p-values">
        <table class="holm">
          <thead>
            <tr>
              <th scope="col">Claim</th>
              <th scope="col">Outcome</th>
              <th scope="col" class="number">
                p
              </th>
              <th scope="col" class="number">
                p, Holm
              </th>
            </tr>
          </thead>
          <tbody>
            {claims.map((c, i) => (
              <tr key={i}>
                <td>
                  <bdi>{c.text}</bdi>
                </td>
                <td>{c.outcome}</td>
                <td class="number">{c.p === null ? "not tested" : probability(c.p)}</td>
                <td class="number">{probability(c.p_adjusted)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <CopyTable
        title="claims with their p-values"
        columns={["Claim", "Outcome", "p", "p, Holm"]}
        rows={() => claims.map((c) => [c.text, c.outcome, c.p, c.p_adjusted])}
      />
    </>
  );
}

function NoisePart({ noise, baseline }: { noise: Noise[]; baseline: string }) {
  const near = useNearer();
  const ticks = useTicks();
  const ratios = noise.flatMap((n) => [n.ratio, n.ratio_low, n.ratio_high, ...band(n.margin)]);
  const scale = ratioScale(ratios, ticks, near.times);
  const cells = [...new Set(noise.map((n) => n.cell))];
  return (
    <figure
      class="forest noise"
      aria-label="The baseline against itself, cell by cell and metric by metric"
    >
      <p class="small">
        <Name name={baseline} /> took part twice. A bar covers the differences that this machine
        could not detect on this day. The shaded band is the margin.
      </p>
      <div class="forest-row">
        <span />
        <RatioAxis scale={scale} />
        <span />
      </div>
      {cells.map((cell) => (
        <div class="metric" role="group" aria-label={cell} key={cell}>
          <p class="cell-name">
            <bdi>{cell}</bdi>
          </p>
          {noise
            .filter((n) => n.cell === cell)
            .map((n) => (
              <div class="forest-row" key={n.metric}>
                <bdi>{n.label}</bdi>
                <Interval
                  of={{ ...n, outcome: "itself" }}
                  scale={scale}
                  label={`${n.label} in ${cell}: ${interval(n.ratio, n.ratio_low, n.ratio_high)}`}
                />
                <p class="small">
                  {interval(n.ratio, n.ratio_low, n.ratio_high)}; one block ±{" "}
                  {percent(Math.expm1(n.log_deviation))}
                  {n.best_seconds !== null &&
                    `; best duration of a measurement ${count(n.best_seconds)} s`}
                </p>
              </div>
            ))}
        </div>
      ))}
      <Zoom of="the baseline against itself" {...near.props} />
      <NoiseTable noise={noise} />
    </figure>
  );
}

/** The baseline against itself as a table. */
function NoiseTable({ noise }: { noise: Noise[] }) {
  return (
    <DataTable
      title="the baseline against itself"
      columns={[
        "Cell",
        "Metric",
        "Ratio",
        "Low",
        "High",
        "Standard deviation of a block's log-ratio",
        "Margin",
        "Best duration, s",
      ]}
      texts={2}
      rows={() =>
        noise.map((n) => [
          n.cell,
          n.label,
          n.ratio,
          n.ratio_low,
          n.ratio_high,
          n.log_deviation,
          percent(n.margin),
          n.best_seconds,
        ])
      }
    />
  );
}
