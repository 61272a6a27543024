/** Readings of all trials over time. Start with `TimeSection`; `useCharts` makes the lines. */
import { useMemo, useState } from "preact/hooks";
import { Heat } from "../charts/heat";
import { type Line, Series, type SeriesProps } from "../charts/series";
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
  /** the same reading of the warm-up, if the record has it */
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
      name: "Throughput, correct responses",
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
 * The lines of a cell, from its beginning or from the start of each process. From the start, the
 * warm-up of each trial is a line of its own.
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
  // the charts of the group need the same lines in the same order: those of the warm-up come last
  return [
    ...lines.map(({ warm: _, ...line }) => line),
    ...(origin === "cell" ? [] : lines.map(({ warm }) => warm)),
  ];
}

/** The time axis of all charts. */
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

/** The measurements of the chosen cell and block, of contenders that are not hidden. */
const useSelected = (trials: Trial[], cell: string | undefined, block: string): Course[] => {
  const hidden = useHidden();
  return useMemo(
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
};

/** The end of warm-up and the steady state of every trial. */
const warmUpOf = (courses: Course[], colour: (contender: string) => string) =>
  warmOf(
    [...new Set(courses.map((c) => c.trial))].flatMap((t) => {
      const phase = warmUp(phases(t, "rate_per_s"));
      return phase
        ? [
            {
              ended: phase.to,
              steady: t.steady_ms === null ? null : t.steady_ms / 1000,
              colour: colour(t.contender),
            },
          ]
        : [];
    }),
  );

/** The charts with their lines, their common time axis, and the warm-up. */
function useCharts(courses: Course[], quantile: Quantile, word: string, origin: Origin) {
  const look = useLook();
  return useMemo(() => {
    const colour = (contender: string) => look(contender).colour;
    // A line needs two points; a measurement of one second is only in the tables.
    const charts = panels(quantile, word)
      .map((panel) => ({ ...panel, lines: drawn(courses, panel, origin, colour) }))
      .filter((chart) => chart.lines.some((line) => line.t_s.length > 1));
    const warm = origin === "cell" ? null : warmUpOf(courses, colour);
    const [first, last] = spanOf(charts.flatMap((c) => c.lines));
    return { charts, span: [origin === "cell" ? first : Math.min(0, first), last] as const, warm };
  }, [courses, quantile, word, origin]);
}

/** What the reader has chosen, with defaults that the record supports. */
function useChoices(trials: Trial[], cell: string | undefined) {
  const [block, setBlock] = useState(ALL);
  const [picked, setQuantile] = useState<Quantile | null>(null);
  const [wanted, setOrigin] = useState<Origin>("cell");
  // At low rates a second holds too few samples for its p99.
  const hasP99 = trials.some((t) =>
    t.measurements.some((m) => m.cell === cell && m.seconds.p99_ms.some((v) => v !== null)),
  );
  const warmed = trials.some((t) => t.warmup !== null && t.warmup.t_s.length > 0);
  return {
    block,
    setBlock,
    quantile: picked ?? (hasP99 ? "p99_ms" : ("p50_ms" as Quantile)),
    setQuantile,
    warmed,
    origin: warmed ? wanted : ("cell" as Origin),
    setOrigin,
  };
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
  const cell = choice.cell?.name;
  const word = latencyWord(choice.cell);
  const chosen = useChoices(trials, cell);
  const { quantile, origin } = chosen;
  const [stretched, setStretch] = useState<Stretch | null>(null);
  const courses = useSelected(trials, cell, chosen.block);
  const { charts, span, warm } = useCharts(courses, quantile, word, origin);
  const stretch = stretched && stretched[0] < span[1] && stretched[1] > span[0] ? stretched : null;
  const zoom = (by: number | null) => {
    const [from, to] = stretch ?? span;
    setStretch(by === null ? null : nearer([from, to], span, (from + to) / 2, by));
  };
  const from = (next: Origin) => {
    setStretch(null);
    chosen.setOrigin(next);
  };
  return (
    <Section folded id="time" title="Over time" lead={LEAD}>
      <CellPicker {...choice} />
      <Picks trials={trials} word={word} chosen={chosen} from={from} />
      {chosen.warmed && (
        <p class="small">
          {origin === "cell" ? AFTER : quantile === "p99_ms" ? `${MARKED} ${NO_P99}` : MARKED}
        </p>
      )}
      <Legend names={contenders.map((c) => c.name)} />
      {courses.length === 0 ? (
        <p class="empty">No trial of this selection was measured.</p>
      ) : (
        <>
          <Zoom
            of="the time of all charts"
            zoomed={stretch !== null}
            zoom={zoom}
            shown={stretch === null ? "" : `${stretch.map(sig).join(" to ")} s`}
          />
          <div class="charts">
            {charts.map((c) => (
              <Chart
                key={`${c.name} ${origin} ${cell}`}
                of={c}
                origin={origin}
                shared={{ group: "trials", span, stretch, onStretch: setStretch, warm, theme }}
              />
            ))}
          </div>
          <ByColour
            courses={courses}
            quantile={quantile}
            word={word}
            stretch={origin === "cell" ? stretch : null}
            zoom={zoom}
          />
        </>
      )}
      <Counts courses={courses} />
    </Section>
  );
}

/** The choices of block, quantile and origin of time. */
function Picks({
  trials,
  word,
  chosen: { block, setBlock, quantile, setQuantile, warmed, origin },
  from,
}: {
  trials: Trial[];
  word: string;
  chosen: ReturnType<typeof useChoices>;
  from: (origin: Origin) => void;
}) {
  const blocks = [...new Set(trials.map((t) => t.block))].sort((a, b) => a - b);
  return (
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
        onPick={(q) => setQuantile(q as Quantile)}
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
  );
}

/** One reading of all trials, with its table. */
function Chart({
  of,
  origin,
  shared,
}: {
  of: Panel & { lines: Line[] };
  origin: Origin;
  shared: Omit<SeriesProps, "name" | "unit" | "log" | "lines">;
}) {
  return (
    <div data-chart>
      <Series name={of.name} unit={of.unit} log={of.log} lines={of.lines} {...shared} />
      <DataTable
        title={of.name}
        columns={[
          "Trial",
          origin === "cell" ? "Time, s" : "Time from the start of the process, s",
          of.unit ? `${of.name}, ${of.unit}` : of.name,
        ]}
        rows={() => of.lines.flatMap((l) => l.t_s.map((t, i) => [l.label, t, l.values[i]]))}
      />
    </div>
  );
}

const LEAD =
  "Every trial of the cell in one chart for each reading: throughput and latency by second, resources of the contender by tenth of a second. The trial nearest to the pointer is highlighted in all charts; excluded trials are dashed. Drag to zoom in, double-click to reset. With the keyboard, arrows move along a trial and between trials, + and − zoom, and 0 resets.";
const AFTER =
  "Warm-up took place before the first second shown here. Select the start of the process to see it.";
const MARKED =
  "The full shade ends with the first trial's warm-up, the half shade with the last one's. A short line at the top, in the contender's colour, marks the steady state of a trial; a trial that never became steady has none. Warm-up has a different load than the cell, and its times are service times.";
const NO_P99 = "The record has no 99th percentile of the warm-up: select p50 or max to see it.";

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

/** The same latencies, with one row for each trial. */
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

/** The requests by result, and readings of the load generator. */
function Counts({ courses }: { courses: Course[] }) {
  return (
    <DataTable
      alone
      title="requests by result, and the load generator, trial by trial"
      columns={[
        "Trial",
        "Position of the cell",
        ...KINDS.map((k) => k.replace("_", " ")),
        "Generator CPU %",
        "Generator lag p99 µs",
        "Maximum in flight",
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
