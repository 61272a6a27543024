// Generated from `crates/report/src/page/` by `cargo test -p report typescript`; do not edit.
// To write it again: FACEOFF_WRITE_REFERENCE=1 cargo test -p report typescript

/** The answer to the experiment's question. */
export type Answer = {
  /** `answered`, `undecided` or `unsound`. */
  outcome: "answered" | "undecided" | "unsound";
  /** The answer in one sentence. */
  sentence: string;
  /** Sentences that qualify it. */
  details: Array<string>;
  /** The contender that it is about, if it is about one. */
  subject: string | null;
  /** The metrics that it speaks of. */
  metrics: Array<string>;
};

/** A file or folder that a build made. */
export type Artifact = {
  path: string;
  sha256: string;
  bytes: number;
};

/** The audit of an article's tables. */
export type Audit = {
  name: string;
  title: string;
  source: string;
  rows: number;
  flagged: number;
  tables: Array<AuditedTable>;
};

/** An impossible or inconsistent figure. */
export type AuditFinding = {
  check: string;
  wording: AuditWording;
  /** The arithmetic, in a sentence. */
  what: string;
  factor: number | null;
  /** The largest value, or the only one, that the other figures allow. */
  possible: string | null;
  /** What would explain it without bad faith. */
  explanations: Array<string>;
};

/** One row as it was printed, with what its figures contradict. */
export type AuditedRow = {
  name: string;
  /** What was measured here in the way of that row. */
  ours: Ours | null;
  figures: Array<string | null>;
  findings: Array<AuditFinding>;
  notes: Array<string>;
};

/** One table as it was printed. */
export type AuditedTable = {
  title: string;
  tool: string | null;
  columns: Array<string>;
  rows: Array<AuditedRow>;
  flagged: number;
  /** The number of rows that only repeat an earlier table. */
  repeated: number;
};

/** The highest level at which a service level holds, of each contender in a cell. */
export type Capacity = {
  cell: string;
  /** `users` or `requests per second` */
  unit: string;
  /** `p95<100ms and errors<0.1%` */
  service_level: string,
  /** The confidence of the intervals. */
  confidence: number, lines: Array<CapacityLine>, };

/** The capacity of one contender. */
export type CapacityLine = {
  contender: string;
  /** The capacity of the typical trial; null if no trial has one. */
  value: number | null;
  /** Its interval over blocks; null from fewer than two. */
  low: number | null;
  high: number | null;
  used: number;
  searched: number;
  /** The number of probes without a result. */
  left_out: number;
  restarts: number;
  warnings: Array<string>;
  /** Level, and the share of probes that keep the service level there. */
  curve: Array<[number, number]>;
  /** Block, level, and whether the service level was kept. */
  probes: Array<[number, number, boolean]>;
};

/** Where the CPU time of one cell went. */
export type Causes = {
  cell: string;
  /** The baseline first. */
  contenders: Array<CausesContender>;
  /** Those in which any contender spends time. */
  categories: Array<CausesCategory>;
  differences: Array<CausesDifference>;
  waits: Array<CausesWait>;
  flame: Flame;
};

/** A category. */
export type CausesCategory = {
  name: string;
  /** One for each contender, in their order. */
  costs: Array<CausesCost>;
};

/** A contender that was profiled. */
export type CausesContender = {
  name: string;
  blocks: number;
  samples: number;
  total: CausesCost;
  notes: Array<string>;
};

/** Microseconds of CPU time per request, with the interval at 95 %. */
export type CausesCost = {
  us: number;
  low: number | null;
  high: number | null;
};

/** A contender compared with the baseline. */
export type CausesDifference = {
  contender: string;
  baseline: string;
  sentence: string;
  /** Whether functions were compared: contenders in one language. */
  functions_compared: boolean;
  /**
   * Categories and functions that differ beyond chance, the largest difference first. Then waits
   * that do, if responses take longer or shorter by more than CPU time explains.
   */
  lines: Array<CausesLine>;
};

/** A category, function or wait that differs beyond chance. */
export type CausesLine = {
  name: string;
  /** The category of a function; empty otherwise. */
  category: string;
  us: number;
  low: number | null;
  high: number | null;
  /** The corrected probability. */
  q: number | null;
};

