/** Sections with curves: effects, sweeps, capacities and external generators. */
import { describe, expect, test, vi } from "vitest";
import { realistic } from "../fixture";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press } = stage();

describe("sections of curves", () => {
  test("effects have a row per factor, and pairs that interact", () => {
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

  test("sweeps have lines, intervals and crossings", () => {
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
          repetitions: [
            "proxy-go-gin, c: CPU per request in repetition 2 is 1.40 times that in repetition 1: worse.",
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

  test("capacities have every probe, and a text if none was found", () => {
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

  test("costs have a row for each contender, also without a known cost", () => {
    const page = realistic();
    show(page);
    const rows = all("#costs tbody tr").map((row) => row.textContent);
    expect(rows).toHaveLength(page.costs!.lines.length);
    expect(rows[1]).toContain("5.0× less than proxy-spring-mvc");
    expect(rows[2]).toContain("not known");
    expect(root.querySelector("#costs thead")!.textContent).toContain("Cost, USD");
    show({ ...page, costs: null });
    expect(root.querySelector("#costs")).toBeNull();
    expect(root.querySelector('nav a[href="#costs"]')).toBeNull();
  });

  test("generators follow the known figures, with their differences", () => {
    const page = realistic();
    show(page);
    const rows = all("#generators tbody tr").map((row) => row.textContent);
    expect(rows).toHaveLength(1 + page.external_generators[0]!.lines.length);
    expect(rows[0]).toBe("known50010–");
    expect(rows[3]).toContain("h2load498");
    expect(rows[3]).toContain("–");
    expect(rows[3]).toMatch(/5 of 6$/);
    const excluded = page.external_generators[0]!.excluded!;
    expect(root.querySelector("#generators figure p")!.textContent).toBe(excluded);
    expect(root.querySelector("#generators ul")!.textContent).toContain(
      "oha: any status is an answer; it opens all its connections.",
    );
    show({ ...page, external_generators: [] });
    expect(root.querySelector("#generators")).toBeNull();
    expect(root.querySelector('nav a[href="#generators"]')).toBeNull();
  });
});
