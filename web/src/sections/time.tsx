import { useMemo, useState } from "preact/hooks";
import { Heat } from "../charts/heat";
import { type Line, Series } from "../charts/series";
import { nearer, type Stretch, Zoom } from "../charts/stretch";
import { type Measure, type Phase, phases } from "../charts/trial";
import { warmOf } from "../charts/warm";
import { count, sig } from "../format";
import { useLook } from "../identity";
import type { Contender, Measurement, Trial } from "../page";
import {
  among,
  type CellChoice,
  CellPicker,
  DataTable,
  latencyWord,
  Pick,
  Section,
} from "../parts";
import { Legend, useHidden } from "../shown";

type Quantile = "p50_ms" | "p99_ms" | "max_ms";
const QUANTILES: { value: Quantile; text: string }[] = [
  { value: "p50_ms", text: "p50" },
  { value: "p99_ms", text: "p99" },
  { value: "max_ms", text: "max" },
];
const ALL = "";

type Origin = "cell" | "process";
const ORIGINS: { value: Origin; text: string }[] = [
  { value: "cell", text: "the beginning of the cell" },
  { value: "process", text: "the start of the process, with warm-up" },
];

interface Course {
  trial: Trial;
  measurement: Measurement;
}

interface Panel {
  name: string;
  unit: string;
  log?: boolean;
  column: (m: Measurement) => { t_s: number[]; values: (number | null)[] };
  /** what the record has of the warm-up, too */
  measure?: Measure;
}

const usage = (
  name: string,
  unit: string,
  key: Exclude<keyof Measurement["usage"], "t_s">,
): Panel => ({
  name,
  unit,
  column: ({ usage: u }) => ({ t_s: u.t_s, values: u[key] }),
});

function panels(quantile: Quantile, word: string): Panel[] {
  return [
    {
      name: "Throughput, right answers",
      unit: "/s",
      column: ({ seconds: s }) => ({ t_s: s.t_s, values: s.rate_per_s }),
      measure: "rate_per_s",
    },
    {
      name: `${word}, ${QUANTILES.find((q) => q.value === quantile)!.text}`,
      unit: "ms",
      log: true,
      column: ({ seconds: s }) => ({ t_s: s.t_s, values: s[quantile] }),
      measure: quantile,
    },
    usage("CPU", "%", "cpu_percent"),
    usage("Memory", "MB", "memory_mb"),
    usage("Threads", "", "threads"),
    usage("Open descriptors", "", "descriptors"),
  ];
}

const label = (t: Trial) =>
  `${t.contender}, block ${t.block}${t.warmup?.class === "never_steady" ? ", never steady" : ""}${t.valid ? "" : ", excluded"}`;

const warmUp = (all: Phase[]): Phase | undefined => all.find((p) => p.kind === "warmup");
const NOTHING = { t_s: [], values: [] };

/**
 * The courses of a cell, from its beginning; or from the start of each process, each trial's warm-
 * up as a line of its own.
 */
function drawn(
  courses: Course[],
  panel: Panel,
  origin: Origin,
  colour: (contender: string) => string,
): Line[] {
  const lines = courses.map(({ trial, measurement }): Line & { warm: Line } => {
    const about = { label: label(trial), colour: colour(trial.contender), dashed: !trial.valid };
    const of = panel.column(measurement);
    const all = origin === "cell" ? [] : phases(trial, panel.measure ?? "rate_per_s");
    const from = all.find((p) => p.measurement === measurement)?.from;
    const { t_s, values } = (panel.measure && warmUp(all)) || NOTHING;
    const warm = {
      ...about,
      label: `${about.label}, warm-up`,
      t_s: t_s.slice(0, values.length),
      values,
    };
    if (origin === "cell") return { ...about, ...of, warm };
    return from === undefined
      ? { ...about, ...NOTHING, warm }
      : { ...about, t_s: of.t_s.map((t) => from + t), values: of.values, warm };
  });
  // the charts of the group have the same lines in the same order, so those of the warm-up stand
  // last in all
  return [
    ...lines.map(({ warm: _, ...line }) => line),
    ...(origin === "cell" ? [] : lines.map(({ warm }) => warm)),
  ];
}

