/** Zoom of every chart, and time from the start of the process. */
import { act } from "preact/test-utils";
import { describe, expect, test, vi } from "vitest";
import { columns } from "../../src/charts/heat";
import { nearer, stretchedBy } from "../../src/charts/stretch";
import { drawnWarm, warmOf } from "../../src/charts/warm";
import { realistic } from "../fixture";
import { hostile } from "../hostile";
import { stage } from "../stage";

vi.mock("uplot", () => import("../plot"));
const { root, show, all, press, key } = stage();

describe("the arithmetic of zoom", () => {
  test("keeps its place, stays within the axis, and ends at all of it", () => {
    expect(nearer([0, 100], [0, 100], 50, 0.5)).toEqual([25, 75]);
    expect(nearer([0, 100], [0, 100], 0, 0.5)).toEqual([0, 50]);
    expect(nearer([0, 50], [0, 100], 25, 2)).toEqual([0, 75]);
    expect(nearer([25, 75], [0, 100], 50, 2)).toBeNull();
  });

  test("ends at the smallest part of an axis", () => {
    let at: readonly [number, number] = [0, 100];
    for (let i = 0; i < 60; i++) at = nearer(at, [0, 100], 50, 0.5)!;
    expect(at[1] - at[0]).toBeGreaterThan(0.1);
    expect(at[1] - at[0]).toBeLessThan(1);
  });

  test("does not take keys of the browser", () => {
    const pressed = (key: string, ctrlKey = false) =>
      stretchedBy({ key, ctrlKey, metaKey: false, altKey: false });
    expect([
      pressed("+"),
      pressed("="),
      pressed("-"),
      pressed("0"),
      pressed("a"),
      pressed("toString"),
      pressed("+", true),
    ]).toEqual([0.5, 0.5, 2, null, undefined, undefined, undefined]);
  });

  test("a heat map shows the seconds of the stretch, or all", () => {
    expect(columns([1, 2, 3, 4], [1.5, 3.2])).toEqual({ first: 1, count: 2 });
    expect(columns([1, 2, 3, 4], null)).toEqual({ first: 0, count: 4 });
    expect(columns([1, 2, 3, 4], [9, 10])).toEqual({ first: 0, count: 4 });
    expect(columns([], [0, 1])).toEqual({ first: 0, count: 0 });
  });
});

describe("the end of warm-up", () => {
  const trial = (ended: number, steady: number | null) => ({ ended, steady, colour: "var(--c1)" });

  test("is a stretch, with a mark for each steady trial", () => {
    expect(warmOf([])).toBeNull();
    expect(warmOf([trial(8, 5), trial(14, null), trial(9, 7)])).toEqual({
      ended: [8, 14],
      steady: [
        { t: 5, colour: "var(--c1)" },
        { t: 7, colour: "var(--c1)" },
      ],
    });
  });

  test("is drawn only in the visible part", () => {
    const box = { left: 50, top: 10, width: 100, height: 80 };
    const [beneath, above] = drawnWarm(
      warmOf([trial(8, 5), trial(14, 40)])!,
      box,
      (t) => 50 + 10 * t,
      (colour) => colour,
    );
    expect(beneath).toBe(
      '<rect x="50" y="10" width="80" height="80" fill="var(--band)" opacity="1"/><rect x="130" y="10" width="20" height="80" fill="var(--band)" opacity="0.5"/>',
    );
    expect(above).toBe('<path d="M100,10v14" stroke="var(--c1)" stroke-width="1.5"/>');
    expect(
      drawnWarm(
        warmOf([trial(8, 5)])!,
        box,
        (t) => 50 + 10 * (t - 20),
        (colour) => colour,
      ),
    ).toEqual(["", ""]);
  });
});

