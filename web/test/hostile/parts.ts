/** The parts of a hostile record: markup as names, absurd numbers, empty lists. */
import type { Cell, Measurement, Page, Sweep, Symptom, Windows } from "../../src/page";

export const ATTACK = `<img src=x onerror=alert(1)>`;

export const long = "very-long-name-without-a-break-".repeat(12);
export const names = Array.from({ length: 100 }, (_, i) =>
  i === 0
    ? ATTACK
    : i === 1
      ? long
      : i === 2
        ? "وكيل عكسي ‮evil"
        : i === 3
          ? "</script><script>alert(2)</script>"
          : i === 4
            ? "__proto__"
            : `${ATTACK}${i}`,
);
export const cell: Cell = {
  name: ATTACK,
  load: `"><svg onload=alert(3)>`,
  workload: long,
  scheduled: true,
};
export const nothing = {
  ratio: null,
  ratio_low: null,
  ratio_high: null,
  confidence: Number.NaN,
  t: null,
  bootstrap: null,
  decided_by: null,
  sign_flip_p: null,
  blocks_needed: null,
  reason: ATTACK,
};
export const absurd = {
  ...nothing,
  confidence: 1,
  t: [-1, 1e300] as [number, number],
  bootstrap: [0, 0] as [number, number],
  decided_by: "t" as const,
  sign_flip_p: -1,
  blocks_needed: 1e300,
};
export const empty: Measurement = {
  cell: ATTACK,
  position: 1,
  began_s: null,
  lasted_s: 0,
  counts: {
    scheduled: 0,
    unsent: 0,
    correct: 0,
    wrong: 0,
    declined: 0,
    refused: 0,
    broken: 0,
    timed_out: 0,
    unfinished: 0,
  },
  seconds: { t_s: [], rate_per_s: [], p50_ms: [], p99_ms: [], max_ms: [] },
  usage: { t_s: [], cpu_percent: [], memory_mb: [], threads: [], descriptors: [] },
  generator: { cpu_percent: 0, lag_p99_us: null, in_flight_max: 0 },
};
export const odd: Measurement = {
  ...empty,
  began_s: 1e300,
  lasted_s: -1,
  seconds: {
    t_s: [1, 2, 3],
    rate_per_s: [0, 0, 0],
    p50_ms: [null, null, null],
    p99_ms: [null, 0, null],
    max_ms: [null, null, 1e300],
  },
  usage: {
    t_s: [0.1, 0.1, 0.1],
    cpu_percent: [0, 1e300, -1],
    memory_mb: [0, 0, 0],
    threads: [0, 0, 0],
    descriptors: [1e12, 0, 0],
  },
};
export const many = Array.from({ length: 120 }, (_, i) => i);
export const wild: (Windows | null)[] = [
  null,
  {
    class: "flat",
    steady_after_s: null,
    t_s: [],
    rate_per_s: [],
    cpu_us: [],
    p50_ms: [],
    max_ms: [],
  },
  {
    class: ATTACK as "flat",
    steady_after_s: 1e300,
    t_s: [0],
    rate_per_s: [0],
    cpu_us: [null],
    p50_ms: [1e300],
    max_ms: [],
  },
  {
    class: "slowdown",
    steady_after_s: -5,
    t_s: [3, 1, 1e300],
    rate_per_s: [1, 1, 1],
    cpu_us: [1e-300, 1e300, -1],
    p50_ms: [null, null, null],
    max_ms: [0, 0, 0],
  },
  {
    class: "never_steady",
    steady_after_s: null,
    t_s: many,
    rate_per_s: many,
    cpu_us: many,
    p50_ms: many,
    max_ms: many,
  },
];
export const nowhere = { cold_cpu_us: null, steady_cpu_us: 1e300, cold_max_ms: null };
export const symptom = (picture: Partial<Symptom["picture"]>): Symptom => ({
  kind: ATTACK,
  contender: ATTACK,
  cell: long,
  sentence: `${ATTACK} ${long}`,
  hint: ATTACK,
  picture: { title: ATTACK, x: long, y: ATTACK, bars: false, series: [], marks: [], ...picture },
});
export const sweep: Sweep = {
  of: long,
  parameter: ATTACK,
  metric: ATTACK,
  label: long,
  unit: ATTACK,
  lower_is_better: true,
  confidence: 2,
  lines: [
    { contender: ATTACK, points: [] },
    {
      contender: long,
      points: [
        { level: 0, value: 1, low: 1, high: 1, used: 1 },
        { level: Number.NaN, value: Number.NaN, low: null, high: null, used: 0 },
        { level: 1e-300, value: 1e-300, low: -1e300, high: 1e300, used: 1e300 },
      ],
    },
  ],
  crossings: [
    { level: Number.NaN, sentence: ATTACK },
    { level: 1e300, sentence: long },
    { level: -1, sentence: "" },
  ],
  repetitions: [ATTACK, long],
};

