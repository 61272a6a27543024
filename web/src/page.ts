/**
 * What `faceoff report` hands to the page: every number is ready to be shown.
 * The page draws; it computes no statistic. Units stand last in a name.
 */
export interface Page {
  schema: "faceoff.page.v1";
  experiment: string;
  question: string;
  source: Source | null;
  /** The answer in one sentence, and the few that qualify it. */
  answer: Answer;
  /** What a reader must know before believing: short warm-up, one core, skipped contenders. */
  notes: string[];
  claims: Claim[];
  contenders: Contender[];
  cells: Cell[];
  /** One per cell x contender (never the baseline) x metric, in reading order. */
  verdicts: Verdict[];
  /** One per cell x contender, the columns of a load tester's summary table. */
  table: Row[];
  /** Published figures of the source, for the side-by-side; empty when there are none. */
  published: Published | null;
  /** One latency curve per cell x contender, pooled over its valid trials. */
  curves: Curve[];
  trials: Trial[];
  faults: Fault[];
  skipped: { contender: string; reason: string }[];
  /** name/value pairs, shown as written */
  machine: Fact[];
  design: Fact[];
  repeat: string[];
  analysis: string | null;
  made: { version: string; recorded_at: string; record: string };
}

export interface Source { title: string; author: string | null; url: string | null; published: string | null }
export interface Fact { name: string; value: string }
export interface Answer {
  outcome: "answered" | "undecided" | "unsound";
  sentence: string;
  details: string[];
}

export type Outcome = "better" | "worse" | "equivalent" | "undecided";
export interface Contender {
  /** `proxy-spring-mvc:virtual-threads` */
  name: string;
  baseline: boolean;
  summary: string;
  facts: Fact[];
  version: string | null;
  artifact_bytes: number | null;
  artifact_sha256: string | null;
  trials_valid: number;
  trials_excluded: number;
  /** time to the first right answer over its trials, milliseconds */
  ready_ms: { median: number; min: number; max: number } | null;
}
export interface Cell {
  name: string;
  /** "arrivals at 200/s, evenly spaced" | "closed loop, 64 connections" */
  load: string;
  workload: string;
  /** true: latency counts from the scheduled instant; false: no schedule, so it is service time */
  scheduled: boolean;
}
export interface Verdict {
  cell: string;
  contender: string;
  baseline: string;
  metric: string;
  /** "CPU per request" */
  label: string;
  unit: string;
  lower_is_better: boolean;
  outcome: Outcome;
  /** "31 % of the baseline's CPU per request (29 % to 33 %)": the verdict as a phrase */
  phrase: string;
  /** contender over baseline, with the 95 % interval; null for a metric compared by difference or without enough blocks */
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  /** typical value of each (geometric mean over used blocks), in `unit` */
  value: number | null;
  baseline_value: number | null;
  margin: number;
  used: number;
  excluded: number;
  /** why, when undecided; else empty */
  reason: string;
}
export interface Claim {
  text: string;
  contender: string;
  metric: string;
  label: string;
  expects: string;
  outcome: "confirmed" | "refuted" | "undecided";
  reason: string;
  /** one interval per cell of the claim, in the same terms as verdicts */
  cells: { cell: string; outcome: "confirmed" | "refuted" | "undecided"; ratio: number | null; ratio_low: number | null; ratio_high: number | null; margin: number; phrase: string }[];
}
export interface Row {
  cell: string;
  contender: string;
  samples: number;
  deviation_ms: number;
  throughput_per_s: number;
  average_ms: number;
  min_ms: number;
  /** null where there are too few samples for that quantile */
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  max_ms: number;
  received_kb_per_s: number;
  average_bytes: number;
  cpu_percent: number;
  cpu_us_per_request: number | null;
  threads: number;
  memory_mb: number;
  /** requests that did not get the right answer, by kind; kinds that are zero are left out */
  errors: { kind: string; count: number }[];
}
export interface Published { title: string; columns: string[]; rows: string[][]; note: string | null }
export interface Curve {
  cell: string;
  contender: string;
  /** quantile (0..1, ascending, none beyond what the sample supports) and latency */
  points: [quantile: number, latency_ms: number][];
  samples: number;
}
export interface Trial {
  contender: string;
  /** from 1 */
  block: number;
  /** place within its block, from 1 */
  position: number;
  valid: boolean;
  /** why not, when not valid */
  reason: string;
  ready_ms: number | null;
  stop: string;
  measurements: Measurement[];
}
export interface Measurement {
  cell: string;
  position: number;
  counts: Record<"scheduled" | "unsent" | "correct" | "wrong" | "declined" | "refused" | "broken" | "timed_out" | "unfinished", number>;
  /** columns, one entry a second */
  seconds: { t_s: number[]; rate_per_s: number[]; p50_ms: (number | null)[]; p99_ms: (number | null)[]; max_ms: (number | null)[] };
  /** columns, one entry per 100 ms sample */
  usage: { t_s: number[]; cpu_percent: number[]; memory_mb: number[]; threads: number[]; descriptors: number[] };
  generator: { cpu_percent: number; lag_p99_us: number | null; in_flight_max: number };
}
export interface Fault {
  kind: string;
  /** "block 3, nginx, cell closed-64" */
  where: string;
  evidence: string;
  hint: string;
}
