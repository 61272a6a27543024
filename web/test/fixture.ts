import type {
  Audit,
  Capacity,
  Cell,
  Claim,
  Contender,
  Curve,
  Effects,
  Estimate,
  Measurement,
  Noise,
  Page,
  Row,
  Sweep,
  Symptom,
  Trial,
  Verdict,
  WarmUp,
  Windows,
  Witnesses,
} from "../src/page";

/** A record to test the page with, as a run leaves it. Every number here is invented. */

/** mulberry32: the same record every time */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const BLOCKS = 12;
const SECONDS = 20;

interface Kind {
  name: string;
  summary: string;
  facts: [string, string][];
  version: string;
  bytes: number;
  /**
   * median start-up, ms; CPU per request, µs; latency floor and tail, ms; capacity, /s; threads;
   * memory, MB
   */
  ready: number;
  cpu: number;
  floor: number;
  tail: number;
  capacity: number;
  threads: number;
  memory: number;
}

const KINDS: Kind[] = [
  {
    name: "proxy-spring-mvc",
    summary: "Spring Boot MVC on Tomcat, one platform thread per request",
    facts: [
      ["language", "Java"],
      ["framework", "Spring Boot 4.1.0"],
      ["threads", "200 at most"],
    ],
    version: "openjdk 25.0.1",
    bytes: 24_310_512,
    ready: 5_850,
    cpu: 312,
    floor: 0.92,
    tail: 21,
    capacity: 5_900,
    threads: 46,
    memory: 214,
  },
  {
    name: "proxy-spring-mvc:virtual-threads",
    summary: "The same, each request on a virtual thread",
    facts: [
      ["language", "Java"],
      ["framework", "Spring Boot 4.1.0"],
    ],
    version: "openjdk 25.0.1",
    bytes: 24_310_512,
    ready: 5_900,
    cpu: 301,
    floor: 0.9,
    tail: 19,
    capacity: 6_150,
    threads: 31,
    memory: 205,
  },
  {
    name: "proxy-spring-webflux",
    summary: "Spring WebFlux on Netty, WebClient to the upstream",
    facts: [
      ["language", "Java"],
      ["framework", "Spring Boot 4.1.0"],
    ],
    version: "openjdk 25.0.1",
    bytes: 31_889_204,
    ready: 6_120,
    cpu: 263,
    floor: 0.81,
    tail: 14,
    capacity: 7_000,
    threads: 24,
    memory: 231,
  },
  {
    name: "proxy-go-gin",
    summary: "gin before net/http/httputil.ReverseProxy",
    facts: [
      ["language", "Go"],
      ["framework", "gin 1.12.0"],
      ["GOMAXPROCS", "1"],
    ],
    version: "go1.26.8",
    bytes: 11_602_944,
    ready: 18,
    cpu: 97,
    floor: 0.41,
    tail: 3.4,
    capacity: 15_400,
    threads: 9,
    memory: 17.8,
  },
  {
    name: "nginx",
    summary: "nginx with keep-alive to the upstream",
    facts: [
      ["language", "C"],
      ["workers", "1"],
    ],
    version: "nginx/1.22.1",
    bytes: 1_242_112,
    ready: 11,
    cpu: 29.4,
    floor: 0.21,
    tail: 1.1,
    capacity: 41_000,
    threads: 2,
    memory: 7.2,
  },
  {
    name: "haproxy",
    summary: "HAProxy, one thread",
    facts: [["language", "C"]],
    version: "2.6.12",
    bytes: 2_988_776,
    ready: 14,
    cpu: 23.1,
    floor: 0.2,
    tail: 0.9,
    capacity: 47_000,
    threads: 1,
    memory: 9.6,
  },
];

const CELLS: (Cell & { rate: number | null })[] = [
  {
    name: "arrivals-200",
    workload: "products",
    load: "arrivals at 200/s, evenly spaced",
    scheduled: true,
    rate: 200,
  },
  {
    name: "arrivals-2000",
    workload: "products",
    load: "arrivals at 2000/s, evenly spaced",
    scheduled: true,
    rate: 2000,
  },
  {
    name: "closed-64",
    workload: "products",
    load: "closed loop, 64 connections",
    scheduled: false,
    rate: null,
  },
  {
    name: "closed-64-large",
    workload: "products-large",
    load: "closed loop, 64 connections",
    scheduled: false,
    rate: null,
  },
];

/** The p-quantile of the invented latency: a floor, a lognormal-like body and a heavier tail. */
function latency(kind: Kind, cell: (typeof CELLS)[number], q: number): number {
  const nines = -Math.log10(1 - q);
  const busy =
    cell.rate === null ? 64_000 / kind.capacity : kind.floor * (1 + cell.rate / kind.capacity);
  return busy * (0.55 + 0.4 * nines) + kind.tail * Math.max(0, nines - 1.1) ** 1.7 * 0.35;
}

const rateOf = (kind: Kind, cell: (typeof CELLS)[number]) =>
  cell.rate ?? kind.capacity * (cell.name.endsWith("large") ? 0.62 : 1);
const cpuOf = (kind: Kind, cell: (typeof CELLS)[number]) =>
  kind.cpu * (cell.name.endsWith("large") ? 1.6 : 1);

