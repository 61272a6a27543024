/** One trial: its phases, facts, faults and requests. The address of the report selects it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Measure, phases, WholeTrial } from "../charts/trial";
import { count, duration } from "../format";
import { Name } from "../identity";
import type { Fault, Trial } from "../page";
import { DataTable, Facts, Pick, prose } from "../parts";

const MEASURES: { value: Measure; text: string; unit: string }[] = [
  { value: "rate_per_s", text: "correct responses", unit: "/s" },
  { value: "p50_ms", text: "median", unit: "ms" },
  { value: "p99_ms", text: "99th percentile", unit: "ms" },
  { value: "max_ms", text: "maximum", unit: "ms" },
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

/** The address of a trial within the report. */
export const address = (t: Trial): string => `trial-${t.block}-${t.position}`;

/** The trial that the address of the report names. */
export function useTrial(trials: Trial[]): Trial | null {
  const [hash, setHash] = useState(() => location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return trials.find((t) => `#${address(t)}` === hash) ?? null;
}

/** Everything that the record has about one trial. */
export function OneTrial({
  trial,
  trials,
  faults,
}: {
  trial: Trial;
  trials: Trial[];
  faults: Fault[];
}) {
  const box = useRef<HTMLElement>(null);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView?.();
    head.current?.focus({ preventScroll: true });
  }, [trial]);
  const place = `block ${trial.block}, ${trial.contender}`;
  const own = faults.filter((f) => f.where === place || f.where.startsWith(`${place}, `));
  return (
    <article class="one-trial" id={address(trial)} aria-labelledby="one-trial-title" ref={box}>
      <h3 id="one-trial-title" tabIndex={-1} ref={head}>
        <Name name={trial.contender} /> block {trial.block}, place {trial.position}
      </h3>
      <p class="links">
        {neighbours(trial, trials).map(
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
          <b class="bad">✕ excluded</b>: <span dir="auto">{prose(trial.reason)}</span>
        </p>
      )}
      <TrialFigure trial={trial} />
      <div class="columns">
        <div>
          <h4>Facts</h4>
          <Facts
            facts={[
              { name: "first correct response", value: duration(trial.ready_ms) },
              { name: "steady", value: duration(trial.steady_ms) },
              { name: "stop", value: trial.stop },
              ...trial.facts,
            ]}
          />
        </div>
        <div>
          <h4>Faults</h4>
          <TrialFaults faults={own} />
        </div>
      </div>
      <RequestsTable trial={trial} />
    </article>
  );
}

/** The requests of a trial by result, and readings of the load generator. */
function RequestsTable({ trial }: { trial: Trial }) {
  return (
    <DataTable
      title="its requests by result"
      alone
      columns={[
        "Cell",
        "Place",
        ...COUNTS.map((k) => k.replace("_", " ")),
        "Generator CPU %",
        "Generator lag p99 µs",
        "Maximum in flight",
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
  );
}

/** The trials before and after this one: of all, and of its contender. */
function neighbours(trial: Trial, trials: Trial[]): [text: string, to: Trial | undefined][] {
  const order = [...trials].sort((a, b) => a.block - b.block || a.position - b.position);
  const at = order.indexOf(trial);
  const of = trials
    .filter((t) => t.contender === trial.contender)
    .sort((a, b) => a.block - b.block);
  const mine = of.indexOf(trial);
  return [
    ["previous trial", order[at - 1]],
    ["next trial", order[at + 1]],
    ["its trial in the previous block", of[mine - 1]],
    ["in the next block", of[mine + 1]],
  ];
}

/** A reading over the whole trial. */
function TrialFigure({ trial }: { trial: Trial }) {
  const [measure, setMeasure] = useState<Measure>("rate_per_s");
  const { text, unit } = MEASURES.find((m) => m.value === measure)!;
  return (
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
        {text}, {unit}, log scale. Bands: start-up, then warm-up (shaded). Dashed line: the steady
        state. Warm-up has a different load than the cells, and its times are service times.
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
  );
}

/** The faults of a trial. */
function TrialFaults({ faults }: { faults: Fault[] }) {
  return faults.length === 0 ? (
    <p class="empty">No fault was found in it.</p>
  ) : (
    <ul class="plain">
      {faults.map((f, i) => (
        <li key={i}>
          <b dir="auto">{f.kind}</b> <bdi class="small">{f.where}</bdi>
          <p class="small" dir="auto">
            {prose(f.evidence)}
          </p>
        </li>
      ))}
    </ul>
  );
}
