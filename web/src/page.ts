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
  /** What speaks for the answer and against it, in the order in which one would ask. */
  believe: Ground[];
  /** every check of the measurement, those that found something first */
  checks: Check[];
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
  /** the capacities that were looked for; empty where none was */
  capacities: Capacity[];
  /** what other generators say of a load, beside ours; empty where none was asked */
  witnesses: Witnesses[];
  /** every metric over the levels of every swept parameter; empty where nothing was swept */
  sweeps: Sweep[];
  /** by cell and metric; none where no factors were crossed */
  effects: Effects[];
  trials: Trial[];
  faults: Fault[];
  /** most first */
  fault_counts: { kind: string; count: number }[];
  symptoms: Symptom[];
  /** one per contender, over its starts; empty in older records */
  warmups: WarmUp[];
  stopping: Stopping;
  /** the baseline against itself; empty where the experiment did not ask */
  noise: Noise[];
  /** what the last self-test on this machine came to; empty where there is none */
  instrument: Fact[];
  /** the article's tables and what cannot be in them */
  audit: Audit | null;
  skipped: { contender: string; reason: string }[];
  /** name/value pairs, shown as written */
  machine: Fact[];
  design: Fact[];
  repeat: string[];
  analysis: string | null;
  made: { version: string; recorded_at: string; record: string };
}

export interface Source {
  title: string;
  author: string | null;
  url: string | null;
  published: string | null;
}
export interface Fact {
  name: string;
  value: string;
}
export interface Answer {
  outcome: "answered" | "undecided" | "unsound";
  sentence: string;
  details: string[];
  /** the contender that it speaks of, by these metrics; null where it is not about one */
  subject: string | null;
  metrics: string[];
}
export interface Ground {
  /** "noise" */
  subject: string;
  /** open: not known, or not whole */
  standing: "good" | "bad" | "open";
  sentence: string;
  more: string[];
  /** the section that shows it */
  section: string;
}
export interface Check {
  /** of the faults that it finds: "generator-lag" */
  kind: string;
  /** what is so where it finds none */
  what: string;
  standing: "held" | "found" | "not_made";
  /** "measurements" */
  of: string;
  all: number;
  looked_at: number;
  found: number;
}