function curves(): Curve[] {
  return CELLS.flatMap((cell) =>
    KINDS.map((kind) => {
      const samples = Math.round(rateOf(kind, cell) * SECONDS * (BLOCKS - 1));
      const top = samples >= 566_470 ? 5 : samples >= 56_647 ? 4 : 3;
      const points: Curve["points"] = [];
      for (let nines = 0; nines <= top + 1e-9; nines += 0.1) {
        const q = 1 - 10 ** -nines;
        points.push([q, latency(kind, cell, q)]);
      }
      return { cell: cell.name, contender: kind.name, samples, points };
    }),
  );
}

const CONNECTIONS = [1, 6, 12, 24, 48, 96, 192];
const SIZES = [128, 8192];

/** Two sizes over connections, and two connections over sizes; one of the first has a crossing. */
/** Three factors, one pair that does not add up. */
function effects(): Effects[] {
  const metrics: [string, string, string, number][] = [
    ["cpu_per_request", "CPU per request", "µs", 340],
    ["latency_p50", "median latency", "ms", 1.2],
    ["latency_p99", "99th percentile of latency", "ms", 4.1],
  ];
  const shares: [string, number, number][] = [
    ["security", 0.12, 0.01],
    ["audit", 0.034, 0.012],
    ["validator", -0.004, 0.02],
    ["security and audit", 0.021, 0.012],
  ];
  return metrics.map(([metric, label, unit, mean], i) => ({
    cell: "closed-64",
    metric,
    label,
    unit,
    mean,
    confidence: 0.95,
    used: 63,
    excluded: 1,
    reason: "",
    effects: shares.slice(0, i ? 3 : 4).map(([name, share, half]) => {
      const wide = half * (1 + i);
      const pair = name.includes(" and ");
      return {
        name,
        pair,
        value: share * mean,
        low: (share - wide) * mean,
        high: (share + wide) * mean,
        share,
        share_low: share - wide,
        share_high: share + wide,
        p: pair ? 0.004 : null,
        phrase: `${(share * mean).toPrecision(3)} ${unit}, ${(share * 100).toPrecision(3)} % of the mean`,
      };
    }),
  }));
}

function witnesses(): Witnesses[] {
  const line = (generator: string, rate: number, p99: number | null, memory: number | null) => ({
    cell: `rate-${generator}`,
    generator,
    ours: generator === "faceoff",
    used: 6,
    robbed: 0,
    rate_per_s: rate,
    p50_ms: 10.1,
    p99_ms: p99,
    failed_percent: 0,
    cpu_us_per_request: 31.2,
    memory_mb: memory,
    differs:
      generator === "faceoff" ? [] : ["any status is an answer", "it opens all its connections"],
  });
  return [
    {
      title: "Generators before control (arrivals at 500/s, workload exact)",
      contender: "control",
      load: "arrivals at 500/s",
      workload: "exact",
      truth: { rate_per_s: 500, p50_ms: 10, p99_ms: null },
      lines: [
        line("faceoff", 500, 10.3, null),
        line("oha", 499.9, 12.6, 107),
        line("h2load", 498.2, null, 25),
      ],
    },
  ];
}

function capacities(): Capacity[] {
  const next = random(17);
  return ["most-users", "highest-rate"].map((cell, at) => ({
    cell,
    unit: at ? "requests per second" : "users",
    service_level: "p95<100ms and errors<0.1%",
    confidence: 0.95,
    lines: KINDS.map((kind, k) => {
      const value = kind.capacity / (at ? 1 : 10);
      const probes = Array.from({ length: 60 }, (_, i): [number, number, boolean] => {
        const level = value * Math.exp((next() - 0.5) * 0.4);
        return [1 + (i % 6), level, next() < 1 / (1 + Math.exp(Math.log(level / value) / 0.02))];
      });
      const found = k < KINDS.length - 1 || at === 1;
      return {
        contender: kind.name,
        value: found ? value : null,
        low: found ? value * 0.97 : null,
        high: found ? value * 1.03 : null,
        used: found ? 6 : 0,
        searched: 6,
        left_out: k,
        restarts: k === 1 ? 2 : 0,
        warnings: found
          ? []
          : [
              "it did not come back from a level that it did not keep: this is what was known until then",
            ],
        curve: [
          [value * 0.8, 1],
          [value * 0.95, 0.9],
          [value * 1.04, 0.2],
          [value * 1.2, 0],
        ],
        probes,
      };
    }),
  }));
}

function sweeps(): Sweep[] {
  const next = random(13);
  const slices = [
    ...SIZES.map((size) => ({
      of: `generated, size ${size}`,
      parameter: "connections",
      levels: CONNECTIONS,
      at: (k: Kind, n: number) => (k.capacity * n) / (n + 8) / (1 + size / 20_000),
    })),
    ...[1, 192].map((n) => ({
      of: `generated, ${n} connections`,
      parameter: "size",
      levels: SIZES,
      at: (k: Kind, size: number) => (k.capacity * n) / (n + 8) / (1 + size / 20_000),
    })),
  ];
  const metrics = [
    {
      metric: "throughput",
      label: "right answers per second",
      unit: "/s",
      lower_is_better: false,
      of: (rate: number) => rate,
    },
    {
      metric: "cpu_per_request",
      label: "CPU per request",
      unit: "µs",
      lower_is_better: true,
      of: (rate: number) => 1e6 / rate,
    },
    {
      metric: "failed_share",
      label: "failed requests",
      unit: "%",
      lower_is_better: true,
      of: (rate: number) => (rate > 4000 && rate < 5000 ? 0.2 : 0),
    },
  ];
  return slices.flatMap(({ of, parameter, levels, at }, i) =>
    metrics.map(
      ({ of: value, ...about }): Sweep => ({
        of,
        parameter,
        ...about,
        confidence: 0.95,
        lines: KINDS.map((kind) => ({
          contender: kind.name,
          points: levels.map((level) => {
            const v = value(at(kind, level) * (0.98 + 0.04 * next()));
            return { level, value: v, low: v * 0.95, high: v * 1.06, used: 11 };
          }),
        })),
        crossings:
          i === 0 && about.metric === "throughput"
            ? [
                {
                  level: 17.2,
                  sentence:
                    "By right answers per second, proxy-spring-mvc is better up to about 17 connections, proxy-go-gin above (judged at 12 and 24).",
                },
              ]
            : [],
        turns: [],
      }),
    ),
  );
}