/** Something that processes did besides using a CPU, per request. */
export type CausesWait = {
  name: string;
  /** One for each contender; null if it could not be read. */
  values: Array<number | null>;
};

/** One workload at one load level. */
export type Cell = {
  name: string;
  /** `arrivals at 200/s, evenly spaced` or `closed loop, 64 connections` */
  load: string;
  workload: string;
  /** Whether latency counts from the scheduled instant; without a schedule it is service time. */
  scheduled: boolean;
};

/** A check of the measurement, with its result. */
export type Check = {
  /** The kind of the faults that it finds: `generator-lag`. */
  kind: string;
  /** What holds if it finds none. */
  what: string;
  standing: "held" | "found" | "not_made";
  /** `measurements` */
  of: string;
  all: number;
  looked_at: number;
  found: number;
};

/** A claim of the experiment. */
export type Claim = {
  text: string;
  contender: string;
  metric: string;
  label: string;
  expects: string;
  outcome: ClaimOutcome;
  reason: string;
  /** Null if nothing was tested. */
  p: number | null;
  /** With Holm's correction for all claims of the experiment. */
  p_adjusted: number | null;
  /** One interval per cell of the claim. */
  cells: Array<ClaimCell>;
};

/** A claim in one cell. */
export type ClaimCell = {
  cell: string;
  outcome: ClaimOutcome;
  /** Contender over baseline; null for a metric compared by difference, or from too few blocks. */
  ratio: number | null;
  /** The interval that decides. */
  ratio_low: number | null;
  ratio_high: number | null;
  /** The confidence of that interval, as the interim analysis allows: 0.975. */
  confidence: number;
  /** The t interval; null if it could not be computed. */
  t: [number, number] | null;
  /** The bootstrap interval; null if it could not be computed. */
  bootstrap: [number, number] | null;
  /** The one of the two intervals that contains the other, if one does. */
  decided_by: "t" | "bootstrap" | null;
  /** The p-value of a check that decides nothing. */
  sign_flip_p: number | null;
  /** About how many blocks would decide it, if it is undecided. */
  blocks_needed: number | null;
  margin: number;
  /** The verdict as a phrase: `31 % of the baseline's CPU per request (29 % to 33 %)`. */
  phrase: string;
  /** Why it is undecided; else empty. */
  reason: string;
};

/** The number of starts of one class. */
export type ClassCount = {
  class: WarmUpClass;
  count: number;
};

/** A contender of the experiment; one of them is the baseline. */
export type Contender = {
  /** `proxy-spring-mvc:virtual-threads` */
  name: string;
  baseline: boolean;
  summary: string;
  facts: Array<Fact>;
  version: string | null;
  /** Files and folders that its build made. */
  artifacts: Array<Artifact>;
  trials_valid: number;
  trials_excluded: number;
  /** Milliseconds to the first correct response, over its trials. */
  ready_ms: Ready | null;
  /** Whether it was already running: faceoff did not start it. */
  reached: boolean;
};

/** What a million requests cost a contender in a cell. */
export type CostLine = {
  cell: string;
  contender: string;
  /** Null if the cost is not known. */
  total: number | null;
  /** Its interval over blocks; null from fewer than two. */
  low: number | null;
  high: number | null;
  /** The parts of it; null without a price of them. */
  cpu: number | null;
  memory: number | null;
  /** Contender over baseline, with its interval; null for the baseline. */
  ratio: number | null;
  ratio_low: number | null;
  ratio_high: number | null;
  blocks: number;
  /** The cost with its interval, or why it is not known. */
  text: string;
  /** `48 % more than gateway (45 % to 51 %)`; null for the baseline. */
  compared: string | null;
};

/** What a million requests cost each contender, for a price. */
export type Costs = {
  /** `0.034 USD per CPU-hour and 0.004 USD per GiB-hour` */
  price: string;
  /** The currency; empty if it was not given. */
  currency: string;
  /** The confidence of the intervals. */
  confidence: number;
  lines: Array<CostLine>;
};

/** Requests by result. `scheduled` is the sum of the others. */
export type Counts = {
  scheduled: number;
  unsent: number;
  correct: number;
  wrong: number;
  declined: number;
  refused: number;
  broken: number;
  timed_out: number;
  unfinished: number;
};