export type Outcome = "better" | "worse" | "equivalent" | "undecided";
export interface Contender {
  /** `proxy-spring-mvc:virtual-threads` */
  name: string;
  baseline: boolean;
  summary: string;
  facts: Fact[];
  version: string | null;
  /** files and folders that its build made */
  artifacts: { path: string; bytes: number; sha256: string }[];
  trials_valid: number;
  trials_excluded: number;
  /** time to the first right answer over its trials, milliseconds */
  ready_ms: { median: number; min: number; max: number } | null;
  /** it ran already: nobody started it */
  reached?: boolean;
}
export interface Cell {
  name: string;
  /** "arrivals at 200/s, evenly spaced" | "closed loop, 64 connections" */
  load: string;
  workload: string;
  /** true: latency counts from the scheduled instant; false: no schedule, so it is service time */
  scheduled: boolean;
}
export type Range = [low: number, high: number];
/** A ratio to the baseline, with what decided about it. */
export interface Estimate<O> {
  outcome: O;
  /**
   * contender over baseline, with the interval that decides; null for a metric compared by
   * difference or without enough blocks
   */
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  /** of that interval: what the look allows, 0.975 */
  confidence: number;
  /** the two intervals it holds; null where one could not be made */
  t: Range | null;
  bootstrap: Range | null;
  /** the one that holds the other, if one does */
  decided_by: "t" | "bootstrap" | null;
  /** a check that decides nothing */
  sign_flip_p: number | null;
  /** about how many blocks would settle it, when undecided */
  blocks_needed: number | null;
  margin: number;
  /** "31 % of the baseline's CPU per request (29 % to 33 %)": the verdict as a phrase */
  phrase: string;
  /** why, when undecided; else empty */
  reason: string;
}
export interface Verdict extends Estimate<Outcome> {
  cell: string;
  contender: string;
  baseline: string;
  metric: string;
  /** "CPU per request" */
  label: string;
  unit: string;
  lower_is_better: boolean;
  /** typical value of each (geometric mean over used blocks), in `unit` */
  value: number | null;
  baseline_value: number | null;
  used: number;
  excluded: number;
}
export type ClaimOutcome = "confirmed" | "refuted" | "undecided";
export interface Claim {
  text: string;
  contender: string;
  metric: string;
  label: string;
  expects: string;
  outcome: ClaimOutcome;
  reason: string;
  /** null where nothing was tested */
  p: number | null;
  /** with Holm's correction for all claims of the experiment */
  p_adjusted: number | null;
  /** one interval per cell of the claim, in the same terms as verdicts */
  cells: (Estimate<ClaimOutcome> & { cell: string })[];
}
/** When the run was looked at, and what each look allowed. */
export interface Stopping {
  /** blocks */
  planned: number;
  run: number;
  /** whether it ended at a look before the last */
  early: boolean;
  /** the design's */
  confidence: number;
  margin: number;
  looks: { blocks: number; confidence: number; confidence_equivalence: number; taken: boolean }[];
}
export interface Noise {
  cell: string;
  metric: string;
  label: string;
  ratio: number;
  ratio_low: number;
  ratio_high: number;
  /** standard deviation of the blocks' log-ratios */
  log_deviation: number;
  margin: number;
  /** seconds of measurement that give the narrowest interval for the time that a run takes */
  best_seconds: number | null;
}
export type WarmUpClass = "flat" | "warm_up" | "slowdown" | "never_steady" | "too_short";
export interface WarmUp {
  contender: string;
  classes: { class: WarmUpClass; count: number }[];
  /**
   * medians over starts: seconds of load until the steady state; then the first second of load
   * against the steady state
   */
  steady_after_s: number | null;
  cold_cpu_us: number | null;
  steady_cpu_us: number | null;
  cold_max_ms: number | null;
}
/** One start's warm-up in columns, one entry a window. */
export interface Windows {
  class: WarmUpClass;
  steady_after_s: number | null;
  t_s: number[];
  /** under load */
  rate_per_s: number[];
  cpu_us: (number | null)[];
  p50_ms: (number | null)[];
  max_ms: (number | null)[];
}
/** A cause that the shape of the data gives away. */
export interface Symptom {
  /** "delayed-ack" */
  kind: string;
  contender: string;
  cell: string | null;
  sentence: string;
  hint: string;
  picture: Picture;
}
export interface Picture {
  title: string;
  /** axes, with their units */
  x: string;
  y: string;
  /** bars (each from its x to the next) or a line */
  bars: boolean;
  series: { name: string; points: [x: number, y: number][] }[];
  /** places on the horizontal axis to point at */
  marks: { at: number; text: string }[];
}
/** Published tables as they were printed, checked for what cannot be. */
export interface Audit {
  name: string;
  title: string;
  source: string;
  rows: number;
  flagged: number;
  tables: AuditedTable[];
}
export interface AuditedTable {
  title: string;
  tool: string | null;
  columns: string[];
  /** `ours`: what was measured here as that row was */
  rows: {
    name: string;
    ours: { contender: string; cell: string } | null;
    figures: (string | null)[];
    findings: AuditFinding[];
    notes: string[];
  }[];
  flagged: number;
  /** rows that only show what an earlier table showed */
  repeated: number;
}
export interface AuditFinding {
  check: string;
  wording: "contradicts-itself" | "inconsistent-as-service-time";
  /** the arithmetic, in a sentence */
  what: string;
  factor: number | null;
  /** the largest value, or the only one, that the other figures allow */
  possible: string | null;
  /** what would explain it without bad faith */
  explanations: string[];
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
  /** null, with threads and memory, of a service that ran already: its process is not known */
  cpu_percent: number | null;
  cpu_us_per_request: number | null;
  threads: number | null;
  memory_mb: number | null;
  /** requests that did not get the right answer, by kind; kinds that are zero are left out */
  errors: { kind: string; count: number }[];
}
export interface Published {
  title: string;
  columns: string[];
  rows: string[][];
  note: string | null;
}
export interface Curve {
  cell: string;
  contender: string;
  /** quantile (0..1, ascending, none beyond what the sample supports) and latency */
  points: [quantile: number, latency_ms: number][];
  samples: number;
}
/** What each factor does to a metric, apart from the others. */
export interface Effects {
  cell: string;
  metric: string;
  label: string;
  unit: string;
  /** of all starts, in the metric's unit */
  mean: number;
  /** of the intervals, each by itself */
  confidence: number;
  used: number;
  excluded: number;
  /** why there are none; else empty */
  reason: string;
  /** factors, then pairs whose effect is beyond chance */
  effects: Effect[];
}
export interface Effect {
  /** "audit", "audit and security" */
  name: string;
  pair: boolean;
  value: number;
  low: number;
  high: number;
  /** the same as parts of the mean */
  share: number;
  share_low: number;
  share_high: number;
  /** Holm's, among all pairs; null for a factor */
  p: number | null;
  /** "41 µs (38 to 44), 12 % of the mean" */
  phrase: string;
}
/** The most at which a service level holds, of each contender in a cell. */
export interface Capacity {
  cell: string;
  /** "users" | "requests per second" */
  unit: string;
  /** "p95<100ms and errors<0.1%" */
  service_level: string;
  /** of the intervals */
  confidence: number;
  lines: CapacityLine[];
}
export interface CapacityLine {
  contender: string;
  /** of the typical trial; null where none has a capacity */
  value: number | null;
  /** over blocks; null from fewer than two */
  low: number | null;
  high: number | null;
  used: number;
  searched: number;
  /** probes that say nothing */
  left_out: number;
  restarts: number;
  warnings: string[];
  /** share of probes that keep the service level, over the level */
  curve: [level: number, share: number][];
  probes: [block: number, level: number, kept: boolean][];
}
/** What several generators say of one load: each in its own way, so nobody is ranked. */
export interface Witnesses {
  /** "Generators before control (closed loop, 32 connections, workload products)" */
  title: string;
  contender: string;
  load: string;
  workload: string;
  /** what is known of it beforehand */
  truth: { rate_per_s: number | null; p50_ms: number | null; p99_ms: number | null } | null;
  lines: WitnessLine[];
}
/** Medians over trials; null where the generator does not say. */
export interface WitnessLine {
  cell: string;
  generator: string;
  ours: boolean;
  /** trials that tell of it, and those of which the hypervisor took too much */
  used: number;
  robbed: number;
  rate_per_s: number | null;
  p50_ms: number | null;
  p99_ms: number | null;
  failed_percent: number | null;
  /** its own */
  cpu_us_per_request: number | null;
  memory_mb: number | null;
  differs: string[];
}
/** A metric over the levels of a swept parameter, all else held. */
export interface Sweep {
  /** "uppercase, size 128" */
  of: string;
  /** "connections" */
  parameter: string;
  metric: string;
  label: string;
  unit: string;
  lower_is_better: boolean;
  /** of the intervals, each by itself */
  confidence: number;
  lines: SweepLine[];
  /** where it is sure that two lines cross */
  crossings: { level: number; sentence: string }[];
  /** what the last turn of each contender comes to beside its first; empty but over turns */
  turns: string[];
}
export interface SweepLine {
  contender: string;
  points: SweepPoint[];
}
export interface SweepPoint {
  level: number;
  /** of the typical trial, in the metric's unit */
  value: number;
  /** its interval over blocks; null from fewer than two */
  low: number | null;
  high: number | null;
  used: number;
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
  /** from the start of the process: the first right answer, and the steady state */
  ready_ms: number | null;
  steady_ms: number | null;
  /** null in older records */
  warmup: Windows | null;
  stop: string;
  facts: Fact[];
  measurements: Measurement[];
}
export interface Measurement {
  cell: string;
  position: number;
  /** from the start of the process; null in older records */
  began_s: number | null;
  lasted_s: number;
  counts: Record<
    | "scheduled"
    | "unsent"
    | "correct"
    | "wrong"
    | "declined"
    | "refused"
    | "broken"
    | "timed_out"
    | "unfinished",
    number
  >;
  /** columns, one entry a second */
  seconds: {
    t_s: number[];
    rate_per_s: number[];
    p50_ms: (number | null)[];
    p99_ms: (number | null)[];
    max_ms: (number | null)[];
  };
  /** columns, one entry per 100 ms sample */
  usage: {
    t_s: number[];
    cpu_percent: number[];
    memory_mb: number[];
    threads: number[];
    descriptors: number[];
  };
  generator: { cpu_percent: number; lag_p99_us: number | null; in_flight_max: number };
}
export interface Fault {
  kind: string;
  /** "block 3, nginx, cell closed-64" */
  where: string;
  evidence: string;
  hint: string;
}
