/** Axes and their ticks. */
import { describe, expect, test } from "vitest";
import {
  band,
  ending,
  latencyScale,
  logTicks,
  quantileName,
  quantileScale,
  quantileTicks,
  ratioScale,
  seen,
  shownOf,
  spread,
} from "../../src/charts/scales";
import { align } from "../../src/charts/series";
import ticks from "../generated/ticks.json";

describe("the ratio axis", () => {
  test("1 is in the middle, at equal distance from 0.5 and 2", () => {
    const { x } = ratioScale([0.3, 2.4], ticks);
    expect(x(1)).toBeCloseTo(50);
    expect(x(2) - 50).toBeCloseTo(50 - x(0.5));
    expect(x(0.3)).toBeGreaterThan(0);
  });

  test("ratios near 1 leave room for the margin", () => {
    const { reach, ticks: drawn } = ratioScale([1.001], ticks);
    expect(reach).toBe(1.3);
    expect(drawn).toContain(1);
    expect(drawn.length).toBeGreaterThanOrEqual(3);
  });

  test("values beyond the axis are drawn at its ends", () => {
    const { x, reach } = ratioScale([1e9, null, Number.NaN, 0, -1], ticks);
    expect(reach).toBe(1100);
    expect([x(1e9), x(0), x(-1), x(1e-12)]).toEqual([100, 0, 0, 0]);
  });

  test.each([1.2, 1.6, 2.5, 5, 12, 30, 500])(
    "ticks lie on it, few enough for a phone: reach %s",
    (farthest) => {
      const { ticks: drawn, reach } = ratioScale([farthest], ticks);
      expect(drawn.length).toBeLessThanOrEqual(7);
      expect(drawn.every((t) => t <= reach && t >= 1 / reach)).toBe(true);
    },
  );

  test("zoomed in, it has ticks on both sides of 1", () => {
    for (const times of [1, 2, 4, 8, 16, 32, 64]) {
      const { reach, ticks: drawn, x } = ratioScale([3], ticks, times);
      expect(reach).toBeCloseTo(ratioScale([3], ticks).reach ** (1 / times));
      expect(drawn.filter((t) => t < 1).length).toBeGreaterThan(0);
      expect(drawn.filter((t) => t > 1).length).toBeGreaterThan(0);
      expect(x(1)).toBeCloseTo(50);
      expect(x(1000)).toBe(100);
    }
  });

  test("the margin is a band of ratios", () => {
    expect(band(0.25)).toEqual([0.8, 1.25]);
    expect(band(-3)).toEqual([1, 1]);
  });
});

describe("the quantile axis", () => {
  test("each nine takes the same width", () => {
    const { x, ticks: drawn } = quantileScale(0.9999, ticks);
    expect(drawn).toEqual([0.5, 0.9, 0.99, 0.999, 0.9999]);
    expect(x(0)).toBe(0);
    expect(x(0.9)).toBeCloseTo(25);
    expect(x(0.99)).toBeCloseTo(50);
    expect(x(0.999)).toBeCloseTo(75);
    expect(x(0.9999)).toBeCloseTo(100);
  });

  test("quantiles are named in per cent", () => {
    expect([0.5, 0.99, 0.999, 0.999999].map(quantileName)).toEqual([
      "50\u00a0%",
      "99\u00a0%",
      "99.9\u00a0%",
      "99.9999\u00a0%",
    ]);
  });

  test("a place leads back to its quantile", () => {
    const { x, at } = quantileScale(0.9999, ticks);
    for (const q of [0, 0.5, 0.99, 0.9999]) expect(at(x(q))).toBeCloseTo(q, 8);
  });

  test("a short stretch has ticks", () => {
    expect(quantileTicks(0.4, 0.9999, ticks)).toEqual([0.5, 0.9, 0.99, 0.999, 0.9999]);
    expect(quantileTicks(0.985, 0.9992, ticks)).toEqual([0.99, 0.999]);
    expect(quantileTicks(0.94, 0.985, ticks)).toEqual([0.95, 0.98]);
    expect(quantileTicks(0.9911, 0.9923, ticks).length).toBeGreaterThan(1);
  });

  test("a quantile of 1 stays on the axis", () => expect(quantileScale(1, ticks).x(1)).toBe(100));
});

describe("the latency axis", () => {
  test("grows upwards and contains every value", () => {
    const { y, ticks } = latencyScale([0.2, 35], 300);
    expect(y(35)).toBeLessThan(y(0.2));
    expect(y(35)).toBeGreaterThan(0);
    expect(y(0.2)).toBeLessThan(300);
    expect(ticks).toEqual([0.2, 0.5, 1, 2, 5, 10, 20]);
  });

  test("one value, none, or many decades make an axis", () => {
    expect(latencyScale([4], 300).ticks.length).toBeGreaterThan(0);
    expect(latencyScale([], 300).ticks.length).toBeGreaterThan(0);
    expect(logTicks(1e-6, 1e9).length).toBeLessThanOrEqual(9);
  });
});

describe("the visible part", () => {
  test("of a line: its points, and the next on each side", () => {
    const place = (x: number) => x;
    expect(seen([-30, -10, 20, 50, 130, 170], place)).toEqual([-10, 20, 50, 130]);
    expect(seen([-30, 130], place)).toEqual([-30, 130]);
    expect(seen([0, 100], place)).toEqual([0, 100]);
    expect([seen([120, 130], place), seen([-5, -1], place), seen([], place)]).toEqual([[], [], []]);
  });

  test("a line ends at its last point, or at the edge", () => {
    expect(
      ending([
        [0, 10],
        [80, 20],
      ]),
    ).toEqual([80, 20]);
    expect(
      ending([
        [60, 10],
        [140, 30],
      ]),
    ).toEqual([100, 20]);
  });

  test("of a span: the part within the width", () => {
    expect([shownOf(-20, 30), shownOf(40, 140), shownOf(-1, 101), shownOf(10, 20)]).toEqual([
      [0, 30],
      [40, 100],
      [0, 100],
      [10, 20],
    ]);
    expect([shownOf(-20, -10), shownOf(101, 120), shownOf(Number.NaN, 5)]).toEqual([
      null,
      null,
      null,
    ]);
  });
});

describe("labels", () => {
  test("are pushed apart in their order", () => {
    const placed = spread([100, 99, 300, 101], 16, 300);
    const [a, b, c, d] = placed as [number, number, number, number];
    expect(b).toBe(99);
    expect(a - b).toBeGreaterThanOrEqual(16);
    expect(d - a).toBeGreaterThanOrEqual(16);
    expect(c).toBe(300);
  });

  test("share the height if there are too many", () => {
    const placed = spread(
      Array.from({ length: 50 }, () => 10),
      16,
      100,
    );
    expect(Math.min(...placed)).toBeGreaterThanOrEqual(-1e-9);
    expect(Math.max(...placed)).toBeLessThanOrEqual(100 + 1e-9);
  });
});

test("trials with different instants get a common axis", () => {
  const aligned = align([
    { t_s: [0.1, 0.2], values: [1, 2] },
    { t_s: [0.101, 0.21], values: [3, null] },
  ]);
  expect(aligned).toEqual([
    [0.1, 0.2, 0.21],
    [1, 2, null],
    [3, null, null],
  ]);
});