function measurement(
  kind: Kind,
  cell: (typeof CELLS)[number],
  position: number,
  next: () => number,
  drift: number,
): Measurement {
  const noise = (by: number) => 1 + (next() - 0.5) * by;
  const rate = rateOf(kind, cell) * (cell.rate === null ? drift : 1);
  const seconds = Array.from({ length: SECONDS }, (_, i) => i + 1);
  const slow = (i: number) => (kind.ready > 1000 ? 1 - 0.25 * Math.exp(-i / 3) : 1);
  const ticks = Array.from({ length: SECONDS * 10 }, (_, i) =>
    Number((0.1 * (i + 1) + next() * 0.004).toFixed(3)),
  );
  const cpu = Math.min(100, (rate * cpuOf(kind, cell)) / 1e4);
  const total = Math.round(rate * SECONDS);
  const timed_out = cell.name === "closed-64-large" && kind.name === "proxy-go-gin" ? 12 : 0;
  return {
    cell: cell.name,
    position,
    began_s: (kind.ready * 1.15) / 1000 + 31 + (position - 1) * (SECONDS + 1),
    lasted_s: SECONDS,
    counts: {
      scheduled: total,
      unsent: 0,
      correct: total - timed_out,
      wrong: 0,
      declined: 0,
      refused: 0,
      broken: 0,
      timed_out,
      unfinished: 0,
    },
    seconds: {
      t_s: seconds,
      rate_per_s: seconds.map((s) =>
        cell.rate === null ? rate * slow(s) * noise(0.05) : Math.round(rate * noise(0.004)),
      ),
      p50_ms: seconds.map((s) => (latency(kind, cell, 0.5) / slow(s)) * noise(0.1)),
      p99_ms: seconds.map((s) =>
        rate < 500 && s % 7 === 0 ? null : (latency(kind, cell, 0.99) / slow(s)) * noise(0.6),
      ),
      max_ms: seconds.map((s) => (latency(kind, cell, 0.9995) / slow(s)) * noise(1.2)),
    },
    usage: {
      t_s: ticks,
      cpu_percent: ticks.map((t) => Math.min(100, (cpu / slow(t)) * noise(0.25))),
      memory_mb: ticks.map(
        (t) => kind.memory * (0.9 + 0.1 * (1 - Math.exp(-t / 6))) * noise(0.01) * drift,
      ),
      threads: ticks.map(() => kind.threads + (kind.threads > 20 && next() > 0.97 ? 1 : 0)),
      descriptors: ticks.map(() => (cell.rate === null ? 138 : 22) + Math.floor(next() * 3)),
    },
    generator: {
      cpu_percent: 8 + 30 * next(),
      lag_p99_us: cell.scheduled ? 40 + 50 * next() : null,
      in_flight_max: cell.rate === null ? 64 : 3,
    },
  };
}

/**
 * A JVM compiles for some seconds, others are as fast as they will be; one start in ten finds no
 * level.
 */
function windows(kind: Kind, block: number, next: () => number): Windows {
  const jvm = kind.ready > 1000;
  const never = jvm && block === 7;
  const steady = never ? null : jvm ? 9 + Math.floor(next() * 9) : 0;
  const t_s = Array.from({ length: never ? 30 : (steady ?? 0) + 5 }, (_, i) => i);
  const slow = (t: number) =>
    (1 + (jvm ? 8 * Math.exp(-t / 3) : 0) + (never && t % 8 < 3 ? 0.5 : 0)) *
    (1 + (next() - 0.5) * 0.06);
  const slows = t_s.map(slow);
  return {
    class: never ? "never_steady" : jvm ? "warm_up" : "flat",
    steady_after_s: steady,
    t_s,
    rate_per_s: slows.map((by) => kind.capacity / 2 / by),
    cpu_us: slows.map((by) => kind.cpu * by),
    p50_ms: slows.map((by) => kind.floor * by),
    max_ms: slows.map((by) => kind.floor * by * by * 4),
  };
}

function warmups(run: Trial[]): WarmUp[] {
  return KINDS.map((kind) => {
    const own = run.filter((t) => t.contender === kind.name).map((t) => t.warmup!);
    const jvm = kind.ready > 1000;
    const of = (name: Windows["class"]) => ({
      class: name,
      count: own.filter((w) => w.class === name).length,
    });
    return {
      contender: kind.name,
      classes: [of("flat"), of("warm_up"), of("never_steady")].filter((c) => c.count > 0),
      steady_after_s: jvm ? 13 : 0,
      cold_cpu_us: kind.cpu * (jvm ? 9 : 1),
      steady_cpu_us: kind.cpu,
      cold_max_ms: kind.floor * (jvm ? 320 : 4),
    };
  });
}

