/** Numbers and texts for readers. */
import { describe, expect, test } from "vitest";
import {
  bytes,
  confidence,
  count,
  duration,
  interval,
  percent,
  probability,
  short,
  sig,
  startUp,
  tick,
  unbroken,
  webAddress,
  withUnit,
} from "../../src/format";

test("a contender that was already running has no start-up time", () => {
  expect(startUp({ ready_ms: { median: 1500, min: 20, max: 3000 } })).toBe(
    "1.50\u00a0s (20\u00a0ms to 3\u00a0s)",
  );
  expect(startUp({ ready_ms: null })).toBe("never ready");
  expect(startUp({ ready_ms: null, reached: true })).toBe("unknown: it was already running");
});

describe("numbers", () => {
  test.each([
    [0, "0"],
    [7, "7"],
    [46, "46"],
    [2.7, "2.70"],
    [0.12345, "0.123"],
    [99.96, "100"],
    [999.6, "1\u202f000"],
    [1000, "1\u202f000"],
    [12_345, "12\u202f300"],
    [1_234_567, "1\u202f230\u202f000"],
    [-3.21459, "\u22123.21"],
    [1.5e-7, "1.50e\u22127"],
    [1e300, "1.00e300"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("three significant digits of %s", (x, text) => expect(sig(x)).toBe(text));

  test.each([
    [0.1, "0.1"],
    [0.30000000000000004, "0.3"],
    [7.5, "7.5"],
    [1000, "1\u202f000"],
  ])("a tick is short: %s", (x, text) => expect(tick(x)).toBe(text));

  test("a count keeps every digit", () => {
    expect(count(80_123)).toBe("80\u202f123");
    expect(count(999)).toBe("999");
    expect(count(null)).toBe("–");
  });

  test("units follow the number on its line", () => {
    expect(withUnit(1.5, "ms")).toBe("1.50\u00a0ms");
    expect(withUnit(null, "ms")).toBe("–");
    expect(duration(18)).toBe("18\u00a0ms");
    expect(duration(5850)).toBe("5.85\u00a0s");
    expect(bytes(0)).toBe("0\u00a0B");
    expect(bytes(999)).toBe("999\u00a0B");
    expect(bytes(11_602_944)).toBe("11.6\u00a0MB");
    expect(percent(0.05)).toBe("5\u00a0%");
    expect(interval(0.31, 0.29, 0.33)).toBe("0.310 (0.290 to 0.330)");
    expect(interval(null, 1, 2)).toBe("–");
  });
});

test("a number stays on the line of its unit", () => {
  expect(unbroken("31 % of 5 ms (29.4 % to 32.8 %), 12 of 19 settle it")).toBe(
    "31\u00a0% of 5\u00a0ms (29.4\u00a0% to 32.8\u00a0%), 12 of 19 settle it",
  );
});

test("a long name is cut between characters", () => {
  expect(short("nginx")).toBe("nginx");
  expect(short("🦀".repeat(30), 4)).toBe("🦀🦀🦀…");
});

test("only web addresses become links", () => {
  expect(webAddress("https://example.org/a")).toBe("https://example.org/a");
  for (const bad of [
    "javascript:alert(1)",
    " https://x",
    "data:text/html,x",
    "file:///etc/passwd",
    null,
  ])
    expect(webAddress(bad)).toBeNull();
});

test.each([
  [0.95, "95\u00a0%"],
  [0.975, "97.5\u00a0%"],
  [0.99866, "99.87\u00a0%"],
  [0.999987, "99.9987\u00a0%"],
  [1, "100\u00a0%"],
  [Number.NaN, "–"],
])("a confidence differs from 100 %%: %s", (x, text) => expect(confidence(x)).toBe(text));

test("a p-value has two digits and an end", () => {
  expect([0.03125, 0.0004883, 1, 3e-7, null].map(probability)).toEqual([
    "0.031",
    "0.00049",
    "1",
    "< 0.0001",
    "–",
  ]);
});
