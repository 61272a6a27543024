/** The report as a whole: its data, its first sections, and records that cannot be trusted. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, test, vi } from "vitest";
import { App } from "../../src/app";
import { unbroken } from "../../src/format";
import { read } from "../../src/read";
import { crowd, realistic } from "../fixture";
import { ATTACK, bare, hostile } from "../hostile";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press } = stage();

describe("reading", () => {
  test("missing, incomplete and foreign data is reported", () => {
    expect(read("null")).toEqual({ problem: expect.stringContaining("has no record") });
    expect(read(`{"schema": "faceoff.page.v1"`)).toEqual({
      problem: expect.stringContaining("is incomplete"),
    });
    expect(read(`{"schema": "faceoff.page.v9"}`)).toEqual({
      problem: expect.stringContaining("faceoff.page.v9"),
    });
    expect(read(JSON.stringify(bare()))).toHaveProperty("page.question", "Nothing?");
  });

  test("a problem is shown", () => {
    act(() => render(<App reading={read("null")} />, root));
    expect(root.textContent).toContain("has no record");
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

  test("has an interval with its outcome for every cell of a claim", () => {
    const page = realistic();
    show(page);
    expect(all(".claims svg.interval")).toHaveLength(page.claims.flatMap((c) => c.cells).length);
    const labels = all(".claims svg.interval").map((e) => e.getAttribute("aria-label"));
    expect(labels.some((l) => l?.includes("refuted"))).toBe(true);
    expect(labels.some((l) => l?.includes("undecided"))).toBe(true);
    const shapes = new Set(all(".claims svg.interval .glyph").map((e) => e.getAttribute("d")));
    expect(shapes.size).toBe(3);
  });

  test("shows verdicts of the chosen cell, with reasons", () => {
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

  test("the cell of start-up only affects verdicts", () => {
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

  test("shows once why there is no ratio", () => {
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

  test("a record without measurements keeps its verdicts", () => {
    show({ ...realistic(), curves: [], table: [], trials: [] });
    expect(all("#verdicts svg.interval").length).toBeGreaterThan(0);
    expect(root.querySelector("#latency")!.textContent).toContain("No latency was recorded");
    expect(root.querySelector("#time")!.textContent).toContain("No trial of this selection");
  });

  test("draws one curve per contender, which a button hides", () => {
    show(realistic());
    expect(all("#latency path.curve")).toHaveLength(6);
    const [first] = all("#latency .legend button");
    expect(first!.getAttribute("aria-pressed")).toBe("true");
    press(first!);
    expect(first!.getAttribute("aria-pressed")).toBe("false");
    expect(all("#latency path.curve")).toHaveLength(5);
  });

  test("lists every row of the summary, and published figures", () => {
    const page = realistic();
    show(page);
    expect(all(".summary tbody tr:not(.cell-row)")).toHaveLength(page.table.length);
    expect(root.querySelector(".summary")!.textContent).toContain("132 timed_out");
    expect(root.querySelector(".published")!.textContent).toContain("11.63 / 3.49");
  });

  test("shows trials in their order, and marks excluded ones", () => {
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

test("a hundred contenders are shown, and each can be shown alone", () => {
  show(crowd(100));
  expect(all("#latency path.curve")).toHaveLength(100);
  expect(all("#contenders article")).toHaveLength(100);
  press(all("#latency .legend-all button")[1]!);
  press(all("#latency .legend button")[7]!);
  expect(all("#latency path.curve")).toHaveLength(1);
});

describe("an untrusted record", () => {
  test("is shown as text", () => {
    show(hostile());
    expect(all("img, iframe, script, a[href^='javascript']")).toHaveLength(0);
    expect(all("h1")[0]!.textContent).toContain(ATTACK);
    expect(root.innerHTML).toContain("&lt;img src=x");
  });

  test("empty lists have a text", () => {
    show(bare());
    expect(all(".empty").length).toBeGreaterThan(8);
  });

  test("no coordinate is ever not a number", () => {
    show(hostile());
    expect(root.innerHTML).not.toMatch(/="[^"]*(NaN|Infinity)[^"]*"/);
  });
});
