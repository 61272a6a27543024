/** The evidence for the answer, and how it was judged. */
import { act } from "preact/test-utils";
import { describe, expect, test, vi } from "vitest";
import { bytes, count, duration, sig } from "../../src/format";
import { realistic } from "../fixture";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press } = stage();

describe("the evidence", () => {
  test("evidence follows the answer, with links to its sections", () => {
    const page = realistic();
    show(page);
    expect(
      all("main > section")
        .slice(0, 2)
        .map((e) => e.id),
    ).toEqual(["answer", "believe"]);
    const rows = all("#believe .grounds > li");
    expect(rows.map((r) => r.querySelector(".outcome")!.textContent)).toEqual([
      "sound",
      "unknown or incomplete",
      "unknown or incomplete",
      "sound",
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

  test("every check is listed, also one that did not apply", () => {
    show(realistic());
    const details = root.querySelector<HTMLDetailsElement>("#believe details.data")!;
    act(() => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    const rows = [...details.querySelectorAll("tbody tr")].map((r) => r.textContent);
    expect(rows).toHaveLength(3);
    expect(rows[2]).toContain("did not apply");
  });

  test("without claims the verdicts of the answer are drawn", () => {
    const page = realistic();
    show({ ...page, claims: [] });
    const spoken = page.verdicts.filter(
      (v) =>
        v.contender === "proxy-go-gin" && ["cpu_us_per_request", "memory_mb"].includes(v.metric),
    );
    expect(all("#answer svg.interval")).toHaveLength(spoken.length);
    show({ ...page, claims: [], answer: { ...page.answer, subject: null } });
    expect(root.querySelector("#answer")!.textContent).toContain("makes no claims");
  });
});

describe("how it was judged", () => {
  const textOf = (selector: string) =>
    root.querySelector(selector)!.textContent!.replaceAll("\u00a0", " ");

  test("an interval has what decided it, and its confidence", () => {
    const page = realistic();
    show(page);
    const here = page.verdicts.filter((v) => v.cell === "arrivals-200");
    const grounds = all("#verdicts .ground").map((e) => e.textContent!.replaceAll("\u00a0", " "));
    expect(grounds).toHaveLength(here.length);
    for (const [i, v] of here.entries())
      expect(grounds[i]).toMatch(new RegExp(`^97.8 % by ${v.decided_by}; sign flip p 0\\.`));
    expect(all("#verdicts .interval .other")).toHaveLength(here.length);
    expect(textOf("main")).not.toContain("95 % interval");
  });

  test("blocks still needed are shown once", () => {
    const page = realistic();
    const open = page.verdicts.find((v) => v.cell === "arrivals-200" && v.outcome === "undecided")!;
    show({ ...page, verdicts: [open] });
    expect(textOf("#verdicts .phrase").split("19 blocks")).toHaveLength(2);
    show({ ...page, verdicts: [{ ...open, reason: "not yet" }] });
    expect(textOf("#verdicts .phrase").split("19 blocks")).toHaveLength(2);
  });

  test("claims have p-values, with and without correction", () => {
    show(realistic());
    const rows = all(".holm tbody tr").map((e) => e.textContent);
    expect(rows).toHaveLength(4);
    expect(rows[2]).toContain("0.034");
    expect(rows[2]).toContain("0.068");
    expect(textOf(".claims")).toContain("p 0.034; 0.068 among 4 claims (Holm)");
  });

  test("interim analyses are on the line of blocks", () => {
    show(realistic());
    expect(all(".look")).toHaveLength(3);
    expect(all(".look.taken")).toHaveLength(2);
    expect(textOf("#decided")).toContain("Stopped after 9 of at most 12 blocks");
    expect(root.querySelector(".looks")!.getAttribute("aria-label")).toContain(
      "after 9 blocks at 97.8\u00a0%, taken",
    );
  });

  test("the baseline against itself has intervals", () => {
    const page = realistic();
    show(page);
    expect(all(".noise svg.interval")).toHaveLength(page.noise.length);
    show({ ...page, noise: [], instrument: [] });
    expect(textOf("#decided")).toContain("aa = true");
    expect(textOf("#decided")).toContain("faceoff selftest");
  });

  test("every warm-up is drawn, and cold compared with steady", () => {
    const page = realistic();
    show(page);
    expect(all(".cold tbody tr")).toHaveLength(6);
    expect(textOf(".cold tbody tr")).toContain("11 warm-up, 1 never steady");
    expect(all("svg.course")).toHaveLength(page.trials.length);
    const paths = all("svg.course path").map((e) => e.getAttribute("d"));
    press(root.querySelector<HTMLElement>('#warmup input[value="rate_per_s"]')!);
    expect(all("svg.course path").map((e) => e.getAttribute("d"))).not.toEqual(paths);
    expect(all("svg.course .steady")).toHaveLength(
      page.trials.filter((t) => t.warmup!.steady_after_s !== null).length,
    );
  });

  test("a symptom has a sentence, a hint and a chart", () => {
    const page = realistic();
    show(page);
    expect(all(".picture")).toHaveLength(3);
    for (const s of page.symptoms) expect(textOf("#symptoms")).toContain(s.hint);
    expect(all(".picture .bar")).toHaveLength(25);
    expect(all(".picture .pointer")).toHaveLength(3);
    show({ ...page, symptoms: [] });
    expect(all("#symptoms, nav a[href='#symptoms']")).toHaveLength(0);
  });

  test("a chart of one block shows one value", () => {
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

  test("three symptoms of a kind are open, the others folded", () => {
    const page = realistic();
    const first = page.symptoms[0]!;
    const other = page.symptoms.find((s) => s.kind !== first.kind)!;
    show({ ...page, symptoms: [first, first, other, first, first, first] });
    expect(all("#symptoms > .symptoms article")).toHaveLength(4);
    expect(all("#symptoms details.more")).toHaveLength(1);
    expect(textOf("#symptoms details.more summary")).toBe(`2 more of ${first.kind}`);
    expect(all("#symptoms details.more article")).toHaveLength(2);
  });

  test("flagged rows of the article are marked", () => {
    const page = realistic();
    show(page);
    expect(all("#audit tbody.flagged")).toHaveLength(2);
    expect(all("#audit .finding")).toHaveLength(3);
    const text = textOf("#audit");
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
      duration(here.standard_deviation_ms),
      duration(here.min_ms),
      duration(here.max_ms),
      bytes(here.received_kb_per_s * 1000),
      bytes(here.average_bytes),
    ]);
    show({ ...page, audit: null });
    expect(root.querySelector("#audit")).toBeNull();
    expect(root.querySelector('nav a[href="#audit"]')).toBeNull();
  });

  test("faults are counted by kind, and a long list is folded", () => {
    const page = realistic();
    const faults = Array.from({ length: 30 }, (_, i) => ({
      ...page.faults[0]!,
      where: `block ${i}`,
    }));
    show({ ...page, faults, fault_counts: [{ kind: "steal", count: 30 }] });
    expect(textOf(".counts")).toBe("30 steal");
    expect(textOf("details.more summary")).toBe("22 more");
  });
});
