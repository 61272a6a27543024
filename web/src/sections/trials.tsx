/** All trials in the order they ran, with faults, exclusions and skipped contenders. */
import { count, duration } from "../format";
import { Name, Swatch } from "../identity";
import type { Fault, Page, Trial } from "../page";
import { CopyTable, DataTable, prose, Scroll, Section } from "../parts";
import { address, OneTrial, useTrial } from "./trial";

type Props = Pick<Page, "trials" | "faults" | "fault_counts" | "skipped">;

export function TrialsSection({ trials, faults, fault_counts, skipped }: Props) {
  const excluded = trials.filter((t) => !t.valid);
  const chosen = useTrial(trials);
  return (
    <Section
      folded
      id="trials"
      title="Trials and faults"
      lead="All trials in the order they ran: one row for each block, trials from left to right, with their start-up times. Select a trial to see everything recorded about it."
    >
      <Strip trials={trials} chosen={chosen} />
      {chosen && <OneTrial trial={chosen} trials={trials} faults={faults} />}
      <div class="columns">
        <div>
          <h3>Faults</h3>
          {faults.length === 0 ? (
            <p class="empty">No fault was found.</p>
          ) : (
            <Faults faults={faults} counts={fault_counts} />
          )}
        </div>
        <div>
          <h3>Excluded trials</h3>
          {excluded.length === 0 ? (
            <p class="empty">No trial is excluded.</p>
          ) : (
            <ul class="plain">
              {excluded.map((t, i) => (
                <li key={i}>
                  <Name name={t.contender} /> block {t.block}
                  <p class="small" dir="auto">
                    {prose(t.reason)}
                  </p>
                </li>
              ))}
            </ul>
          )}
          <h3>Skipped contenders</h3>
          {skipped.length === 0 ? (
            <p class="empty">None.</p>
          ) : (
            <ul class="plain">
              {skipped.map((s, i) => (
                <li key={i}>
                  <bdi>{s.contender}</bdi>
                  <p class="small" dir="auto">
                    {prose(s.reason)}
                  </p>
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
    </Section>
  );
}

const FIRST = 8;

function Faults({ faults, counts }: { faults: Fault[]; counts: Page["fault_counts"] }) {
  const rest = faults.length - FIRST;
  return (
    <>
      <ul class="plain counts" aria-label="Faults by kind">
        {counts.map((c, i) => (
          <li key={i}>
            <b>{count(c.count)}</b> <bdi>{c.kind}</bdi>
          </li>
        ))}
      </ul>
      <FaultList faults={faults.slice(0, FIRST)} />
      {rest > 0 && (
        <details class="more">
          <summary>{rest} more</summary>
          <FaultList faults={faults.slice(FIRST)} />
        </details>
      )}
      <CopyTable
        title="faults"
        columns={["Kind", "Where", "Evidence", "Hint"]}
        rows={() => faults.map((f) => [f.kind, f.where, f.evidence, f.hint])}
      />
    </>
  );
}

function FaultList({ faults }: { faults: Fault[] }) {
  return (
    <ul class="plain">
      {faults.map((f, i) => (
        <li key={i}>
          <b dir="auto">{f.kind}</b> <bdi class="small">{f.where}</bdi>
          <p class="small" dir="auto">
            {prose(f.evidence)}
          </p>
          {f.hint && (
            <p class="small" dir="auto">
              <i>hint:</i> {prose(f.hint)}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Trials by block and position, which shows how contenders alternated. */
function Strip({ trials, chosen }: { trials: Trial[]; chosen: Trial | null }) {
  if (trials.length === 0) return <p class="empty">No trial was run.</p>;
  const blocks = [...new Set(trials.map((t) => t.block))].sort((a, b) => a - b);
  const most = trials.reduce((all, t) => Math.max(all, t.position), 0);
  return (
    <figure aria-label="All trials in the order they ran">
      <Scroll label="Trials by block and position">
        <table class="strip" style={{ minWidth: `${5 + 7 * most}rem` }}>
          <tbody>
            {blocks.map((block) => (
              <tr key={block}>
                <th scope="row">block {block}</th>
                {trials
                  .filter((t) => t.block === block)
                  .sort((a, b) => a.position - b.position)
                  .map((t) => (
                    <td
                      key={t.position}
                      class={t.valid ? "" : "excluded"}
                      title={t.valid ? t.contender : `${t.contender}: excluded, ${t.reason}`}
                    >
                      <a
                        class="who"
                        href={`#${address(t)}`}
                        aria-current={t === chosen ? "true" : undefined}
                        aria-label={`${t.contender}, block ${t.block}${t.valid ? "" : ", excluded"}`}
                      >
                        <Swatch name={t.contender} />
                        <bdi>{t.contender}</bdi>
                      </a>
                      <span class="small">
                        {duration(t.ready_ms)}
                        {!t.valid && <b> ✕ excluded</b>}
                      </span>
                    </td>
                  ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <DataTable
        title="trials"
        columns={["Contender", "Valid", "Why not", "Stop", "Block", "Position", "Start-up"]}
        texts={4}
        rows={() =>
          trials.map((t) => [
            t.contender,
            t.valid ? "yes" : "no",
            t.reason || null,
            t.stop,
            String(t.block),
            String(t.position),
            duration(t.ready_ms),
          ])
        }
      />
    </figure>
  );
}