/** A level at which two lines cross. */
export type Crossing = {
  level: number;
  sentence: string;
};

/** A latency curve. */
export type Curve = {
  cell: string;
  contender: string;
  samples: number;
  /**
   * Quantiles (0 to 1, ascending, none beyond what the sample supports) with latencies in
   * milliseconds.
   */
  points: Array<[number, number]>;
};

/** The effect of one factor, or of a pair of factors. */
export type Effect = {
  /** `audit` or `audit and security` */
  name: string;
  pair: boolean;
  value: number;
  low: number;
  high: number;
  /** The value as a part of the mean. */
  share: number;
  share_low: number;
  share_high: number;
  /** Holm's p-value among all pairs; null for a factor. */
  p: number | null;
  /** `41 µs (38 to 44), 12 % of the mean` */
  phrase: string;
};

/** What each factor does to a metric, apart from the others. */
export type Effects = {
  cell: string;
  metric: string;
  label: string;
  unit: string;
  /** The mean of all starts, in the metric's unit. */
  mean: number;
  /** The confidence of each interval by itself. */
  confidence: number;
  used: number;
  excluded: number;
  /** Why there are none; else empty. */
  reason: string;
  /** Factors first, then pairs whose effect is beyond chance. */
  effects: Array<Effect>;
};

/** The number of errors of one kind. */
export type ErrorCount = {
  kind: string;
  count: number;
};

/** A ratio to the baseline, with what decided about it. */
export type Estimate = {
  /** Contender over baseline; null for a metric compared by difference, or from too few blocks. */
  ratio: number | null;
  /** The interval that decides. */
  ratio_low: number | null;
  ratio_high: number | null;
  /** The confidence of that interval, as the interim analysis allows: 0.975. */
  confidence: number;
  /** The t interval; null if it could not be computed. */
  t: [number, number] | null;
  /** The bootstrap interval; null if it could not be computed. */
  bootstrap: [number, number] | null;
  /** The one of the two intervals that contains the other, if one does. */
  decided_by: "t" | "bootstrap" | null;
  /** The p-value of a check that decides nothing. */
  sign_flip_p: number | null;
  /** About how many blocks would decide it, if it is undecided. */
  blocks_needed: number | null;
  margin: number;
  /** The verdict as a phrase: `31 % of the baseline's CPU per request (29 % to 33 %)`. */
  phrase: string;
  /** Why it is undecided; else empty. */
  reason: string;
};

/** A name and a value, shown as written. */
export type Fact = {
  name: string;
  value: string;
};

/** A reason not to use a measurement, with its evidence. */
export type Fault = {
  kind: string;
  /** `block 3, nginx, cell closed-64` */
  where: string;
  evidence: string;
  hint: string;
};

/** The number of faults of one kind. */
export type FaultCount = {
  kind: string;
  count: number;
};

/** The stacks of all contenders as one tree. */
export type Flame = {
  frames: Array<FlameFrame>;
  /**
   * For each node its parent, which comes before it. The first node is the whole, and its own
   * parent.
   */
  parents: Array<number>;
  /** For each node its frame. */
  of: Array<number>;
  /** For each contender, microseconds per request of each node with everything it calls. */
  us: Array<Array<number>>;
};

/** A function or thread. */
export type FlameFrame = {
  name: string;
  module: string;
  kernel: boolean;
};

/** Readings of the load generator. */
export type Generator = {
  cpu_percent: number;
  lag_p99_us: number | null;
  in_flight_max: number;
};

/**
 * What several generators report of one load. Each measures in its own way, so there is no
 * ranking.
 */
export type GeneratorComparison = {
  contender: string;
  load: string;
  workload: string;
  /** `Generators before control (closed loop, 32 connections, workload products)` */
  title: string;
  /** What is known about the load beforehand. */
  truth: KnownLoad | null;
  lines: Array<GeneratorLine>;
  /** Why trials were excluded; null if none were. */
  excluded: string | null;
};