function trials(): Trial[] {
  const next = random(7);
  const result: Trial[] = [];
  for (let block = 1; block <= BLOCKS; block++) {
    const order = [...KINDS].map((kind) => ({ kind, key: next() })).sort((a, b) => a.key - b.key);
    const drift = 1 + (next() - 0.5) * 0.12;
    order.forEach(({ kind }, i) => {
      const broken =
        (block === 3 && kind.name === "nginx") ||
        (block === 9 && kind.name === "proxy-spring-webflux");
      const cells = [...CELLS].map((cell) => ({ cell, key: next() })).sort((a, b) => a.key - b.key);
      const ready_ms = kind.ready * (0.92 + 0.2 * next());
      const warmup = windows(kind, block, next);
      result.push({
        contender: kind.name,
        block,
        position: i + 1,
        valid: !broken,
        reason: broken
          ? kind.name === "nginx"
            ? "the generator lagged: p99 of its lag was 4.2 ms, the limit is 1 ms"
            : "not stopped by TERM within 10 s; killed"
          : "",
        ready_ms,
        steady_ms: warmup.steady_after_s === null ? null : ready_ms + 1000 * warmup.steady_after_s,
        warmup,
        stop: broken && kind.name !== "nginx" ? "killed" : "clean",
        facts: [
          { name: "began", value: "2026-11-21T10:42:07Z" },
          { name: "load average before", value: "0.08" },
        ],
        measurements: cells.map(({ cell }, k) => measurement(kind, cell, k + 1, next, drift)),
      });
    });
  }
  return result;
}

const METRICS = [
  {
    metric: "throughput_per_s",
    label: "Throughput",
    unit: "/s",
    lower: false,
    of: (k: Kind, c: (typeof CELLS)[number]) => rateOf(k, c),
  },
  {
    metric: "p50_ms",
    label: "Median latency",
    unit: "ms",
    lower: true,
    of: (k: Kind, c: (typeof CELLS)[number]) => latency(k, c, 0.5),
  },
  {
    metric: "p99_ms",
    label: "p99 latency",
    unit: "ms",
    lower: true,
    of: (k: Kind, c: (typeof CELLS)[number]) => latency(k, c, 0.99),
  },
  {
    metric: "cpu_us_per_request",
    label: "CPU per request",
    unit: "µs",
    lower: true,
    of: (k: Kind, c: (typeof CELLS)[number]) => cpuOf(k, c),
  },
  { metric: "memory_mb", label: "Memory", unit: "MB", lower: true, of: (k: Kind) => k.memory },
] as const;
/**
 * the cell that holds the verdicts on start-up, and nothing else: no load, no curve, no row, no
 * trial's measurement
 */
const START: Cell = {
  name: "start",
  workload: "products",
  load: "from the start of the process to its first right answer",
  scheduled: false,
};
const START_UP = {
  metric: "start_up",
  label: "start-up",
  unit: "ms",
  lower: true,
  of: (k: Kind) => k.ready,
} as const;

const three = (x: number) => Number(x.toPrecision(3));

function judge(low: number, high: number, margin: number, lower: boolean): Verdict["outcome"] {
  if (low > 1 / (1 + margin) && high < 1 + margin) return "equivalent";
  if (high < 1 / (1 + margin)) return lower ? "better" : "worse";
  if (low > 1 + margin) return lower ? "worse" : "better";
  return "undecided";
}

/** The two intervals around a ratio, what either holds decides; here one lies within the other. */
function estimate(
  ratio: number,
  half: number,
  by: "t" | "bootstrap",
): Pick<
  Estimate<never>,
  | "ratio"
  | "ratio_low"
  | "ratio_high"
  | "confidence"
  | "t"
  | "bootstrap"
  | "decided_by"
  | "sign_flip_p"
> {
  const around = (by: number): [number, number] => [ratio * Math.exp(-by), ratio * Math.exp(by)];
  const [wide, narrow] = [around(half), around(half * 0.8)];
  return {
    ratio,
    ratio_low: wide[0],
    ratio_high: wide[1],
    confidence: 0.9782,
    decided_by: by,
    t: by === "t" ? wide : narrow,
    bootstrap: by === "bootstrap" ? wide : narrow,
    sign_flip_p: Math.abs(Math.log(ratio)) > half ? 2 / 2 ** 9 : 0.31,
  };
}

