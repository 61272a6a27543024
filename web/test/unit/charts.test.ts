/** Calculations of charts, and copied tables. */
import { describe, expect, test } from "vitest";
import { stepOf, steps } from "../../src/charts/heat";
import { quantileScale } from "../../src/charts/scales";
import { next } from "../../src/charts/series";
import { asCsv } from "../../src/csv";
import ticks from "../generated/ticks.json";

describe("a heat map's steps", () => {
  test("are even on a log scale, with one for every value", () => {
    const limits = steps([1, 128, null, 8])!;
    expect(limits).toHaveLength(8);
    for (const [i, limit] of limits.entries()) expect(limit).toBeCloseTo(2 ** i);
    expect([1, 1.9, 2.1, 8.1, 127, 128].map((v) => stepOf(v, limits))).toEqual([0, 0, 1, 3, 6, 6]);
  });

  test("of one value are distinct, and of none there are none", () => {
    const limits = steps([5, 5])!;
    expect(limits.at(-1)! / limits[0]!).toBeCloseTo(1.5);
    expect([null, 0, -1, Number.NaN, 1e301].map((v) => steps([v]))).toEqual([
      null,
      null,
      null,
      null,
      null,
    ]);
    expect(steps([1e-299, 1e299])!.every(Number.isFinite)).toBe(true);
  });
});

test("the axis of quantiles may begin at a tail", () => {
  const { x, ticks: drawn } = quantileScale(0.9999, ticks, 0.99);
  expect(drawn).toEqual([0.99, 0.999, 0.9999]);
  expect([0.99, 0.999, 0.9999, 0.5].map((q) => Math.round(x(q)))).toEqual([0, 50, 100, 0]);
  expect(quantileScale(0.9, ticks, 0.99).x(0.995)).toBeGreaterThan(0);
});

test("keys skip instants of other trials", () => {
  const values = [null, 3, null, undefined, 5];
  expect([
    next(values, -1, 1),
    next(values, 1, 1),
    next(values, 4, 1),
    next(values, 5, -1),
    next(values, 1, -1),
  ]).toEqual([1, 4, 4, 4, 1]);
});

describe("a copied table", () => {
  test("has all digits, and empty fields for missing values", () => {
    expect(
      asCsv(
        ["a", "b, c"],
        [
          ["x", 1 / 3],
          [null, undefined],
          ["–", Number.NaN],
        ],
      ),
    ).toBe('a,"b, c"\r\nx,0.3333333333333333\r\n,\r\n,\r\n');
  });

  test("has no typographic spaces, and quotes its quotes", () => {
    expect(asCsv(["n"], [["12\u202f300"], ["5\u00a0ms"], ["\u22123"], ['say "no"']])).toBe(
      'n\r\n12300\r\n5 ms\r\n-3\r\n"say ""no"""\r\n',
    );
  });

  test("has no name that a spreadsheet reads as a formula", () => {
    expect(asCsv(["n"], [["=1+1"], ["@x"], ["+x"], ["-x"], ["-3"]])).toBe(
      "n\r\n'=1+1\r\n'@x\r\n'+x\r\n'-x\r\n-3\r\n",
    );
  });
});