/** The time that all charts spread over. */
function spanOf(lines: Line[]): Stretch {
  let first = Infinity;
  let last = -Infinity;
  for (const { t_s } of lines)
    for (const t of t_s) {
      if (t < first) first = t;
      if (t > last) last = t;
    }
  return first <= last ? [first, last] : [0, 0];
}

interface Props extends CellChoice {
  trials: Trial[];
  contenders: Contender[];
  theme: string;
}

export function TimeSection({ trials, contenders, theme, ...all }: Props) {
  const choice = useMemo(
    () =>
      among(
        all,
        trials.flatMap((t) => t.measurements.map((m) => m.cell)),
      ),
    [all.cells, all.cell, trials],
  );
  const look = useLook();
  const hidden = useHidden();
  const [block, setBlock] = useState(ALL);
  const [picked, setPicked] = useState<Quantile | null>(null);
  const [wanted, setOrigin] = useState<Origin>("cell");
  const [stretched, setStretch] = useState<Stretch | null>(null);
  const cell = choice.cell?.name;
  // At low rates a second holds too few samples for its p99.
  const hasP99 = trials.some((t) =>
    t.measurements.some((m) => m.cell === cell && m.seconds.p99_ms.some((v) => v !== null)),
  );
  const quantile = picked ?? (hasP99 ? "p99_ms" : "p50_ms");
  const word = latencyWord(choice.cell);
  const warmed = trials.some((t) => t.warmup !== null && t.warmup.t_s.length > 0);
  const origin = warmed ? wanted : "cell";

  const courses = useMemo(
    () =>
      trials
        .filter((t) => !hidden.has(t.contender) && (block === ALL || String(t.block) === block))
        .flatMap((trial): Course[] =>
          trial.measurements
            .filter((m) => m.cell === cell)
            .map((measurement) => ({ trial, measurement })),
        ),
    [trials, hidden, block, cell],
  );
  const { charts, span, warm } = useMemo(() => {
    const charts = panels(quantile, word).map((panel) => ({
      ...panel,
      lines: drawn(courses, panel, origin, (contender) => look(contender).colour),
    }));
    const seen = [...new Set(courses.map((c) => c.trial))];
    const warm =
      origin === "cell"
        ? null
        : warmOf(
            seen.flatMap((t) => {
              const phase = warmUp(phases(t, "rate_per_s"));
              return phase
                ? [
                    {
                      ended: phase.to,
                      steady: t.steady_ms === null ? null : t.steady_ms / 1000,
                      colour: look(t.contender).colour,
                    },
                  ]
                : [];
            }),
          );
    const [first, last] = spanOf(charts.flatMap((c) => c.lines));
    return { charts, span: [origin === "cell" ? first : Math.min(0, first), last] as const, warm };
  }, [courses, quantile, word, origin]);
  const stretch = stretched && stretched[0] < span[1] && stretched[1] > span[0] ? stretched : null;
  const blocks = [...new Set(trials.map((t) => t.block))].sort((a, b) => a - b);
  const zoom = (by: number | null) => {
    const [from, to] = stretch ?? span;
    setStretch(by === null ? null : nearer([from, to], span, (from + to) / 2, by));
  };
  const from = (next: Origin) => {
    setStretch(null);
    setOrigin(next);
  };

  return (
    <Section
      id="time"
      title="Over time"
      lead="Every trial of the cell, laid over each other: throughput and latency by the second, the contender's use of the machine by the tenth. The trial nearest to the pointer stands out in all six charts; excluded ones are dashed. Drag to enlarge, double-click to return; by keyboard the arrows go along a trial and from one to the next, + and − change the stretch of time, 0 shows all of it."
    >
      <CellPicker {...choice} />
      <div class="picks">
        <Pick
          label="Block"
          value={block}
          onPick={setBlock}
          options={[
            { value: ALL, text: "all" },
            ...blocks.map((b) => ({ value: String(b), text: String(b) })),
          ]}
        />
        <Pick
          label={word}
          value={quantile}
          onPick={(q) => setPicked(q as Quantile)}
          options={QUANTILES}
        />
        {warmed && (
          <Pick
            label="Time from"
            value={origin}
            onPick={(o) => from(o as Origin)}
            options={ORIGINS}
          />
        )}
      </div>
      {warmed && (
        <p class="small">
          {origin === "cell" ? AFTER : quantile === "p99_ms" ? `${MARKED} ${NO_P99}` : MARKED}
        </p>
      )}
      <Legend names={contenders.map((c) => c.name)} />
      {courses.length === 0 ? (
        <p class="empty">No trial of this choice was measured.</p>
      ) : (
        <>
          <Zoom
            of="the time of all six charts"
            zoomed={stretch !== null}
            zoom={zoom}
            shown={stretch === null ? "" : `${stretch.map(sig).join(" to ")} s`}
          />
          <div class="charts">
            {charts.map((c) => (
              <div key={`${c.name} ${origin} ${cell}`} data-chart>
                <Series
                  name={c.name}
                  unit={c.unit}
                  log={c.log}
                  lines={c.lines}
                  group="trials"
                  span={span}
                  stretch={stretch}
                  onStretch={setStretch}
                  warm={warm}
                  theme={theme}
                />
                <DataTable
                  title={c.name}
                  columns={[
                    "Trial",
                    origin === "cell" ? "Time, s" : "Time from the start of the process, s",
                    c.unit ? `${c.name}, ${c.unit}` : c.name,
                  ]}
                  rows={() =>
                    c.lines.flatMap((l) => l.t_s.map((t, i) => [l.label, t, l.values[i]]))
                  }
                />
              </div>
            ))}
          </div>
        </>
      )}
      {courses.length > 0 && (
        <ByColour
          courses={courses}
          quantile={quantile}
          word={word}
          stretch={origin === "cell" ? stretch : null}
          zoom={zoom}
        />
      )}
      <Counts courses={courses} />
    </Section>
  );
}