function verdicts(): Verdict[] {
  const next = random(11);
  const base = KINDS[0]!;
  const start = { ...START, rate: 0 };
  return [...CELLS, start].flatMap((cell) =>
    (cell === start ? [START_UP] : METRICS).flatMap(({ metric, label, unit, lower, of }) =>
      KINDS.slice(1).map((kind): Verdict => {
        const value = of(kind, cell) * (0.99 + 0.02 * next());
        const baseline_value = of(base, cell);
        const ratio = value / baseline_value;
        const half =
          metric === "p99_ms"
            ? 0.09
            : cell.rate !== null && metric === "throughput_per_s"
              ? 0.004
              : 0.03 + 0.03 * next();
        const found = estimate(ratio, half, next() > 0.4 ? "t" : "bootstrap");
        const [ratio_low, ratio_high] = [found.ratio_low!, found.ratio_high!];
        const outcome = judge(ratio_low, ratio_high, 0.05, lower);
        const percent = (x: number) => `${three(x * 100)} %`;
        return {
          cell: cell.name,
          contender: kind.name,
          baseline: base.name,
          metric,
          unit,
          lower_is_better: lower,
          outcome,
          label: cell.scheduled ? label : label.replace("latency", "service time"),
          phrase: `${percent(ratio)} of the baseline's ${label.toLowerCase()} (${percent(ratio_low)} to ${percent(ratio_high)})`,
          ...found,
          value,
          baseline_value,
          margin: 0.05,
          used: 11,
          excluded: 1,
          blocks_needed: outcome === "undecided" ? 19 : null,
          reason:
            outcome === "undecided"
              ? "the interval reaches over the margin; about 19 blocks would settle it"
              : "",
        };
      }),
    ),
  );
}

function table(): Row[] {
  return CELLS.flatMap((cell) =>
    KINDS.map((kind) => {
      const rate = rateOf(kind, cell);
      const slow = cell.name === "closed-64-large" && kind.name === "proxy-go-gin";
      return {
        cell: cell.name,
        contender: kind.name,
        samples: Math.round(rate * SECONDS * (BLOCKS - 1)),
        deviation_ms: latency(kind, cell, 0.84) - latency(kind, cell, 0.5),
        throughput_per_s: rate,
        average_ms: latency(kind, cell, 0.6),
        min_ms: latency(kind, cell, 0) * 0.8,
        p50_ms: latency(kind, cell, 0.5),
        p95_ms: latency(kind, cell, 0.95),
        p99_ms: latency(kind, cell, 0.99),
        max_ms: latency(kind, cell, 0.9999) * 1.4,
        received_kb_per_s: (rate * 902) / 1024,
        average_bytes: 902,
        cpu_percent: Math.min(100, (rate * cpuOf(kind, cell)) / 1e4),
        cpu_us_per_request: cpuOf(kind, cell),
        threads: kind.threads,
        memory_mb: kind.memory,
        errors: slow ? [{ kind: "timed_out", count: 132 }] : [],
      };
    }),
  );
}

function claims(all: Verdict[]): Claim[] {
  const of = (metric: string, contender: string, cells: string[], expected: Verdict["outcome"]) =>
    cells.map((cell): Claim["cells"][number] => {
      const v = all.find(
        (v) => v.metric === metric && v.contender === contender && v.cell === cell,
      )!;
      const outcome =
        v.outcome === "undecided" ? "undecided" : v.outcome === expected ? "confirmed" : "refuted";
      const {
        ratio,
        ratio_low,
        ratio_high,
        confidence,
        t,
        bootstrap,
        decided_by,
        sign_flip_p,
        blocks_needed,
        margin,
        phrase,
        reason,
      } = v;
      return {
        cell,
        outcome,
        ratio,
        ratio_low,
        ratio_high,
        confidence,
        t,
        bootstrap,
        decided_by,
        sign_flip_p,
        blocks_needed,
        margin,
        phrase,
        reason,
      };
    });
  const claim = (
    text: string,
    contender: string,
    metric: string,
    label: string,
    expects: string,
    cells: Claim["cells"],
    p: number,
    p_adjusted: number,
    reason = "",
  ): Claim => ({
    text,
    contender,
    metric,
    label,
    expects,
    cells,
    reason,
    p,
    p_adjusted,
    outcome: cells.every((c) => c.outcome === "confirmed")
      ? "confirmed"
      : cells.some((c) => c.outcome === "refuted")
        ? "refuted"
        : "undecided",
  });
  return [
    claim(
      "Go's proxy uses far less CPU than Spring Boot's.",
      "proxy-go-gin",
      "cpu_us_per_request",
      "CPU per request",
      "at most half",
      of("cpu_us_per_request", "proxy-go-gin", ["arrivals-200", "closed-64"], "better"),
      1.2e-9,
      4.8e-9,
    ),
    claim(
      "Go's proxy needs less memory.",
      "proxy-go-gin",
      "memory_mb",
      "Memory",
      "less",
      of("memory_mb", "proxy-go-gin", ["arrivals-200"], "better"),
      3.1e-8,
      9.3e-8,
    ),
    claim(
      "Virtual threads close the gap.",
      "proxy-spring-mvc:virtual-threads",
      "cpu_us_per_request",
      "CPU per request",
      "less",
      of(
        "cpu_us_per_request",
        "proxy-spring-mvc:virtual-threads",
        ["arrivals-2000", "closed-64"],
        "better",
      ),
      0.034,
      0.068,
      "the interval reaches over the margin; about 19 blocks would settle it",
    ),
    claim(
      "Go's proxy passes more requests a second at the rate the article used.",
      "proxy-go-gin",
      "throughput_per_s",
      "Throughput",
      "more",
      of("throughput_per_s", "proxy-go-gin", ["arrivals-200"], "better"),
      0.00042,
      0.00084,
      "both answer every request that arrives: at 200/s the load decides the throughput, not the proxy",
    ),
  ];
}