describe("zoom", () => {
  const button = (section: string, text: string) =>
    all(`${section} .zoom button`).find((b) => b.textContent === text)!;
  const shown = (section: string) =>
    root.querySelector(`${section} .zoom [role="status"]`)!.textContent;
  const drawn = (section: string) => all(`${section} .plot > svg`)[0]!.innerHTML;

  test.each(["#latency", "#curves", "#capacity", "#symptoms", ".one-trial"])(
    "the keys of time stretch the axis of %s too, and 0 shows all of it",
    (section) => {
      const page = realistic();
      location.hash = "#trial-1-1";
      try {
        show(page);
        const plot = root.querySelector(`${section} [role="slider"]`)!;
        const whole = drawn(section);
        key(plot, "+");
        const nearer = drawn(section);
        expect(nearer).not.toBe(whole);
        expect(nearer).not.toMatch(/="[^"]*(NaN|Infinity)[^"]*"/);
        expect(shown(section)).toContain(" to ");
        key(plot, "+");
        expect(drawn(section)).not.toBe(nearer);
        key(plot, "+", { ctrlKey: true });
        key(plot, "-");
        key(plot, "-");
        key(plot, "-");
        expect(drawn(section)).toBe(whole);
        key(plot, "=");
        key(plot, "0");
        expect(drawn(section)).toBe(whole);
        expect(shown(section)).toBe("");
      } finally {
        location.hash = "";
      }
    },
  );

  test("arrows stay in the visible part, and zoom keeps the place", () => {
    show(realistic());
    const plot = root.querySelector('#latency [role="slider"]')!;
    key(plot, "End");
    const last = root.querySelector("#latency .values b")!.textContent;
    for (let i = 0; i < 5; i++) key(plot, "+");
    expect(root.querySelector("#latency .values b")!.textContent).toBe(last);
    expect(Number(plot.getAttribute("aria-valuemin"))).toBeGreaterThan(0);
    key(plot, "Home");
    expect(plot.getAttribute("aria-valuenow")).toBe(plot.getAttribute("aria-valuemin"));
    expect(root.querySelector("#latency line.probe")!.getAttribute("x1")).toMatch(/^\d/);
    key(plot, "ArrowLeft");
    expect(plot.getAttribute("aria-valuenow")).toBe(plot.getAttribute("aria-valuemin"));
  });

  test("lines through a stretch are drawn, marks beyond it are not", () => {
    show(realistic());
    const plot = root.querySelector('#curves [role="slider"]')!;
    for (let i = 0; i < 3; i++) key(plot, "+");
    const marks = all("#curves .plot .mark").map((mark) =>
      parseFloat(mark.parentElement!.getAttribute("x")!),
    );
    expect(marks).toHaveLength(6);
    expect(Math.min(...marks)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...marks)).toBeLessThanOrEqual(100);
    for (let i = 0; i < 2; i++) key(plot, "+");
    expect(all("#curves .plot .mark")).toHaveLength(0);
    expect(all("#curves path.curve")).toHaveLength(6);
    for (const path of all("#curves path.curve"))
      expect(path.getAttribute("d")).toMatch(/^M-.*L\d{4,}/);
  });

  test("zoom outlives hidden contenders, and ends with its axis", () => {
    show(realistic());
    key(root.querySelector('#curves [role="slider"]')!, "+");
    const before = shown("#curves");
    expect(before).not.toBe("");
    press(all("#curves .legend button")[1]!);
    expect(shown("#curves")).toBe(before);
    press(
      root.querySelector<HTMLElement>(
        '#curves input[value="generated, 192 connections over size"]',
      )!,
    );
    expect(shown("#curves")).toBe("");
  });

  test("the pointer can drag a stretch", () => {
    show(realistic());
    const plot = root.querySelector('#latency [role="slider"]')!;
    plot.querySelector("svg")!.getBoundingClientRect = () => ({ left: 0, width: 1000 }) as DOMRect;
    const point = (type: string, clientX: number) =>
      act(
        () =>
          void plot.dispatchEvent(
            new PointerEvent(type, { clientX, button: 0, pointerType: "mouse", bubbles: true }),
          ),
      );
    point("pointerdown", 250);
    point("pointermove", 500);
    expect(all("#latency .drawn-up")).toHaveLength(1);
    point("pointerup", 500);
    expect(all("#latency .drawn-up")).toHaveLength(0);
    expect(shown("#latency")).toContain(" to ");
    act(() => void plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true })));
    expect(shown("#latency")).toBe("");
    point("pointerdown", 250);
    point("pointerup", 250);
    expect(shown("#latency")).toBe("");
  });

  test.each(["#answer", "#verdicts", "#effects", "#warmup", "#decided"])(
    "buttons zoom the axis of %s and keep the focus",
    (section) => {
      show(realistic());
      const axes = () =>
        all(`${section} .ratio-axis`)
          .map((e) => e.textContent)
          .join(" | ");
      const whole = axes();
      expect(button(section, "Show all").getAttribute("aria-disabled")).toBe("true");
      press(button(section, "Zoom in"));
      press(button(section, "Zoom in"));
      expect(axes()).not.toBe(whole);
      expect(shown(section)).not.toBe("");
      key(button(section, "Zoom in"), "0");
      expect(axes()).toBe(whole);
      press(button(section, "Zoom in"));
      const back = button(section, "Show all");
      back.focus();
      press(back);
      expect(axes()).toBe(whole);
      expect(document.activeElement).toBe(back);
    },
  );

  test("every zoom button has its own label", () => {
    show(realistic());
    const names = all(".zoom button").map((b) => b.getAttribute("aria-label")!);
    for (const name of names) expect(name).toMatch(/^(Zoom in|Zoom out|Show all): ./);
    expect(new Set(names).size).toBe(names.length);
  });

  test("the heat map follows the time of the six charts", () => {
    show(realistic());
    const box = () => root.querySelector("#time .heat svg[role=img]")!.getAttribute("viewBox");
    const whole = box();
    expect(whole).toBe("0 0 20 12");
    press(button("#time", "Zoom in"));
    expect(box()).not.toBe(whole);
    expect(shown("#time")).toMatch(/^\S+ to \S+ s$/);
    press(button("#time", "Show all"));
    expect(box()).toBe(whole);
    key(root.querySelector('#time .heat [role="slider"]')!, "+");
    expect(box()).not.toBe(whole);
  });

  test("the heat map is read by keyboard", () => {
    const page = realistic();
    show(page);
    const map = root.querySelector('#time .heat [role="slider"]')!;
    const readout = () => root.querySelector("#time .heat .readout")!.textContent!;
    expect(map.getAttribute("aria-valuetext")).toBe("no second chosen");
    key(map, "ArrowRight");
    const first = readout();
    expect(first).toMatch(/, block 1.*, 1 s: /);
    expect(map.getAttribute("aria-valuetext")).toBe(first);
    expect(all("#time .heat .cursor")).toHaveLength(1);
    for (let i = 0; i < 6; i++) key(map, "ArrowRight");
    expect(readout()).toMatch(/, 7 s: too few samples$/);
    key(map, "ArrowDown");
    expect(readout()).toMatch(/, block 2.*, 7 s: /);
    key(map, "End");
    expect(readout()).toMatch(/, 20 s: /);
    expect(map.getAttribute("aria-valuenow")).toBe(map.getAttribute("aria-valuemax"));
    key(map, "Escape");
    expect(readout()).toBe("");
    expect(all("#time .heat .cursor")).toHaveLength(0);
  });
});

