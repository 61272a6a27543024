import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, test, vi } from "vitest";
import { App } from "../../src/app";
import { phases } from "../../src/charts/trial";
import { bytes, count, duration, sig, unbroken } from "../../src/format";
import { read } from "../../src/read";
import { crowd, realistic } from "../fixture";
import { ATTACK, bare, hostile } from "../hostile";
import { stage } from "../stage";

// a canvas is the browser's: test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press, key } = stage();

describe("reading", () => {
  test("null is no record; a torn or foreign one is said to be so", () => {
    expect(read("null")).toEqual({ problem: expect.stringContaining("holds no record") });
    expect(read(`{"schema": "faceoff.page.v1"`)).toEqual({
      problem: expect.stringContaining("not whole"),
    });
    expect(read(`{"schema": "faceoff.page.v9"}`)).toEqual({
      problem: expect.stringContaining("faceoff.page.v9"),
    });
    expect(read(JSON.stringify(bare()))).toHaveProperty("page.question", "Nothing?");
  });

  test("a problem is shown as such", () => {
    act(() => render(<App reading={read("null")} />, root));
    expect(root.textContent).toContain("holds no record");
  });
});

describe("a whole record", () => {
  test("begins with the question and the answer", () => {
    const page = realistic();
    show(page);
    expect(all("h1").map((e) => e.textContent)).toEqual([page.question]);
    expect(root.querySelector(".sentence")?.textContent).toBe(unbroken(page.answer.sentence));
    expect(root.querySelector(".status")?.textContent).toBe("Answered");
  });

  test("has an interval for every claim's cell, with its outcome in words", () => {
    const page = realistic();
    show(page);
    expect(all(".claims svg.interval")).toHaveLength(page.claims.flatMap((c) => c.cells).length);
    const labels = all(".claims svg.interval").map((e) => e.getAttribute("aria-label"));
    expect(labels.some((l) => l?.includes("refuted"))).toBe(true);
    expect(labels.some((l) => l?.includes("undecided"))).toBe(true);
    const shapes = new Set(all(".claims svg.interval .glyph").map((e) => e.getAttribute("d")));
    expect(shapes.size).toBe(3);
  });

  test("shows the chosen cell's verdicts, and why one is undecided", () => {
    const page = realistic();
    show(page);
    const of = (cell: string) => page.verdicts.filter((v) => v.cell === cell);
    expect(all("#verdicts svg.interval")).toHaveLength(of("arrivals-200").length);
    press(root.querySelector<HTMLElement>('#verdicts input[value="closed-64"]')!);
    const text = root.querySelector("#verdicts")!.textContent!.replaceAll("\u00a0", " ");
    for (const v of of("closed-64")) expect(text).toContain(v.phrase);
    expect(text).toContain("the interval reaches over the margin");
    expect(root.querySelector("#latency h2")?.textContent).toBe("Service time by quantile");
  });

  test("the cell of start-up has verdicts only; what has none for it stays with a load", () => {
    const page = realistic();
    show(page);
    press(root.querySelector<HTMLElement>('#verdicts input[value="start"]')!);
    expect(all("#verdicts .metric h3").map((e) => e.textContent)).toEqual(["start-up"]);
    for (const section of ["#latency", "#time"]) {
      expect(all(`${section} input[value="start"]`)).toHaveLength(0);
      expect(
        root.querySelector<HTMLInputElement>(`${section} .cell-picker input:checked`)?.value,
      ).toBe("arrivals-200");
    }
    expect(all("#latency path.curve")).toHaveLength(6);
  });

  test("says once why there is no ratio", () => {
    const page = realistic();
    const reason = "2 blocks of the 6 that a verdict needs";
    const [first] = page.verdicts;
    show({
      ...page,
      verdicts: [
        {
          ...first!,
          outcome: "undecided",
          ratio: null,
          ratio_low: null,
          ratio_high: null,
          t: null,
          bootstrap: null,
          phrase: reason,
          reason,
        },
      ],
    });
    const text = root.querySelector("#verdicts")!.textContent!;
    expect(text.split(reason)).toHaveLength(2);
    expect(text).toContain("no ratio");
  });

  test("a record cut short keeps its verdicts where nothing was measured", () => {
    show({ ...realistic(), curves: [], table: [], trials: [] });
    expect(all("#verdicts svg.interval").length).toBeGreaterThan(0);
    expect(root.querySelector("#latency")!.textContent).toContain("No latency was recorded");
    expect(root.querySelector("#time")!.textContent).toContain("No trial of this choice");
  });

  test("draws one curve a contender; a legend button hides it", () => {
    show(realistic());
    expect(all("#latency path.curve")).toHaveLength(6);
    const [first] = all("#latency .legend button");
    expect(first!.getAttribute("aria-pressed")).toBe("true");
    press(first!);
    expect(first!.getAttribute("aria-pressed")).toBe("false");
    expect(all("#latency path.curve")).toHaveLength(5);
  });

  test("draws what each factor adds, a row each in a column a metric, and pairs where they do not add up", () => {
    const page = realistic();
    show(page);
    expect(all("#effects .effects-name").map((e) => e.textContent)).toEqual([
      "security",
      "audit",
      "validator",
      "security and audit",
    ]);
    expect(all("#effects .effects-head b").map((e) => e.textContent)).toEqual([
      "CPU per request",
      "median latency",
      "99th percentile of latency",
    ]);
    expect(all("#effects .effect")).toHaveLength(10);
    expect(all("#effects .effect.open").length).toBeGreaterThan(2);
    expect(all("#effects title")[0]!.textContent).toContain("12.0\u00a0% of the mean");
    show({ ...page, effects: [] });
    expect(root.querySelector("#effects")).toBeNull();
    expect(root.querySelector('nav a[href="#effects"]')).toBeNull();
  });

  test("draws what was swept, one line a contender with its intervals, and says where lines cross", () => {
    const page = realistic();
    show(page);
    const [first] = page.sweeps;
    expect(all("#curves path.curve")).toHaveLength(first!.lines.length);
    expect(all("#curves .reach")).toHaveLength(first!.lines.flatMap((l) => l.points).length);
    expect(root.querySelector("#curves .crossings")!.textContent).toBe(
      first!.crossings[0]!.sentence,
    );
    expect(all("#curves .pointer line")).toHaveLength(1);
    const drawn = () => all("#curves path.curve").map((e) => e.getAttribute("d"));
    const before = drawn();
    press(root.querySelector<HTMLElement>('#curves input[value="cpu_per_request"]')!);
    const cpu = drawn();
    expect(cpu).not.toEqual(before);
    press(
      root.querySelector<HTMLElement>(
        '#curves input[value="generated, 192 connections over size"]',
      )!,
    );
    expect(drawn()).not.toEqual(cpu);
    expect(root.querySelector("#curves .crossings")).toBeNull();
    show({
      ...page,
      sweeps: [
        {
          ...first!,
          turns: [
            "proxy-go-gin, c: CPU per request in turn 2 is 1.40 times that in turn 1: worse.",
          ],
        },
      ],
    });
    expect(all("#curves .crossings li").map((e) => e.textContent)).toEqual([
      expect.stringContaining("proxy-go-gin, c: CPU per request"),
      first!.crossings[0]!.sentence,
    ]);
    show(page);
    press(root.querySelector<HTMLElement>('#curves input[value="cpu_per_request"]')!);
    press(
      root.querySelector<HTMLElement>(
        '#curves input[value="generated, 192 connections over size"]',
      )!,
    );
    expect(root.querySelector("#curves figure")!.getAttribute("aria-label")).toBe(
      "CPU per request: generated, 192 connections over size",
    );
    show({ ...page, sweeps: [] });
    expect(root.querySelector("#curves")).toBeNull();
    expect(root.querySelector('nav a[href="#curves"]')).toBeNull();
  });

  test("draws capacities with every probe, and says what was not found", () => {
    const page = realistic();
    show(page);
    const [users, rates] = page.capacities;
    expect(all("#capacity path.curve")).toHaveLength(users!.lines.length);
    expect(all("#capacity .reach")).toHaveLength(users!.lines.filter((l) => l.low !== null).length);
    expect(root.querySelector("#capacity .crossings")!.textContent).toContain(
      "it did not come back",
    );
    expect(root.querySelector("#capacity .legend")!.textContent).toContain("unknown");
    press(root.querySelector<HTMLElement>('#capacity input[value="highest-rate"]')!);
    expect(root.querySelector("#capacity figure")!.getAttribute("aria-label")).toBe(
      "Capacity of highest-rate",
    );
    expect(all("#capacity .reach")).toHaveLength(rates!.lines.length);
    expect(root.querySelector("#capacity .crossings")).toBeNull();
    show({ ...page, capacities: [] });
    expect(root.querySelector("#capacity")).toBeNull();
    expect(root.querySelector('nav a[href="#capacity"]')).toBeNull();
  });

  test("puts generators beside each other, what is known first, and says how each differs", () => {
    const page = realistic();
    show(page);
    const rows = all("#generators tbody tr").map((row) => row.textContent);
    expect(rows).toHaveLength(1 + page.witnesses[0]!.lines.length);
    expect(rows[0]).toBe("known50010–");
    expect(rows[3]).toContain("h2load498");
    expect(rows[3]).toContain("–");
    expect(root.querySelector("#generators ul")!.textContent).toContain(
      "oha: any status is an answer; it opens all its connections.",
    );
    show({ ...page, witnesses: [] });
    expect(root.querySelector("#generators")).toBeNull();
    expect(root.querySelector('nav a[href="#generators"]')).toBeNull();
  });

  test("lists every row of the summary, with errors and what was published", () => {
    const page = realistic();
    show(page);
    expect(all(".summary tbody tr:not(.cell-row)")).toHaveLength(page.table.length);
    expect(root.querySelector(".summary")!.textContent).toContain("132 timed_out");
    expect(root.querySelector(".published")!.textContent).toContain("11.63 / 3.49");
  });

  test("lays the trials out in the order they ran, and marks the excluded", () => {
    const page = realistic();
    show(page);
    const rows = all(".strip tr");
    expect(rows).toHaveLength(12);
    const third = [...rows[2]!.querySelectorAll("bdi")].map((e) => e.textContent);
    expect(third).toEqual(
      page.trials
        .filter((t) => t.block === 3)
        .sort((a, b) => a.position - b.position)
        .map((t) => t.contender),
    );
    expect(all(".strip .excluded")).toHaveLength(2);
    for (const e of all(".strip .excluded")) expect(e.textContent).toContain("excluded");
    for (const f of page.faults)
      expect(root.querySelector("#trials")!.textContent).toContain(f.hint);
    expect(root.querySelector("#trials")!.textContent).toContain(page.skipped[0]!.reason);
  });

  test("makes a table only when it is opened", () => {
    show(realistic());
    const details = root.querySelector<HTMLDetailsElement>("#latency details.data")!;
    expect(details.querySelector("table")).toBeNull();
    act(() => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    expect(details.querySelectorAll("tbody tr").length).toBeGreaterThan(100);
  });

  test("destroys the time charts it made", async () => {
    const counts = (await import("uplot")).default as unknown as {
      made: number;
      destroyed: number;
    };
    show(realistic());
    press(root.querySelector<HTMLElement>('#time input[value="arrivals-2000"]')!);
    act(() => render(null, root));
    expect(counts.made).toBeGreaterThanOrEqual(12);
    expect(counts.destroyed).toBe(counts.made);
  });
});

describe("the charts together", () => {
  test("a contender hidden at one chart is hidden in all, and comes back", () => {
    const page = realistic();
    show(page);
    const drawn = () =>
      [
        "#capacity path.curve",
        "#curves path.curve",
        "#latency path.curve",
        "#warmup .courses",
        "#warmup .strip-of-starts",
        "#time .heat-row",
      ].map((s) => all(s).length);
    const before = drawn();
    expect(before).toEqual([6, 6, 6, 6, 6, 6]);
    press(all("#latency .legend button")[1]!);
    expect(drawn()).toEqual([5, 5, 5, 5, 5, 5]);
    expect(all("#symptoms .picture")).toHaveLength(page.symptoms.length);
    expect(all("#capacity .legend button")[1]!.getAttribute("aria-pressed")).toBe("false");
    const [showAll, hideAll] = all("#curves .legend-all button");
    press(hideAll!);
    expect(drawn()).toEqual([0, 0, 0, 0, 0, 0]);
    expect(all("#symptoms .picture")).toHaveLength(0);
    for (const s of page.symptoms)
      expect(root.querySelector("#symptoms")!.textContent).toContain(s.kind);
    expect(all("#verdicts svg.interval")).toHaveLength(
      page.verdicts.filter((v) => v.cell === "arrivals-200").length,
    );
    press(showAll!);
    expect(drawn()).toEqual(before);
  });

  test("values are read by keyboard, and said in words", () => {
    const page = realistic();
    show(page);
    for (const [section, unit] of [
      ["#latency", "ms"],
      ["#curves", "/s"],
    ] as const) {
      const plot = root.querySelector(`${section} [role="slider"]`)!;
      expect(plot.getAttribute("aria-valuetext")).toBe("no place chosen");
      key(plot, "Home");
      expect(all(`${section} line.probe`)).toHaveLength(1);
      const text = root.querySelector(`${section} .values`)!.textContent!;
      for (const { name } of page.contenders) expect(text).toContain(name);
      expect(text).toContain(unit);
      expect(plot.getAttribute("aria-valuetext")).toContain(page.contenders[0]!.name);
      key(plot, "ArrowRight");
      expect(root.querySelector(`${section} .values`)!.textContent).not.toBe(text);
      key(plot, "End");
      expect(plot.getAttribute("aria-valuenow")).toBe(plot.getAttribute("aria-valuemax"));
      key(plot, "Escape");
      expect(all(`${section} line.probe`)).toHaveLength(0);
    }
  });

  test("the tail of the quantiles can be looked at alone", () => {
    show(realistic());
    const ticks = () => all("#latency .tick.middle").map((e) => e.textContent);
    expect(ticks()[0]).toBe("50\u00a0%");
    press(root.querySelector<HTMLElement>('#latency input[value="0.99"]')!);
    expect(ticks()[0]).toBe("99\u00a0%");
    expect(all("#latency path.curve")).toHaveLength(6);
  });

  test("a table is copied with all its digits, and shown where it cannot be", async () => {
    const page = realistic();
    const written: string[] = [];
    const clipboard = { writeText: async (text: string) => void written.push(text) };
    vi.stubGlobal("navigator", { clipboard });
    try {
      show(page);
      const button = () => all("#latency .copy button").find((b) => b.textContent === "Copy CSV")!;
      const pressed = () =>
        act(async () => {
          button().click();
          await new Promise((done) => setTimeout(done));
        });
      await pressed();
      const [head, first] = written[0]!.split("\r\n");
      expect(head).toBe('Contender,Quantile,"Latency, ms",Samples of the curve');
      const curve = page.curves[0]!;
      expect(first).toBe(`${curve.contender},0 %,${curve.points[0]![1]},${curve.samples}`);
      expect(root.querySelector("#latency .copy")!.textContent).toContain("copied");
      clipboard.writeText = () => Promise.reject(new Error("not allowed"));
      await pressed();
      expect(root.querySelector<HTMLTextAreaElement>("#latency .copy textarea")!.value).toBe(
        written[0],
      );
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test("every table that stands open can be copied", () => {
    show(realistic());
    const tables = all("main .scroll table");
    expect(tables.length).toBeGreaterThan(6);
    const buttons = tables.map(
      (t) => t.closest(".scroll")!.nextElementSibling?.querySelector(".copy button")?.textContent,
    );
    expect(new Set(buttons)).toEqual(new Set(["Copy CSV"]));
  });

  test("what is copied of generators is what is known, what each says with all its digits, and how it differs", async () => {
    const page = realistic();
    const written: string[] = [];
    vi.stubGlobal("navigator", {
      clipboard: { writeText: async (text: string) => void written.push(text) },
    });
    try {
      show(page);
      await act(async () => {
        root.querySelector<HTMLElement>("#generators .copy button")!.click();
        root.querySelector<HTMLElement>("#summary .copy button")!.click();
        await new Promise((done) => setTimeout(done));
      });
    } finally {
      vi.unstubAllGlobals();
    }
    const [generators, summary] = written.map((text) => text.trimEnd().split("\r\n"));
    const line = page.witnesses[0]!.lines[1]!;
    expect(generators![1]).toBe("known,500,10,,,,,,");
    expect(generators![3]).toBe(
      `${line.generator},${line.rate_per_s},${line.p50_ms},${line.p99_ms},${line.failed_percent},${line.cpu_us_per_request},${line.memory_mb},${line.used},${line.differs.join("; ")}`,
    );
    const row = page.table[0]!;
    expect(summary).toHaveLength(1 + page.table.length);
    expect(summary![1]).toContain(
      `${row.cell},${row.contender},${row.samples},${row.deviation_ms},`,
    );
  });

  test("every second of every trial has its colour", () => {
    const page = realistic();
    show(page);
    const here = page.trials.flatMap((t) =>
      t.measurements.filter((m) => m.cell === "arrivals-200"),
    );
    const coloured = all("#time .heat svg[role=img] path").reduce(
      (sum, p) => sum + (p.getAttribute("d")!.match(/M/g)?.length ?? 0),
      0,
    );
    expect(coloured).toBe(
      here.reduce((sum, m) => sum + m.seconds.p99_ms.filter((v) => v !== null).length, 0),
    );
  });
});

describe("believing", () => {
  test("what speaks for the answer and against it stands under it, with where it is shown", () => {
    const page = realistic();
    show(page);
    expect(
      all("main > section")
        .slice(0, 2)
        .map((e) => e.id),
    ).toEqual(["answer", "believe"]);
    const rows = all("#believe .grounds > li");
    expect(rows.map((r) => r.querySelector(".outcome")!.textContent)).toEqual([
      "in order",
      "unknown or in part",
      "unknown or in part",
      "in order",
    ]);
    page.believe.forEach((g, i) => {
      expect(rows[i]!.textContent!.replaceAll("\u00a0", " ")).toContain(g.sentence);
      expect(root.querySelector(rows[i]!.querySelector("a")!.getAttribute("href")!)).not.toBeNull();
    });
    for (const n of page.notes)
      expect(
        root.querySelector("#believe .notes")!.textContent!.replaceAll("\u00a0", " "),
      ).toContain(n);
  });

  test("every check is listed, also one that could not look", () => {
    show(realistic());
    const details = root.querySelector<HTMLDetailsElement>("#believe details.data")!;
    act(() => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    const rows = [...details.querySelectorAll("tbody tr")].map((r) => r.textContent);
    expect(rows).toHaveLength(3);
    expect(rows[2]).toContain("could not look");
  });

  test("without claims the picture is that of the verdicts the sentence speaks of", () => {
    const page = realistic();
    show({ ...page, claims: [] });
    const spoken = page.verdicts.filter(
      (v) =>
        v.contender === "proxy-go-gin" && ["cpu_us_per_request", "memory_mb"].includes(v.metric),
    );
    expect(all("#answer svg.interval")).toHaveLength(spoken.length);
    show({ ...page, claims: [], answer: { ...page.answer, subject: null } });
    expect(root.querySelector("#answer")!.textContent).toContain("states no claims");
  });
});

describe("one trial", () => {
  const go = (hash: string) =>
    act(() => {
      location.hash = hash;
      dispatchEvent(new Event("hashchange"));
    });
  afterEach(() => {
    location.hash = "";
  });

  test("each is reached by its place among all, and has an address of its own", () => {
    const page = realistic();
    show(page);
    const links = all(".strip a.who").map((e) => e.getAttribute("href"));
    expect(new Set(links).size).toBe(page.trials.length);
    expect(root.querySelector(".one-trial")).toBeNull();
    const trial = page.trials.find((t) => !t.valid)!;
    go(`#trial-${trial.block}-${trial.position}`);
    const shown = root.querySelector(".one-trial")!;
    expect(shown.querySelector("h3")!.textContent).toContain(trial.contender);
    expect(shown.textContent).toContain(trial.reason);
    expect(shown.querySelectorAll(".phase.start, .phase.warmup")).toHaveLength(2);
    expect(shown.querySelectorAll(".phase.cell")).toHaveLength(trial.measurements.length);
    expect(shown.textContent).toContain(
      page.faults.find((f) => f.where.includes(trial.contender))!.evidence,
    );
    expect(all(".strip [aria-current]")).toHaveLength(1);
    go("#trial-99-1");
    expect(root.querySelector(".one-trial")).toBeNull();
  });

  test("its parts follow each other also where an older record does not say when they began", () => {
    const [trial] = realistic().trials;
    const older = {
      ...trial!,
      measurements: trial!.measurements.map((m) => ({ ...m, began_s: null })),
    };
    for (const t of [trial!, older]) {
      const all = phases(t, "rate_per_s");
      expect(all.map((p) => p.kind)).toEqual(["start", "warmup", "cell", "cell", "cell", "cell"]);
      for (const [i, p] of all.slice(1).entries())
        expect(p.from).toBeGreaterThanOrEqual(all[i]!.to - 1e-9);
    }
    expect(phases({ ...trial!, ready_ms: null }, "rate_per_s")).toEqual([]);
  });

  test("of a record not to be trusted, every one can be opened", () => {
    const page = hostile();
    show(page);
    for (const t of page.trials.slice(0, 30)) {
      go(`#trial-${t.block}-${t.position}`);
      expect(all(".one-trial")).toHaveLength(1);
      expect(root.querySelector(".one-trial")!.innerHTML).not.toMatch(
        /="[^"]*(NaN|Infinity)[^"]*"/,
      );
    }
  });
});

test("a hundred contenders are all there, and each can be alone", () => {
  show(crowd(100));
  expect(all("#latency path.curve")).toHaveLength(100);
  expect(all("#contenders article")).toHaveLength(100);
  press(all("#latency .legend-all button")[1]!);
  press(all("#latency .legend button")[7]!);
  expect(all("#latency path.curve")).toHaveLength(1);
});

describe("how it was judged", () => {
  const said = (selector: string) =>
    root.querySelector(selector)!.textContent!.replaceAll("\u00a0", " ");

  test("an interval says what decided it, at which confidence, and what checks it", () => {
    const page = realistic();
    show(page);
    const here = page.verdicts.filter((v) => v.cell === "arrivals-200");
    const grounds = all("#verdicts .ground").map((e) => e.textContent!.replaceAll("\u00a0", " "));
    expect(grounds).toHaveLength(here.length);
    for (const [i, v] of here.entries())
      expect(grounds[i]).toMatch(new RegExp(`^97.8 % by ${v.decided_by}; sign flip p 0\\.`));
    expect(all("#verdicts .interval .other")).toHaveLength(here.length);
    expect(said("main")).not.toContain("95 % interval");
  });

  test("blocks still needed are said once", () => {
    const page = realistic();
    const open = page.verdicts.find((v) => v.cell === "arrivals-200" && v.outcome === "undecided")!;
    show({ ...page, verdicts: [open] });
    expect(said("#verdicts .phrase").split("19 blocks")).toHaveLength(2);
    show({ ...page, verdicts: [{ ...open, reason: "not yet" }] });
    expect(said("#verdicts .phrase").split("19 blocks")).toHaveLength(2);
  });

  test("claims have their p-values, alone and among all", () => {
    show(realistic());
    const rows = all(".holm tbody tr").map((e) => e.textContent);
    expect(rows).toHaveLength(4);
    expect(rows[2]).toContain("0.034");
    expect(rows[2]).toContain("0.068");
    expect(said(".claims")).toContain("p 0.034; 0.068 among 4 claims (Holm)");
  });

  test("looks stand on the line of blocks, those that were taken filled", () => {
    show(realistic());
    expect(all(".look")).toHaveLength(3);
    expect(all(".look.taken")).toHaveLength(2);
    expect(said("#decided")).toContain("Stopped after 9 of 12 blocks");
    expect(root.querySelector(".looks")!.getAttribute("aria-label")).toContain(
      "after 9 blocks at 97.8\u00a0%, taken",
    );
  });

  test("the baseline against itself has an interval a cell and metric", () => {
    const page = realistic();
    show(page);
    expect(all(".noise svg.interval")).toHaveLength(page.noise.length);
    show({ ...page, noise: [], instrument: [] });
    expect(said("#decided")).toContain("aa = true");
    expect(said("#decided")).toContain("faceoff selftest");
  });

  test("every start's warm-up is drawn, and cold stands beside steady", () => {
    const page = realistic();
    show(page);
    expect(all(".cold tbody tr")).toHaveLength(6);
    expect(said(".cold tbody tr")).toContain("11 warm-up, 1 never steady");
    expect(all("svg.course")).toHaveLength(page.trials.length);
    const paths = all("svg.course path").map((e) => e.getAttribute("d"));
    press(root.querySelector<HTMLElement>('#warmup input[value="rate_per_s"]')!);
    expect(all("svg.course path").map((e) => e.getAttribute("d"))).not.toEqual(paths);
    expect(all("svg.course .steady")).toHaveLength(
      page.trials.filter((t) => t.warmup!.steady_after_s !== null).length,
    );
  });

  test("a symptom has its sentence, its hint and its picture", () => {
    const page = realistic();
    show(page);
    expect(all(".picture")).toHaveLength(3);
    for (const s of page.symptoms) expect(said("#symptoms")).toContain(s.hint);
    expect(all(".picture .bar")).toHaveLength(25);
    expect(all(".picture .pointer")).toHaveLength(3);
    show({ ...page, symptoms: [] });
    expect(said("#symptoms")).toContain("None of the known ones");
  });

  test("a picture of one block shows its one value", () => {
    const page = realistic();
    const first = page.symptoms[0]!;
    const picture = {
      ...first.picture,
      x: "block",
      bars: false,
      series: [{ name: "written", points: [[1, 62]] as [number, number][] }],
      marks: [],
    };
    show({ ...page, symptoms: [{ ...first, picture }] });
    expect(all(".picture circle.alone")).toHaveLength(1);
    expect(all(".picture .tick.middle").map((e) => e.textContent)).toEqual(["1"]);
  });

  test("of one kind three symptoms stand open, and the others behind how many they are", () => {
    const page = realistic();
    const first = page.symptoms[0]!;
    const other = page.symptoms.find((s) => s.kind !== first.kind)!;
    show({ ...page, symptoms: [first, first, other, first, first, first] });
    expect(all("#symptoms > .symptoms article")).toHaveLength(4);
    expect(all("#symptoms details.more")).toHaveLength(1);
    expect(said("#symptoms details.more summary")).toBe(`2 more of ${first.kind}`);
    expect(all("#symptoms details.more article")).toHaveLength(2);
  });

  test("the article's rows are flagged where they stand", () => {
    const page = realistic();
    show(page);
    expect(all("#audit tbody.flagged")).toHaveLength(2);
    expect(all("#audit .finding")).toHaveLength(3);
    const text = said("#audit");
    for (const words of [
      "contradicts itself, 4 times",
      "inconsistent as a service time",
      "possible: 800/s",
      "a ramp-up of 400 s; or users",
      "Measured here",
    ])
      expect(text).toContain(words);
    const here = page.table.find(
      (row) => row.contender === page.contenders[0]!.name && row.cell === page.cells[0]!.name,
    )!;
    expect(all("#audit tr.here")).toHaveLength(1);
    expect(
      [...all("#audit tr.here")[0]!.querySelectorAll("td")].map((td) => td.textContent),
    ).toEqual([
      "–",
      count(here.samples),
      sig(here.throughput_per_s),
      duration(here.average_ms),
      duration(here.deviation_ms),
      duration(here.min_ms),
      duration(here.max_ms),
      bytes(here.received_kb_per_s * 1000),
      bytes(here.average_bytes),
    ]);
    show({ ...page, audit: null });
    expect(root.querySelector("#audit")).toBeNull();
    expect(root.querySelector('nav a[href="#audit"]')).toBeNull();
  });

  test("faults are counted by kind before they are listed, and a long list is folded", () => {
    const page = realistic();
    const faults = Array.from({ length: 30 }, (_, i) => ({
      ...page.faults[0]!,
      where: `block ${i}`,
    }));
    show({ ...page, faults, fault_counts: [{ kind: "steal", count: 30 }] });
    expect(said(".counts")).toBe("30 steal");
    expect(said("details.more summary")).toBe("22 more");
  });
});

describe("a record not to be trusted", () => {
  test("stays text", () => {
    show(hostile());
    expect(all("img, iframe, script, a[href^='javascript']")).toHaveLength(0);
    expect(all("h1")[0]!.textContent).toContain(ATTACK);
    expect(root.innerHTML).toContain("&lt;img src=x");
  });

  test("empty lists are said to be empty", () => {
    show(bare());
    expect(all(".empty").length).toBeGreaterThan(8);
  });

  test("no coordinate is ever not a number", () => {
    show(hostile());
    expect(root.innerHTML).not.toMatch(/="[^"]*(NaN|Infinity)[^"]*"/);
  });
});