export const CLAIMS: Page["claims"] = [
  {
    text: ATTACK,
    contender: "nobody",
    metric: ATTACK,
    label: ATTACK,
    expects: long,
    outcome: "undecided",
    reason: ATTACK,
    p: null,
    p_adjusted: null,
    cells: [],
  },
  {
    text: long,
    contender: ATTACK,
    metric: "",
    label: "",
    expects: "",
    outcome: "refuted",
    reason: "",
    p: 1e300,
    p_adjusted: -1,
    cells: [
      { cell: ATTACK, outcome: "undecided", ...nothing, margin: 0, phrase: ATTACK },
      {
        ...absurd,
        cell: long,
        outcome: "refuted",
        ratio: 1e9,
        ratio_low: 1e-9,
        ratio_high: 1e12,
        margin: 50,
        phrase: "",
      },
      {
        ...absurd,
        cell: "zero",
        outcome: "confirmed",
        ratio: 0,
        ratio_low: -1,
        ratio_high: 0,
        margin: -1,
        phrase: "",
      },
    ],
  },
];

export const VERDICTS: Page["verdicts"] = names.slice(1).map((contender) => ({
  cell: ATTACK,
  contender,
  baseline: ATTACK,
  metric: ATTACK,
  label: ATTACK,
  unit: ATTACK,
  lower_is_better: true,
  outcome: "undecided",
  phrase: ATTACK,
  ...nothing,
  value: null,
  baseline_value: null,
  margin: 0,
  used: 0,
  excluded: 0,
  reason: long,
}));

export const TABLE: Page["table"] = names.map((contender) => ({
  cell: ATTACK,
  contender,
  samples: 0,
  standard_deviation_ms: 0,
  throughput_per_s: 0,
  average_ms: 0,
  min_ms: 0,
  p50_ms: null,
  p95_ms: null,
  p99_ms: null,
  max_ms: 0,
  received_kb_per_s: 0,
  average_bytes: 0,
  cpu_percent: 0,
  cpu_us_per_request: null,
  threads: 0,
  memory_mb: 0,
  errors: [{ kind: ATTACK, count: 1e9 }],
}));

export const CURVES: Page["curves"] = names.map((contender, i) => ({
  cell: ATTACK,
  contender,
  samples: 0,
  points:
    i % 3 === 0
      ? []
      : i % 3 === 1
        ? [[0.5, 1]]
        : [
            [0, 0],
            [0.5, 1e-6 * (i + 1)],
            [0.99, 1e9],
            [1, 2e9],
          ],
}));

export const EFFECTS: Page["effects"] = [
  {
    cell: ATTACK,
    metric: ATTACK,
    label: ATTACK,
    unit: ATTACK,
    mean: 0,
    confidence: 2,
    used: -1,
    excluded: NaN,
    reason: ATTACK,
    effects: [
      {
        name: ATTACK,
        pair: true,
        value: NaN,
        low: Infinity,
        high: -1e300,
        share: NaN,
        share_low: Infinity,
        share_high: -Infinity,
        p: NaN,
        phrase: ATTACK,
      },
    ],
  },
];