describe("time from the start of the process", () => {
  const rows = (n: number) => {
    const details = all("#time .charts details.data")[n] as HTMLDetailsElement;
    act(() => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    return [...details.querySelectorAll("tbody tr")].map((r) =>
      [...r.querySelectorAll("td")].map((d) => d.textContent!),
    );
  };

  test("shows the warm-up before the cell, if it was recorded", () => {
    const page = realistic();
    show({ ...page, trials: page.trials.slice(0, 3) });
    expect(root.querySelector("#time")!.textContent).toContain(
      "took place before the first second shown here",
    );
    expect(rows(0).some(([name]) => name!.includes("warm-up"))).toBe(false);
    press(root.querySelector<HTMLElement>('#time input[value="process"]')!);
    expect(root.querySelector("#time")!.textContent).toContain(
      "The full shade ends with the first trial's warm-up",
    );
    expect(root.querySelector("#time")!.textContent).toContain(
      "The record has no 99th percentile of the warm-up",
    );
    const warm = rows(0).filter(([name]) => name!.endsWith(", warm-up"));
    expect(warm).toHaveLength(
      page.trials.slice(0, 3).reduce((sum, t) => sum + t.warmup!.t_s.length, 0),
    );
    expect(rows(1).some(([name]) => name!.endsWith(", warm-up"))).toBe(false);
    press(root.querySelector<HTMLElement>('#time input[value="p50_ms"]')!);
    expect(rows(1).some(([name]) => name!.endsWith(", warm-up"))).toBe(true);
    expect(root.querySelector("#time")!.textContent).not.toContain(
      "The record has no 99th percentile of the warm-up",
    );
  });

  test("is not offered without warm-up", () => {
    const page = realistic();
    show({ ...page, trials: page.trials.map((t) => ({ ...t, warmup: null })) });
    expect(root.querySelector('#time input[value="process"]')).toBeNull();
    expect(root.querySelector("#time")!.textContent).not.toContain("Warm-up took place");
  });

  test("draws the drawable part of an untrusted record", () => {
    show(hostile());
    press(root.querySelector<HTMLElement>('#time input[value="process"]')!);
    expect(root.innerHTML).not.toMatch(/="[^"]*(NaN|Infinity)[^"]*"/);
  });

  test("a trial that never became steady is marked", () => {
    const page = realistic();
    const never = page.trials.filter((t) => t.warmup!.class === "never_steady").slice(0, 1);
    expect(never).toHaveLength(1);
    show({ ...page, trials: never });
    expect(rows(0)[0]![0]).toContain(", never steady");
  });
});