/** Medians over trials of one generator; null if the generator does not report the figure. */
export type GeneratorLine = {
  cell: string;
  generator: string;
  ours: boolean;
  /** The number of trials used, and of how many if CPU steal excluded some. */
  trials: string;
  rate_per_s: number | null;
  p50_ms: number | null;
  p99_ms: number | null;
  failed_percent: number | null;
  /** CPU time of the generator itself. */
  cpu_us_per_request: number | null;
  /** Memory of the generator itself. */
  memory_mb: number | null;
  differs: Array<string>;
};

/** One piece of evidence for or against the answer. */
export type Ground = {
  /** `noise` */
  subject: string;
  /** `open` if it is unknown or incomplete. */
  standing: "good" | "bad" | "open";
  sentence: string;
  /** Details. */
  more: Array<string>;
  /** The section of the report that shows it. */
  section: string;
};

/** Figures that are known without measuring. */
export type KnownLoad = {
  rate_per_s: number | null;
  p50_ms: number | null;
  p99_ms: number | null;
};

/** An interim analysis. */
export type Look = {
  blocks: number;
  confidence: number;
  confidence_equivalence: number;
  taken: boolean;
};

/** What wrote the record, and when. */
export type Made = {
  version: string;
  recorded_at: string;
  record: string;
};

/** One cell of a trial. */
export type Measurement = {
  cell: string;
  position: number;
  counts: Counts;
  /** From the start of the process; null in older records. */
  began_s: number | null;
  lasted_s: number;
  seconds: Seconds;
  usage: Usage;
  generator: Generator;
};

/** The baseline compared with itself. */
export type Noise = {
  cell: string;
  metric: string;
  label: string;
  ratio: number;
  ratio_low: number;
  ratio_high: number;
  /** Standard deviation of the blocks' log-ratios. */
  log_deviation: number;
  margin: number;
  /** Seconds of measurement that give the narrowest interval for the time that a run takes. */
  best_seconds: number | null;
};

/** A contender in a cell. */
export type Ours = {
  contender: string;
  cell: string;
};

/** Everything that the report of one record shows. */
export type Page = {
  schema: "faceoff.page.v1";
  experiment: string;
  question: string;
  source: Source | null;
  /** The answer in one sentence, and those that qualify it. */
  answer: Answer;
  /**
   * Absolute values of the answer's contender and of the baseline; empty if nothing was
   * compared.
   */
  strip: Array<StripRow>;
  /** What a reader must know before relying on the answer: short warm-up, one core, and so on. */
  notes: Array<string>;
  /** Evidence for and against the answer, in the order in which a reader would ask for it. */
  believe: Array<Ground>;
  /** Every check of the measurement, those that found a fault first. */
  checks: Array<Check>;
  claims: Array<Claim>;
  contenders: Array<Contender>;
  cells: Array<Cell>;
  /** One per cell, contender (never the baseline) and metric, in reading order. */
  verdicts: Array<Verdict>;
  /** Where CPU time went, by cell; empty unless the run was profiled. */
  causes: Array<Causes>;
  /** One per cell and contender: the columns of a load tester's summary table. */
  table: Array<Row>;
  /** Figures that the source published, to be shown next to ours. */
  published: Published | null;
  /** One latency curve per cell and contender, pooled over its valid trials. */
  curves: Array<Curve>;
  /** Effects by metric and cell; empty unless factors were crossed. */
  effects: Array<Effects>;
  /** What requests cost; null unless the command was given a price. */
  costs: Costs | null;
  /** The capacities that were searched for. */
  capacities: Array<Capacity>;
  /** What external generators report of a load, next to ours. */
  external_generators: Array<GeneratorComparison>;
  /** Every metric over the levels of every swept parameter. */
  sweeps: Array<Sweep>;
  trials: Array<Trial>;
  faults: Array<Fault>;
  /** The number of faults of each kind, most frequent first. */
  fault_counts: Array<FaultCount>;
  stopping: Stopping;
  /** The baseline against itself; empty unless the experiment asked for it. */
  noise: Array<Noise>;
  /** One per contender, over its starts; empty in older records. */
  warmups: Array<WarmUp>;
  symptoms: Array<Symptom>;
  /** The article's tables, and the figures in them that are impossible or inconsistent. */
  audit: Audit | null;
  /** Results of the last self-test on this machine; empty if there was none. */
  instrument: Array<Fact>;
  skipped: Array<Skipped>;
  machine: Array<Fact>;
  design: Array<Fact>;
  /** Commands that repeat the run, its judgement and this report. */
  repeat: Array<string>;
  analysis: string | null;
  made: Made;
  /** Ticks of axes, so that charts of the report and of exports have the same. */
  ticks: Ticks;
};