export const CAUSES: Page["causes"] = [
  {
    cell: ATTACK,
    contenders: [ATTACK, long].map((name) => ({
      name,
      blocks: -1,
      samples: 1e300,
      total: { us: NaN, low: null, high: Infinity },
      notes: [ATTACK, long],
    })),
    categories: [
      { name: ATTACK, costs: [] },
      { name: long, costs: [{ us: 1e300, low: -1, high: NaN }] },
    ],
    differences: [
      {
        contender: long,
        baseline: ATTACK,
        sentence: `${ATTACK} ${long}`,
        functions_compared: true,
        lines: [{ name: ATTACK, category: long, us: NaN, low: null, high: Infinity, q: NaN }],
      },
    ],
    waits: [{ name: ATTACK, values: [] }],
    flame: {
      frames: [{ name: ATTACK, module: long, kernel: true }],
      parents: [0, 0, 5, 1, 3],
      of: [0, 7, 0, 0, 0],
      us: [[1, NaN, 2, 0.5, 1e300], []],
    },
  },
  {
    cell: long,
    contenders: [],
    categories: [],
    differences: [],
    waits: [],
    flame: { frames: [], parents: [], of: [], us: [] },
  },
];

export const CAPACITIES: Page["capacities"] = [
  {
    cell: ATTACK,
    unit: long,
    service_level: ATTACK,
    confidence: 2,
    lines: names.map((contender, i) => ({
      contender,
      value: i % 2 ? 1e300 : null,
      low: -1,
      high: i % 3 ? Infinity : 5,
      used: -1,
      searched: Number.NaN,
      left_out: 1e300,
      restarts: -1,
      warnings: i % 2 ? [ATTACK, long] : [],
      curve:
        i % 3
          ? [
              [0, Number.NaN],
              [-1, 2],
              [1e300, 1],
            ]
          : [],
      probes:
        i % 2
          ? [
              [1, 0, true],
              [Number.NaN, -1, false],
              [1, 1e300, true],
              [2, 1e-300, false],
            ]
          : [],
    })),
  },
  { cell: "", unit: "", service_level: "", confidence: 0.95, lines: [] },
];

export const COSTS: Page["costs"] = {
  price: ATTACK,
  currency: ATTACK,
  confidence: 2,
  lines: names.map((contender) => ({
    cell: long,
    contender,
    total: Number.NaN,
    low: -1,
    high: 1e300,
    cpu: null,
    memory: 1e-300,
    ratio: null,
    ratio_low: Number.NaN,
    ratio_high: null,
    blocks: -1,
    text: ATTACK,
    compared: long,
  })),
};

export const GENERATORS: Page["external_generators"] = [
  {
    title: ATTACK,
    contender: ATTACK,
    load: long,
    workload: ATTACK,
    excluded: ATTACK,
    truth: { rate_per_s: Number.NaN, p50_ms: -1, p99_ms: 1e300 },
    lines: names.map((generator) => ({
      cell: generator,
      generator,
      ours: false,
      trials: ATTACK,
      rate_per_s: 1e300,
      p50_ms: null,
      p99_ms: Infinity,
      failed_percent: -1,
      cpu_us_per_request: null,
      memory_mb: 0,
      differs: [ATTACK, long],
    })),
  },
  { title: "", contender: "", load: "", workload: "", excluded: null, truth: null, lines: [] },
];

export const SWEEPS: Page["sweeps"] = [
  ...many.slice(0, 40).map((i): Sweep => ({ ...sweep, of: `${i} ${ATTACK}`, metric: `${i}` })),
  {
    ...sweep,
    lines: names.map((contender, i) => ({
      contender,
      points:
        i % 3 === 0
          ? []
          : [
              { level: i, value: i % 2 ? 0 : 1e300, low: null, high: 1e300, used: -1 },
              { level: 1e300, value: -1, low: -1, high: Number.NaN, used: 0 },
            ],
    })),
  },
];