function noise(): Noise[] {
  const next = random(5);
  return [...CELLS, START].flatMap((cell) =>
    (cell === START ? [START_UP] : METRICS).map(({ metric, label }) => {
      const half = metric === "p99_ms" ? 0.07 : 0.012 + 0.012 * next();
      const ratio = Math.exp((next() - 0.5) * half);
      return {
        cell: cell.name,
        metric,
        label,
        ratio,
        ratio_low: ratio * Math.exp(-half),
        ratio_high: ratio * Math.exp(half),
        log_deviation: half * 1.2,
        margin: 0.05,
        best_seconds: metric.endsWith("_max_ms") ? null : 7,
      };
    }),
  );
}

function symptoms(): Symptom[] {
  const next = random(3);
  return [
    {
      kind: "delayed-ack",
      contender: "proxy-go-gin",
      cell: "arrivals-200",
      sentence:
        "31 % of the answers took 40 to 44 ms and next to none 5 to 38 ms: a sender that waits for an acknowledgement (Nagle's algorithm) and a receiver that delays it wait for each other.",
      hint: "set TCP_NODELAY on the server's sockets, or write head and body at once",
      picture: {
        title: "Service times",
        x: "service time, ms",
        y: "share of answers, %",
        bars: true,
        series: [
          {
            name: "answers",
            points: Array.from({ length: 25 }, (_, i) => [
              i * 2,
              i < 3 ? 30 / (i + 1) : i === 20 ? 24 : i === 21 ? 7 : 0.1,
            ]),
          },
        ],
        marks: [{ at: 40, text: "40 ms: delayed acknowledgement" }],
      },
    },
    {
      kind: "pool-exhausted",
      contender: "proxy-spring-mvc",
      cell: "closed-64-large",
      sentence:
        "However much latency grows, no more than 200 requests are in service at once: a pool of 200 threads is used up while the CPU is idle for 61 % of the time.",
      hint: "raise the pool's limit (server.tomcat.threads.max), or use virtual threads",
      picture: {
        title: "In service by Little's law",
        x: "time, s",
        y: "requests",
        bars: false,
        series: [
          {
            name: "under way",
            points: Array.from({ length: 20 }, (_, i) => [i, 190 + 30 * i + 12 * next()]),
          },
          {
            name: "in service",
            points: Array.from({ length: 20 }, (_, i) => [i, 196 + 6 * next()]),
          },
        ],
        marks: [
          { at: 3, text: "the pool is full" },
          { at: 15.5, text: "first requests time out" },
        ],
      },
    },
    {
      kind: "gc-pauses",
      contender: "proxy-spring-webflux",
      cell: null,
      sentence:
        "9 of the 10 seconds with the longest latencies hold a pause of the collector of at least half that latency.",
      hint: "give it more heap, or a collector with shorter pauses",
      picture: {
        title: "Longest latency and pauses",
        x: "time, s",
        y: "ms",
        bars: false,
        series: [
          {
            name: "longest latency",
            points: Array.from({ length: 20 }, (_, i) => [
              i,
              8 + 6 * next() + (i % 6 === 4 ? 70 : 0),
            ]),
          },
          {
            name: "pauses",
            points: Array.from({ length: 20 }, (_, i) => [i, i % 6 === 4 ? 58 : 0]),
          },
        ],
        marks: [],
      },
    },
  ];
}

function audit(): Audit {
  const columns = [
    "ramp-up",
    "samples",
    "throughput /s",
    "mean",
    "deviation",
    "min",
    "max",
    "transfer /s",
    "bytes an answer",
  ];
  const row = (
    name: string,
    figures: string[],
    findings: Audit["tables"][number]["rows"][number]["findings"] = [],
    notes: string[] = [],
    ours: Audit["tables"][number]["rows"][number]["ours"] = null,
  ) => ({ name, ours, figures, findings, notes });
  return {
    name: "reverse-proxy",
    title: "Designing a reverse proxy: Go and Spring Boot",
    source: "dev.to, 2021",
    rows: 6,
    flagged: 2,
    tables: [
      {
        title: "JMeter",
        tool: "jmeter",
        columns,
        flagged: 2,
        repeated: 0,
        rows: [
          row(
            "row 1, Spring Boot",
            ["100s", "10000", "100.77801", "2ms", "4.14ms", "1ms", "208ms", "95.14KB", "966.7B"],
            [],
            [],
            { contender: KINDS[0]!.name, cell: CELLS[0]!.name },
          ),
          row(
            "row 1, Go",
            ["100s", "10000", "101.02337", "0ms", "2.70ms", "0ms", "150ms", "88.99KB", "902.0B"],
            [],
            ["a mean of 0 ms is a time below the clock's millisecond"],
          ),
          row(
            "row 6, Spring Boot",
            ["100s", "80000", "199.98850", "4ms", "11.63ms", "1ms", "497ms", "188.8KB", "966.7B"],
            [
              {
                check: "ramp-up",
                wording: "contradicts-itself",
                what: "80000 users that start over 100 s and ask once make 800/s, not 200/s; other rows of the table keep to that",
                factor: 4.0,
                possible: "800/s",
                explanations: [
                  "a ramp-up of 400 s",
                  "users that asked several times with pauses, in this row alone",
                ],
              },
            ],
          ),
          row(
            "row 4, Go",
            ["200s", "30000", "150.38348", "0ms", "3.19ms", "0ms", "125ms", "88.50KB", "902.0B"],
            [
              {
                check: "transfer",
                wording: "contradicts-itself",
                what: "150.38/s of 902.0 B are 132 KB/s, not 88.50 KB/s",
                factor: 1.5,
                possible: "132 KB/s",
                explanations: [],
              },
              {
                check: "little",
                wording: "inconsistent-as-service-time",
                what: "150/s of 0 ms keep nobody waiting",
                factor: null,
                possible: null,
                explanations: ["a median where a mean is meant"],
              },
            ],
          ),
        ],
      },
      {
        title: "CPU, threads, memory",
        tool: null,
        columns: ["CPU", "OS threads", "memory"],
        flagged: 0,
        repeated: 1,
        rows: [
          row("Spring Boot proxy", ["7.2 %", "46", "124.2 MB"]),
          row("Go proxy", ["0.1 %", "26", "7.8 MB"]),
        ],
      },
    ],
  };
}

