/** Colours: contrast, and differences under colour blindness. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const css = readFileSync(join(import.meta.dirname, "../../src/style/base.css"), "utf8");

/** The two values of a `--name: light-dark(a, b)`. */
function pair(name: string): [light: string, dark: string] {
  const found = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css);
  if (!found) throw new Error(`no --${name} in style/base.css`);
  return [found[1]!, found[2]!];
}

type Triple = [number, number, number];
const linear = (hex: string) =>
  [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as Triple;

/** WCAG 2 contrast */
function contrast(a: string, b: string): number {
  const luminance = ([r, g, bl]: Triple) => 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  const [low, high] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => x - y) as [
    number,
    number,
  ];
  return (high + 0.05) / (low + 0.05);
}

/** Machado, Oliveira, Fernandes 2009, severity 1 */
const VISIONS: Record<string, Triple[]> = {
  common: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function oklab(hex: string, vision: Triple[]): Triple {
  const rgb = linear(hex);
  const [r, g, b] = vision.map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, c, i) => sum + c * rgb[i]!, 0),
      ),
    ),
  ) as Triple;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

const CONTENDERS = ["ink", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

describe.each([
  ["light", 0],
  ["dark", 1],
] as const)("in the %s scheme", (_, scheme) => {
  const colour = (name: string) => pair(name)[scheme];

  test.each(["ink", "muted", "link", "good", "bad", "even", "open"])(
    "text in %s is readable on both grounds",
    (name) => {
      expect(contrast(colour(name), colour("paper"))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(colour(name), colour("raised"))).toBeGreaterThanOrEqual(4.5);
    },
  );

  test.each(["ink", "muted"])("text in %s is readable on a shade", (name) =>
    expect(contrast(colour(name), colour("band"))).toBeGreaterThanOrEqual(4.5),
  );

  test.each(CONTENDERS)("a line in %s is visible", (name) =>
    expect(contrast(colour(name), colour("paper"))).toBeGreaterThanOrEqual(3),
  );

  test.each(Object.keys(VISIONS))("contenders differ with %s", (vision) => {
    const seen = CONTENDERS.map((name) => oklab(colour(name), VISIONS[vision]!));
    const distances = seen.flatMap((a, i) =>
      seen.slice(0, i).map((b) => Math.hypot(...a.map((v, k) => v - b[k]!))),
    );
    // 0.02 is about the smallest noticeable difference
    expect(Math.min(...distances)).toBeGreaterThan(0.08);
  });

  test("heat map steps get darker, and the first differs from paper", () => {
    const steps = ["paper", "h0", "h1", "h2", "h3", "h4", "h5", "h6"].map(
      (name) => oklab(colour(name), VISIONS.common!)[0],
    );
    const apart = steps.slice(1).map((l, i) => (scheme === 0 ? steps[i]! - l : l - steps[i]!));
    expect(Math.min(...apart)).toBeGreaterThan(0.04);
  });
});