/** A small chart: lines or bars over one axis. */
export type Picture = {
  title: string;
  /** The horizontal axis, with its unit. */
  x: string;
  /** The vertical axis, with its unit. */
  y: string;
  /** Whether points are bars, each from its x to the next, or a line. */
  bars: boolean;
  series: Array<PictureSeries>;
  /** Places on the horizontal axis to point at. */
  marks: Array<PictureMark>;
};

/** A place on the horizontal axis with its text. */
export type PictureMark = {
  at: number;
  text: string;
};

/** A named line or row of bars. */
export type PictureSeries = {
  name: string;
  points: Array<[number, number]>;
};

/** A table as its author published it. */
export type Published = {
  title: string;
  columns: Array<string>;
  rows: Array<Array<string>>;
  note: string | null;
};

/** Ticks of an axis of ratios. */
export type RatioTicks = {
  /** The smallest reach of an axis that has these ticks. */
  reach: number;
  ticks: Array<number>;
};

/** Start-up times over trials, in milliseconds. */
export type Ready = {
  median: number;
  min: number;
  max: number;
};

/** A row of a load tester's summary table. */
export type Row = {
  cell: string;
  contender: string;
  samples: number;
  standard_deviation_ms: number;
  throughput_per_s: number;
  average_ms: number;
  min_ms: number;
  /** Null if there are too few samples for that quantile. */
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  max_ms: number;
  received_kb_per_s: number;
  average_bytes: number;
  /** Null, like threads and memory, if the service was already running: its process is unknown. */
  cpu_percent: number | null;
  cpu_us_per_request: number | null;
  threads: number | null;
  memory_mb: number | null;
  /** Requests without a correct response, by kind; kinds without any are left out. */
  errors: Array<ErrorCount>;
};

/** Readings in columns, with one entry for each second. */
export type Seconds = {
  t_s: Array<number>;
  rate_per_s: Array<number>;
  p50_ms: Array<number | null>;
  p99_ms: Array<number | null>;
  max_ms: Array<number | null>;
};

/** A contender or a cell that was not measured. */
export type Skipped = {
  contender: string;
  reason: string;
};

/** Where the question comes from. */
export type Source = {
  title: string;
  author: string | null;
  url: string | null;
  published: string | null;
};

/** The interim analyses of the run, and how far it came. */
export type Stopping = {
  /** The number of blocks planned. */
  planned: number;
  /** The number of blocks begun. */
  run: number;
  /** Whether it ended at an interim analysis before the last. */
  early: boolean;
  /** The design's confidence. */
  confidence: number;
  margin: number;
  looks: Array<Look>;
};

/** A row of the strip of absolute values below the answer. */
export type StripRow = {
  /** `requests/s` */
  label: string;
  cell: string;
  /** The contender's value with its unit, or why there is none. */
  value: string;
  /** The baseline's. */
  baseline_value: string;
  /** `17× less (12× to 23×)` */
  difference: string;
  outcome: Outcome;
  /** Why it is undecided; else empty. */
  reason: string;
};

/** A metric over the levels of a swept parameter, everything else unchanged. */
export type Sweep = {
  /** `uppercase, size 128` */
  of: string;
  /** `connections` */
  parameter: string;
  metric: string;
  label: string;
  unit: string;
  lower_is_better: boolean;
  /** The confidence of each interval by itself. */
  confidence: number;
  lines: Array<SweepLine>;
  /** Where two lines surely cross. */
  crossings: Array<Crossing>;
  /**
   * The last repetition of each contender compared with its first; empty unless cells were
   * repeated within a trial.
   */
  repetitions: Array<string>;
};

/** The line of one contender. */
export type SweepLine = {
  contender: string;
  points: Array<SweepPoint>;
};