export function realistic(): Page {
  const all = verdicts();
  const run = trials();
  return {
    schema: "faceoff.page.v1",
    experiment: "reverse-proxy",
    question:
      "Does a reverse proxy written in Go serve better than one written with Spring Boot, and does either serve better than nginx or HAProxy?",
    source: {
      title: "Designing a Reverse Proxy: Go or Spring Boot",
      author: "A. N. Author",
      url: "https://example.org/reverse-proxy",
      published: "2021-01-20",
    },
    answer: {
      outcome: "answered",
      sentence:
        "Go’s proxy does the same work with 31 % of Spring Boot’s CPU and a twelfth of its memory; nginx and HAProxy need a third of Go’s.",
      details: [
        "At 200 requests a second all six answer everything; what differs is what it costs.",
        "Virtual threads save Spring Boot too little CPU to be told from nothing here.",
        "Go’s p99 latency is a fifth of Spring Boot’s, not a tenth as published.",
      ],
      subject: "proxy-go-gin",
      metrics: ["cpu_us_per_request", "memory_mb"],
    },
    believe: [
      {
        subject: "answers",
        standing: "good",
        sentence: "Before anything was timed, all 6 contenders gave the right answers.",
        more: ["products: status, headers, the whole JSON of every answer"],
        section: "method",
      },
      {
        subject: "checks",
        standing: "open",
        sentence:
          "22 checks of the measurement held, 1 found faults, which are left out of what they touch; 2 had nothing to look at here.",
        more: ["generator-lag: 1 of 288 measurements"],
        section: "trials",
      },
      {
        subject: "trials",
        standing: "open",
        sentence: "2 of 72 trials are left out of every verdict.",
        more: ["block 3, nginx: the generator lagged"],
        section: "trials",
      },
      {
        subject: "instrument",
        standing: "good",
        sentence: "Of 21 known truths the self-test of 2026-11-21 found 21.",
        more: [],
        section: "decided",
      },
    ],
    checks: [
      {
        kind: "generator-lag",
        what: "requests left when they were due (median)",
        standing: "found",
        of: "measurements",
        all: 288,
        looked_at: 144,
        found: 1,
      },
      {
        kind: "memory",
        what: "memory was left, and nothing was swapped",
        standing: "held",
        of: "measurements",
        all: 288,
        looked_at: 288,
        found: 0,
      },
      {
        kind: "frequency",
        what: "the clock rate stayed as it was",
        standing: "not_made",
        of: "measurements",
        all: 288,
        looked_at: 0,
        found: 0,
      },
    ],
    notes: [
      "Warm-up was 10 s a trial; the JVM contenders were still speeding up in their first seconds of measurement.",
      "Every contender was held to one core of two; the load generator had the other.",
    ],
    claims: claims(all),
    contenders: KINDS.map((k, i): Contender => {
      const own = run.filter((t) => t.contender === k.name);
      const valid = own.filter((t) => t.valid).length;
      return {
        name: k.name,
        baseline: i === 0,
        summary: k.summary,
        facts: k.facts.map(([name, value]) => ({ name, value })),
        version: k.version,
        artifacts:
          k.bytes === null
            ? []
            : [
                {
                  path: "target/app.jar",
                  bytes: k.bytes,
                  sha256: "3b9f0d6c1a7e".repeat(6).slice(i, i + 64),
                },
              ],
        trials_valid: valid,
        trials_excluded: own.length - valid,
        ready_ms: { median: k.ready, min: k.ready * 0.92, max: k.ready * 1.12 },
      };
    }),
    cells: [...CELLS.map(({ rate: _, ...cell }) => cell), START],
    verdicts: all,
    table: table(),
    published: {
      title: "Spring Boot and Go, ramp-up of 100 s",
      columns: [
        "Samples",
        "Deviation",
        "Throughput /s",
        "Average ms",
        "Min ms",
        "Max ms",
        "Received KB/s",
        "Average bytes",
      ],
      rows: [
        [
          "10000",
          "4.14 / 2.70",
          "100.78 / 101.02",
          "2 / 0",
          "1 / 0",
          "208 / 150",
          "95.14 / 88.99",
          "966.7 / 902.0",
        ],
        [
          "80000",
          "11.63 / 3.49",
          "199.99 / 200.21",
          "4 / 0",
          "1 / 0",
          "497 / 168",
          "188.8 / 176.35",
          "966.7 / 902.0",
        ],
      ],
      note: "The published table contradicts itself: 80 000 samples in a ramp of 100 s cannot be 200/s.",
    },
    curves: curves(),
    capacities: capacities(),
    witnesses: witnesses(),
    sweeps: sweeps(),
    effects: effects(),
    trials: run,
    faults: [
      {
        kind: "generator lagged",
        where: "block 3, nginx, cell closed-64",
        evidence: "p99 of the generator's lag was 4.2 ms; the limit is 1 ms",
        hint: "give the generator a core of its own: place.generator_cpus",
      },
      {
        kind: "unclean stop",
        where: "block 9, proxy-spring-webflux",
        evidence: "TERM at 98.2 s, still alive after 10 s, KILL",
        hint: "raise stop.within, or look for a thread that does not end",
      },
    ],
    fault_counts: [
      { kind: "generator lagged", count: 1 },
      { kind: "unclean stop", count: 1 },
    ],
    symptoms: symptoms(),
    warmups: warmups(run),
    stopping: {
      planned: 12,
      run: 9,
      early: true,
      confidence: 0.95,
      margin: 0.05,
      looks: [
        { blocks: 6, confidence: 0.99695, confidence_equivalence: 0.9884, taken: true },
        { blocks: 9, confidence: 0.9782, confidence_equivalence: 0.9513, taken: true },
        { blocks: 12, confidence: 0.9575, confidence_equivalence: 0.918, taken: false },
      ],
    },
    noise: noise(),
    instrument: [
      {
        name: "CPU per request, 5 % more",
        value: "known 1.05, measured 1.049 (1.031 to 1.068): holds",
      },
      { name: "latency of a frozen server, p99", value: "known 985 ms, measured 986 ms: holds" },
      {
        name: "ceiling of the generator",
        value: "61 200 right answers a second, 14 µs of CPU each",
      },
    ],
    audit: audit(),
    skipped: [
      {
        contender: "proxy-spring-mvc:native-image",
        reason:
          "needs native-image, which was not found: install GraalVM 25 and put it on the path",
      },
    ],
    machine: [
      { name: "processor", value: "2 cores, x86-64, 3.1 GHz" },
      { name: "memory", value: "24 GB" },
      { name: "kernel", value: "Linux 6.1" },
      { name: "load", value: "0.08 before the first trial" },
    ],
    design: [
      { name: "blocks", value: "12, of 12 at most" },
      { name: "order", value: "random within each block, seed 7" },
      { name: "each cell", value: "10 s warm-up, 20 s measured, in random order" },
      { name: "confidence", value: "95 %; 90 % for equivalence" },
      { name: "margin", value: "5 %" },
    ],
    repeat: [
      "git clone https://example.org/faceoff && cd faceoff && make",
      "faceoff run reverse-proxy --seed 7",
      "faceoff report records/reverse-proxy-2026-11-21",
    ],
    analysis:
      "Expected: the article’s own explanation, that a thread a request is what costs Spring Boot, would make virtual threads the remedy.\n\nFound: they change little. The cost lies in the work done for each request, not in the threads that do it; WebFlux, which has few threads, saves a sixth.",
    made: {
      version: "0.1.0",
      recorded_at: "2026-11-21 10:42 UTC",
      record: "records/reverse-proxy-2026-11-21",
    },
  };
}

