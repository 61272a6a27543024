import { useMemo, useState } from "preact/hooks";
import { Heat } from "../charts/heat";
import { Series, type Line } from "../charts/series";
import { count } from "../format";
import { useLook } from "../identity";
import type { Contender, Measurement, Trial } from "../page";
import { among, CellPicker, DataTable, latencyWord, Pick, Section, type CellChoice } from "../parts";
import { Legend, useHidden } from "../shown";

type Quantile = "p50_ms" | "p99_ms" | "max_ms";
const QUANTILES: { value: Quantile; text: string }[] = [
  { value: "p50_ms", text: "p50" },
  { value: "p99_ms", text: "p99" },
  { value: "max_ms", text: "max" },
];
const ALL = "";

interface Course {
  trial: Trial;
  measurement: Measurement;
}

interface Panel {
  name: string;
  unit: string;
  log?: boolean;
  column: (m: Measurement) => { t_s: number[]; values: (number | null)[] };
}

const usage = (name: string, unit: string, key: Exclude<keyof Measurement["usage"], "t_s">): Panel => ({
  name,
  unit,
  column: ({ usage: u }) => ({ t_s: u.t_s, values: u[key] }),
});

function panels(quantile: Quantile, word: string): Panel[] {
  return [
    { name: "Throughput, right answers", unit: "/s", column: ({ seconds: s }) => ({ t_s: s.t_s, values: s.rate_per_s }) },
    { name: `${word}, ${QUANTILES.find((q) => q.value === quantile)!.text}`, unit: "ms", log: true, column: ({ seconds: s }) => ({ t_s: s.t_s, values: s[quantile] }) },
    usage("CPU", "%", "cpu_percent"),
    usage("Memory", "MB", "memory_mb"),
    usage("Threads", "", "threads"),
    usage("Open descriptors", "", "descriptors"),
  ];
}

const label = (t: Trial) => `${t.contender}, block ${t.block}${t.valid ? "" : ", excluded"}`;

interface Props extends CellChoice {
  trials: Trial[];
  contenders: Contender[];
  theme: string;
}

export function TimeSection({ trials, contenders, theme, ...all }: Props) {
  const choice = useMemo(() => among(all, trials.flatMap((t) => t.measurements.map((m) => m.cell))), [all.cells, all.cell, trials]);
  const look = useLook();
  const hidden = useHidden();
  const [block, setBlock] = useState(ALL);
  const [picked, setPicked] = useState<Quantile | null>(null);
  const cell = choice.cell?.name;
  // At low rates a second holds too few samples for its p99.
  const hasP99 = trials.some((t) => t.measurements.some((m) => m.cell === cell && m.seconds.p99_ms.some((v) => v !== null)));
  const quantile = picked ?? (hasP99 ? "p99_ms" : "p50_ms");
  const word = latencyWord(choice.cell);

  const courses = useMemo(
    () =>
      trials
        .filter((t) => !hidden.has(t.contender) && (block === ALL || String(t.block) === block))
        .flatMap((trial): Course[] => trial.measurements.filter((m) => m.cell === cell).map((measurement) => ({ trial, measurement }))),
    [trials, hidden, block, cell],
  );
  const charts = useMemo(
    () =>
      panels(quantile, word).map((panel) => ({
        ...panel,
        lines: courses.map(
          ({ trial, measurement }): Line => ({
            label: label(trial),
            colour: look(trial.contender).colour,
            dashed: !trial.valid,
            ...panel.column(measurement),
          }),
        ),
      })),
    [courses, quantile, word],
  );
  const blocks = [...new Set(trials.map((t) => t.block))].sort((a, b) => a - b);

  return (
    <Section
      id="time"
      title="Over time"
      lead="Every trial of the cell, laid over each other: throughput and latency by the second, the contender's use of the machine by the tenth. The trial nearest to the pointer stands out in all six charts; excluded ones are dashed. Drag to enlarge, double-click to return; by keyboard the arrows go along a trial and from one to the next, + and − change the stretch of time, 0 shows all of it."
    >
      <CellPicker {...choice} />
      <div class="picks">
        <Pick label="Block" value={block} onPick={setBlock} options={[{ value: ALL, text: "all" }, ...blocks.map((b) => ({ value: String(b), text: String(b) }))]} />
        <Pick label={word} value={quantile} onPick={(q) => setPicked(q as Quantile)} options={QUANTILES} />
      </div>
      <Legend names={contenders.map((c) => c.name)} />
      {courses.length === 0 ? (
        <p class="empty">No trial of this choice was measured.</p>
      ) : (
        <div class="charts">
          {charts.map((c) => (
            <div key={c.name} data-chart>
              <Series name={c.name} unit={c.unit} log={c.log} lines={c.lines} group="trials" theme={theme} />
              <DataTable
                title={c.name}
                columns={["Trial", "Time, s", c.unit ? `${c.name}, ${c.unit}` : c.name]}
                rows={() => c.lines.flatMap((l) => l.t_s.map((t, i) => [l.label, t, l.values[i]]))}
              />
            </div>
          ))}
        </div>
      )}
      {courses.length > 0 && <ByColour courses={courses} quantile={quantile} word={word} />}
      <Counts courses={courses} />
    </Section>
  );
}

const KINDS = ["scheduled", "correct", "wrong", "declined", "refused", "broken", "timed_out", "unfinished", "unsent"] as const;

/** The same latencies, each trial a row. */
function ByColour({ courses, quantile, word }: { courses: Course[]; quantile: Quantile; word: string }) {
  const rows = courses.map(({ trial, measurement: { seconds } }) => ({ contender: trial.contender, label: label(trial), valid: trial.valid, t_s: seconds.t_s, values: seconds[quantile] }));
  const name = `${word}, ${QUANTILES.find((q) => q.value === quantile)!.text}`;
  return (
    <div class="by-colour" data-chart>
      <Heat rows={rows} name={name} unit="ms" />
      <DataTable title={`${name}, second by second`} columns={["Trial", "Time, s", `${name}, ms`]} rows={() => rows.flatMap((r) => r.t_s.map((t, i) => [r.label, t, r.values[i]]))} />
    </div>
  );
}

/** What became of every request, and how the load generator itself fared. */
function Counts({ courses }: { courses: Course[] }) {
  return (
    <DataTable
      alone
      title="what became of the requests, and the load generator, trial by trial"
      columns={["Trial", "Place of the cell", ...KINDS.map((k) => k.replace("_", " ")), "Generator CPU %", "Generator lag p99 µs", "Most in flight"]}
      rows={() =>
        courses.map(({ trial, measurement: m }) => [
          label(trial),
          count(m.position),
          ...KINDS.map((k) => count(m.counts[k])),
          m.generator.cpu_percent,
          m.generator.lag_p99_us,
          count(m.generator.in_flight_max),
        ])
      }
    />
  );
}