/** A value at one level. */
export type SweepPoint = {
  level: number;
  /** Of the typical trial, in the metric's unit. */
  value: number;
  /** Its interval over blocks; null from fewer than two. */
  low: number | null;
  high: number | null;
  used: number;
};

/** A cause that is visible in the shape of the data. */
export type Symptom = {
  /** `delayed-ack` */
  kind: string;
  contender: string;
  cell: string | null;
  sentence: string;
  hint: string;
  picture: Picture;
};

/** The ticks that charts of the report choose from. */
export type Ticks = {
  /** Ticks around 1, widest reach first. */
  ratios: Array<RatioTicks>;
  quantiles: Array<number>;
  /** For a stretch that is too short for two of `quantiles`. */
  fine_quantiles: Array<number>;
};

/** One fresh start of one contender. */
export type Trial = {
  contender: string;
  /** The block, from 1. */
  block: number;
  /** The place within its block, from 1. */
  position: number;
  valid: boolean;
  /** Why no verdict uses it; empty if it is valid. */
  reason: string;
  /** From the start of the process to the first correct response. */
  ready_ms: number | null;
  /** From the start of the process to the steady state. */
  steady_ms: number | null;
  /** Null in older records. */
  warmup: Windows | null;
  stop: string;
  facts: Array<Fact>;
  measurements: Array<Measurement>;
};

/** Readings of the process in columns, with one entry for each sample of 100 ms. */
export type Usage = {
  t_s: Array<number>;
  cpu_percent: Array<number>;
  memory_mb: Array<number>;
  threads: Array<number>;
  descriptors: Array<number>;
};

/** A contender compared with the baseline by one metric in one cell. */
export type Verdict = {
  cell: string;
  contender: string;
  baseline: string;
  metric: string;
  /** `CPU per request` */
  label: string;
  unit: string;
  lower_is_better: boolean;
  outcome: Outcome;
  /** The contender's typical value (geometric mean over the blocks used), in `unit`. */
  value: number | null;
  baseline_value: number | null;
  /** The number of blocks used. */
  used: number;
  excluded: number;
  /** Contender over baseline; null for a metric compared by difference, or from too few blocks. */
  ratio: number | null;
  /** The interval that decides. */
  ratio_low: number | null;
  ratio_high: number | null;
  /** The confidence of that interval, as the interim analysis allows: 0.975. */
  confidence: number;
  /** The t interval; null if it could not be computed. */
  t: [number, number] | null;
  /** The bootstrap interval; null if it could not be computed. */
  bootstrap: [number, number] | null;
  /** The one of the two intervals that contains the other, if one does. */
  decided_by: "t" | "bootstrap" | null;
  /** The p-value of a check that decides nothing. */
  sign_flip_p: number | null;
  /** About how many blocks would decide it, if it is undecided. */
  blocks_needed: number | null;
  margin: number;
  /** The verdict as a phrase: `31 % of the baseline's CPU per request (29 % to 33 %)`. */
  phrase: string;
  /** Why it is undecided; else empty. */
  reason: string;
};

/** How the starts of a contender warmed up. */
export type WarmUp = {
  contender: string;
  classes: Array<ClassCount>;
  /** Seconds of load until the steady state; median over starts. */
  steady_after_s: number | null;
  /** CPU time per request in the first second of load; median over starts. */
  cold_cpu_us: number | null;
  /** The same in the steady state. */
  steady_cpu_us: number | null;
  /** The maximum latency in the first second of load; median over starts. */
  cold_max_ms: number | null;
};

/** The warm-up of one start in columns, with one entry for each window. */
export type Windows = {
  class: WarmUpClass;
  steady_after_s: number | null;
  t_s: Array<number>;
  /** Correct responses per second of load. */
  rate_per_s: Array<number>;
  cpu_us: Array<number | null>;
  p50_ms: Array<number | null>;
  max_ms: Array<number | null>;
};

export type Outcome = "better" | "worse" | "equivalent" | "undecided";
export type ClaimOutcome = "confirmed" | "refuted" | "undecided";
export type WarmUpClass = "flat" | "warm_up" | "slowdown" | "never_steady" | "too_short";
export type AuditWording = "contradicts-itself" | "inconsistent-as-service-time";