/**
 * Ten blocks of four contenders, 40 trials of four cells; with the four digits that faceoff gives
 * to a page.
 */
export function forty(): Page {
  const page = realistic();
  const names = new Set(page.contenders.slice(0, 4).map((c) => c.name));
  const all = {
    ...page,
    contenders: page.contenders.slice(0, 4),
    trials: page.trials.filter((t) => t.block <= 10 && names.has(t.contender)),
  };
  return JSON.parse(
    JSON.stringify(all, (_, value: unknown) =>
      typeof value === "number" ? Number(value.toPrecision(4)) : value,
    ),
  ) as Page;
}

/** As many contenders as nobody ever compared, with verdicts, curves and a trial each. */
export function crowd(size: number): Page {
  const page = realistic();
  const name = (i: number) => `contender-${String(i).padStart(3, "0")}`;
  const many = Array.from({ length: size }, (_, i) => i);
  const like = <T extends { contender: string }>(all: readonly T[]): T[] => {
    const one = all.filter((x) => x.contender === "proxy-go-gin");
    return many.flatMap((i) => one.map((x) => ({ ...x, contender: name(i) })));
  };
  const model = page.contenders[3]!;
  const trial = page.trials.find((t) => t.contender === "proxy-go-gin")!;
  return {
    ...page,
    contenders: many.map((i) => ({ ...model, name: name(i), baseline: i === 0 })),
    verdicts: like(page.verdicts).filter((v) => v.contender !== name(0)),
    table: like(page.table),
    curves: like(page.curves).map((c, i) => ({
      ...c,
      points: c.points.map(([q, ms]): [number, number] => [q, ms * (1 + i / 100)]),
    })),
    trials: many.map((i) => ({ ...trial, contender: name(i), block: 1, position: i + 1 })),
    claims: [],
    capacities: [],
    witnesses: [],
    sweeps: [],
    effects: [],
    symptoms: [],
    warmups: [],
  };
}

/** The page as `faceoff report` leaves it. */
export function filled(html: string, page: Page): string {
  const marker = `id="page-data">null</script>`;
  if (html.split(marker).length !== 2)
    throw new Error("the built page must hold its marker exactly once");
  return html.replace(
    marker,
    () => `id="page-data">${JSON.stringify(page).replaceAll("<", "\\u003c")}</script>`,
  );
}
