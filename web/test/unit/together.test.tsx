/** What charts have in common: hidden contenders, values at a place, and copied tables. */
import { act } from "preact/test-utils";
import { describe, expect, test, vi } from "vitest";
import { realistic } from "../fixture";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press, key } = stage();

describe("the charts together", () => {
  test("a contender hidden in one chart is hidden in all", () => {
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

  test("values are read by keyboard and by screen readers", () => {
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

  test("the tail of the quantiles can be shown alone", () => {
    show(realistic());
    const ticks = () => all("#latency .tick.middle").map((e) => e.textContent);
    expect(ticks()[0]).toBe("50\u00a0%");
    press(root.querySelector<HTMLElement>('#latency input[value="0.99"]')!);
    expect(ticks()[0]).toBe("99\u00a0%");
    expect(all("#latency path.curve")).toHaveLength(6);
  });

  test("a table is copied with all digits, or shown for copying", async () => {
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

  test("every visible table can be copied", () => {
    show(realistic());
    const tables = all("main .scroll table");
    expect(tables.length).toBeGreaterThan(6);
    const buttons = tables.map(
      (t) => t.closest(".scroll")!.nextElementSibling?.querySelector(".copy button")?.textContent,
    );
    expect(new Set(buttons)).toEqual(new Set(["Copy CSV"]));
  });

  test("a copied table of generators has all digits and differences", async () => {
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
    const line = page.external_generators[0]!.lines[1]!;
    expect(generators![1]).toBe("known,500,10,,,,,,");
    expect(generators![3]).toBe(
      `${line.generator},${line.rate_per_s},${line.p50_ms},${line.p99_ms},${line.failed_percent},${line.cpu_us_per_request},${line.memory_mb},${line.trials},${line.differs.join("; ")}`,
    );
    const row = page.table[0]!;
    expect(summary).toHaveLength(1 + page.table.length);
    expect(summary![1]).toContain(
      `${row.cell},${row.contender},${row.samples},${row.standard_deviation_ms},`,
    );
  });

  test("every second of every trial has a colour", () => {
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