export const TRIALS: Page["trials"] = names.map((contender, i) => ({
  contender,
  block: 1,
  position: i + 1,
  valid: i % 2 === 0,
  reason: ATTACK,
  ready_ms: [null, 5, -1, 1e300][i % 4]!,
  steady_ms: [null, -1, 1e300][i % 3]!,
  warmup: wild[i % wild.length]!,
  stop: ATTACK,
  facts: [{ name: ATTACK, value: long }],
  measurements: i % 3 === 0 ? [] : [i % 3 === 1 ? empty : odd],
}));

export const SYMPTOMS: Page["symptoms"] = [
  symptom({}),
  symptom({
    bars: true,
    series: [
      { name: ATTACK, points: [[0, 0]] },
      {
        name: long,
        points: [
          [5, -1],
          [5, 1e300],
          [2, 3],
        ],
      },
    ],
    marks: [
      { at: Number.NaN, text: ATTACK },
      { at: 1e9, text: long },
    ],
  }),
  symptom({
    series: names.map((name, i) => ({
      name,
      points:
        i % 2
          ? []
          : [
              [i, i],
              [i, i],
              [-i, 1e9],
            ],
    })),
    marks: names.slice(0, 9).map((text, i) => ({ at: i, text })),
  }),
];

export const STOPPING: Page["stopping"] = {
  planned: 0,
  run: 1e9,
  early: true,
  confidence: Number.NaN,
  margin: -1,
  looks: many.map((blocks) => ({
    blocks: blocks * 1e6,
    confidence: 1 - blocks,
    confidence_equivalence: 2,
    taken: blocks % 3 === 0,
  })),
};

export const NOISE: Page["noise"] = [
  {
    cell: ATTACK,
    metric: ATTACK,
    label: long,
    ratio: 0,
    ratio_low: -1,
    ratio_high: 1e300,
    log_deviation: 1e300,
    margin: -1,
    best_seconds: 1e300,
  },
];

export const AUDIT: Page["audit"] = {
  name: ATTACK,
  title: long,
  source: ATTACK,
  rows: 1e9,
  flagged: 1e9,
  tables: [
    {
      title: ATTACK,
      tool: ATTACK,
      columns: [ATTACK, long],
      flagged: 1,
      repeated: 1,
      rows: [
        {
          name: long,
          ours: { contender: names[0]!, cell: ATTACK },
          figures: [null, ATTACK],
          notes: [long],
          findings: [
            {
              check: ATTACK,
              wording: ATTACK as "contradicts-itself",
              what: long,
              factor: 1e300,
              possible: long,
              explanations: [ATTACK, long],
            },
          ],
        },
      ],
    },
    { title: "", tool: null, columns: [], flagged: 0, repeated: 0, rows: [] },
  ],
};

export const STRIP: Page["strip"] = [
  {
    label: ATTACK,
    cell: long,
    value: ATTACK,
    baseline_value: "",
    difference: ATTACK,
    outcome: "undecided",
    reason: long,
  },
];

export const CONTENDERS: Page["contenders"] = names.map((name, i) => ({
  name,
  baseline: i === 0,
  summary: ATTACK,
  facts: i % 2 ? [] : [{ name: ATTACK, value: long }],
  version: null,
  artifacts: [{ path: ATTACK, bytes: 1, sha256: ATTACK }],
  trials_valid: 0,
  trials_excluded: 0,
  ready_ms: null,
  reached: i % 2 === 0,
}));

export const WARMUPS: Page["warmups"] = names.map((contender) => ({
  contender,
  classes: [{ class: ATTACK as "flat", count: 1e300 }],
  steady_after_s: null,
  ...nowhere,
}));

export const CELLS: Page["cells"] = [
  cell,
  ...Array.from({ length: 30 }, (_, i) => ({
    ...cell,
    name: `${i} ${ATTACK}`,
    scheduled: false,
  })),
];
