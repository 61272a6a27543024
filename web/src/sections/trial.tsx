import { useEffect, useRef, useState } from "preact/hooks";
import { type Measure, phases, WholeTrial } from "../charts/trial";
import { count, duration } from "../format";
import { Name } from "../identity";
import type { Fault, Trial } from "../page";
import { DataTable, Facts, Pick } from "../parts";

const MEASURES: { value: Measure; text: string; unit: string }[] = [
  { value: "rate_per_s", text: "right answers", unit: "/s" },
  { value: "p50_ms", text: "median", unit: "ms" },
  { value: "p99_ms", text: "99th percentile", unit: "ms" },
  { value: "max_ms", text: "longest", unit: "ms" },
];
const COUNTS = [
  "scheduled",
  "correct",
  "wrong",
  "declined",
  "refused",
  "broken",
  "timed_out",
  "unfinished",
  "unsent",
] as const;

/** The address of a trial within the page. */
export const address = (t: Trial): string => `trial-${t.block}-${t.position}`;

/** The trial that the page's address names. */
export function useTrial(trials: Trial[]): Trial | null {
  const [hash, setHash] = useState(() => location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return trials.find((t) => `#${address(t)}` === hash) ?? null;
}

/** All that the record holds of one trial. */
export function OneTrial({
  trial,
  trials,
  faults,
}: {
  trial: Trial;
  trials: Trial[];
  faults: Fault[];
}) {
  const [measure, setMeasure] = useState<Measure>("rate_per_s");
  const box = useRef<HTMLElement>(null);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView?.();
    head.current?.focus({ preventScroll: true });
  }, [trial]);
  const { text, unit } = MEASURES.find((m) => m.value === measure)!;
  const place = `block ${trial.block}, ${trial.contender}`;
  const own = faults.filter((f) => f.where === place || f.where.startsWith(`${place}, `));
  const order = [...trials].sort((a, b) => a.block - b.block || a.position - b.position);
  const at = order.indexOf(trial);
  const of = trials
    .filter((t) => t.contender === trial.contender)
    .sort((a, b) => a.block - b.block);
  const mine = of.indexOf(trial);
  const links: [text: string, to: Trial | undefined][] = [
    ["the trial before", order[at - 1]],
    ["the trial after", order[at + 1]],
    ["its trial in the block before", of[mine - 1]],
    ["in the block after", of[mine + 1]],
  ];
  return (
    <article class="one-trial" id={address(trial)} aria-labelledby="one-trial-title" ref={box}>
      <h3 id="one-trial-title" tabIndex={-1} ref={head}>
        <Name name={trial.contender} /> block {trial.block}, place {trial.position}
      </h3>
      <p class="links">
        {links.map(
          ([text, to]) =>
            to && (
              <a key={text} href={`#${address(to)}`}>
                {text}
              </a>
            ),
        )}
        <a href="#trials">all trials</a>
      </p>
      {!trial.valid && (
        <p>
          <b class="bad">✕ excluded</b>: <span dir="auto">{trial.reason}</span>
        </p>
      )}
      <figure aria-label="The whole trial">
        <div class="picks">
          <Pick
            label="Shown"
            value={measure}
            onPick={(m) => setMeasure(m as Measure)}
            options={MEASURES}
          />
        </div>
        <p class="small">
          {text}, {unit}, log scale; the first band is the start-up, the shaded one the warm-up, the
          dashed line the steady state. Warm-up is another load than the cells, and times there are
          service times.
        </p>
        <WholeTrial trial={trial} measure={measure} word={text} unit={unit} />
        <DataTable
          title={`${text} over the whole trial`}
          columns={[
            "Phase",
            "Time from the start, s",
            unit === "ms" ? `${text}, ms` : `${text} ${unit}`,
          ]}
          rows={() =>
            phases(trial, measure).flatMap((p) => p.t_s.map((t, i) => [p.name, t, p.values[i]]))
          }
        />
      </figure>
      <div class="columns">
        <div>
          <h4>Facts</h4>
          <Facts
            facts={[
              { name: "first right answer", value: duration(trial.ready_ms) },
              { name: "steady", value: duration(trial.steady_ms) },
              { name: "stop", value: trial.stop },
              ...trial.facts,
            ]}
          />
        </div>
        <div>
          <h4>Faults</h4>
          {own.length === 0 ? (
            <p class="empty">None was found in it.</p>
          ) : (
            <ul class="plain">
              {own.map((f, i) => (
                <li key={i}>
                  <b dir="auto">{f.kind}</b> <bdi class="small">{f.where}</bdi>
                  <p class="small" dir="auto">
                    {f.evidence}
                  </p>
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
      <DataTable
        title="what became of its requests"
        alone
        columns={[
          "Cell",
          "Place",
          ...COUNTS.map((k) => k.replace("_", " ")),
          "Generator CPU %",
          "Generator lag p99 µs",
          "Most in flight",
        ]}
        rows={() =>
          trial.measurements.map((m) => [
            m.cell,
            count(m.position),
            ...COUNTS.map((k) => count(m.counts[k])),
            m.generator.cpu_percent,
            m.generator.lag_p99_us,
            count(m.generator.in_flight_max),
          ])
        }
      />
    </article>
  );
}