const AFTER =
  "Where a trial was warmed up, that was before the first second that is shown here: from the start of the process it is shown, too.";
const MARKED =
  "The full shade ends where the first trial's warm-up did, the half one where the last one's did; a short line at the top, in its contender's colour, is where a trial was steady, and who never was has none. Warm-up is another load than the cell, and its times are service times.";
const NO_P99 = "Of the warm-up the record has no 99th percentile: choose p50 or max to see it.";

const KINDS = [
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

/** The same latencies, each trial a row. */
function ByColour({
  courses,
  quantile,
  word,
  stretch,
  zoom,
}: {
  courses: Course[];
  quantile: Quantile;
  word: string;
  stretch: Stretch | null;
  zoom: (by: number | null) => void;
}) {
  const rows = courses.map(({ trial, measurement: { seconds } }) => ({
    contender: trial.contender,
    label: label(trial),
    valid: trial.valid,
    t_s: seconds.t_s,
    values: seconds[quantile],
  }));
  const name = `${word}, ${QUANTILES.find((q) => q.value === quantile)!.text}`;
  return (
    <div class="by-colour" data-chart>
      <Heat rows={rows} name={name} unit="ms" stretch={stretch} zoom={zoom} />
      <DataTable
        title={`${name}, second by second`}
        columns={["Trial", "Time, s", `${name}, ms`]}
        rows={() => rows.flatMap((r) => r.t_s.map((t, i) => [r.label, t, r.values[i]]))}
      />
    </div>
  );
}

/** What became of every request, and how the load generator itself fared. */
function Counts({ courses }: { courses: Course[] }) {
  return (
    <DataTable
      alone
      title="what became of the requests, and the load generator, trial by trial"
      columns={[
        "Trial",
        "Place of the cell",
        ...KINDS.map((k) => k.replace("_", " ")),
        "Generator CPU %",
        "Generator lag p99 µs",
        "Most in flight",
      ]}
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
