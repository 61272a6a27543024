// @vitest-environment node
/** The report of a real record in a browser. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Browser,
  command,
  found,
  inked,
  overflow,
  pictures,
  realRecord,
  settled,
  violations,
} from "./browser";

/** The record of a run on a virtual machine, judged and shown by the built command. */
describe.skipIf(!found || !command)("the report of a real record", () => {
  const browser = new Browser();
  let html = "";

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "record-"));
    try {
      mkdirSync(join(folder, "r"));
      writeFileSync(join(folder, "r/record.jsonl"), realRecord());
      execFileSync(command!, ["report", join(folder, "r")], { stdio: "pipe" });
      html = readFileSync(join(folder, "r/page.html"), "utf8");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    await browser.start();
  });
  afterAll(() => browser.stop());

  for (const [scheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
  ] as const)
    test(`draws every chart with data and without complaints, ${scheme}, ${width} px wide`, async () => {
      const { tab, complaints } = await browser.open(html, width, scheme, "#trial-1-1");
      expect(await overflow(tab)).toBe(0);
      const text = (await tab.textContent("main"))!;
      expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
      expect(await tab.textContent(".sentence")).toMatch(/control:cpu-210us/);
      expect(await tab.$$("#answer svg.interval .whisker")).not.toHaveLength(0);
      expect(await tab.$$("#believe .grounds > li")).toHaveLength(6);
      expect(
        await tab.$$eval(
          "#latency path.curve",
          (all) => all.every((p) => (p.getAttribute("d") ?? "").length > 20) && all.length,
        ),
      ).toBe(5);
      expect(await tab.$$eval("#time .heat path", (all) => all.length)).toBeGreaterThan(0);
      expect(await tab.$$("#warmup .strip-of-starts .mark")).toHaveLength(
        await tab.$$eval(".strip a.who", (all) => all.length),
      );
      expect(await tab.$$(".one-trial .phase.cell")).toHaveLength(2);
      expect(Math.min(...(await inked(tab)))).toBeGreaterThan(3);
      expect(await violations(tab)).toEqual([]);
      expect(complaints).toEqual([]);
      await tab.close();
    });

  test("answer and absolute values are visible at once", async () => {
    const { tab } = await browser.open(html, 1280, "light", "", false);
    const below = await tab.$eval("table.absolute", (e) => e.getBoundingClientRect().bottom);
    expect(below + (await tab.evaluate(() => scrollY))).toBeLessThan(800);
    // Four contenders in two cells: the demo, of two in one cell, is 4,600 px high.
    expect(await tab.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(8000);
    await tab.close();
  });

  test("a link to a folded section opens it", async () => {
    const { tab } = await browser.open(html, 1280, "light", "", false);
    expect(await tab.$eval("#trials > details", (e) => (e as HTMLDetailsElement).open)).toBe(false);
    await tab.click('nav a[href="#trials"]');
    await tab.waitForSelector("#trials > details[open]");
    await tab.close();
  });

  test("every chart's table opens and has rows", async () => {
    const { tab, complaints } = await browser.open(html);
    for (const summary of await tab.$$("details.data > summary")) await summary.click();
    await settled(tab);
    const rows = await tab.$$eval("details.data", (all) =>
      all.map((d) => d.querySelectorAll("tbody tr").length),
    );
    expect(Math.min(...rows)).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("is small", () => expect(Buffer.byteLength(html)).toBeLessThan(3_000_000));

  test.skipIf(!pictures)("screenshots for docs/guide/report.md are taken", async () => {
    const kept = { type: "jpeg", quality: 60 } as const;
    for (const [name, scheme, width, height] of [
      ["light", "light", 1200, 1500],
      ["phone", "light", 390, 1100],
    ] as const) {
      const { tab } = await browser.open(html, width, scheme);
      await tab.setViewportSize({ width, height });
      await settled(tab);
      await tab.screenshot({ ...kept, path: join(pictures!, `page-${name}.jpg`) });
      await tab.close();
    }
    const { tab } = await browser.open(html, 1200, "dark");
    await tab.locator("#time").scrollIntoViewIfNeeded();
    await tab
      .locator("#time .charts")
      .screenshot({ ...kept, path: join(pictures!, "page-dark.jpg") });
    await tab.emulateMedia({ media: "print" });
    await tab.setViewportSize({ width: 794, height: 1123 }); // A4 at 96 dots per inch
    await settled(tab);
    await tab.evaluate(() => scrollTo(0, 0));
    await tab.screenshot({ ...kept, path: join(pictures!, "page-print.jpg") });
    await tab.close();
  });
});
