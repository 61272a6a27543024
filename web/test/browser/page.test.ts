// @vitest-environment node
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type BrowserContext, type Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "../../src/page";
import { bare, filled, hostile, realistic } from "../fixture";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const found = existsSync(executablePath);
const built = join(import.meta.dirname, "../../dist/index.html");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** where to leave pictures to look at, if anywhere */
const pictures = process.env.PICTURES;

if (!found && process.env.CI) test("Chromium is there", () => expect.fail(`no Chromium at ${executablePath}; set CHROMIUM`));
if (!found && !process.env.CI) console.warn(`SKIPPED: the page was not opened in a browser, for there is none at ${executablePath}. Set CHROMIUM.`);

describe.skipIf(!found)("the built page, opened from a file", () => {
  let folder: string;
  let context: BrowserContext;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "page-"));
    context = await chromium.launchPersistentContext(join(folder, "user"), {
      executablePath,
      headless: true,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
  });
  afterAll(async () => {
    await context?.close();
    if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  interface Opened {
    tab: Tab;
    /** what the console said, what was thrown, what was asked of the network, which dialogs opened */
    complaints: string[];
  }

  async function open(page: Page | null, width = 1280, colorScheme: "light" | "dark" = "light"): Promise<Opened> {
    const html = readFileSync(built, "utf8");
    const file = join(folder, "page.html");
    writeFileSync(file, page ? filled(html, page) : html);
    const tab = await context.newPage();
    const complaints: string[] = [];
    tab.on("console", (m) => complaints.push(`${m.type()}: ${m.text()}`));
    tab.on("pageerror", (e) => complaints.push(`thrown: ${e.message}`));
    tab.on("dialog", (d) => (complaints.push(`dialog: ${d.message()}`), void d.dismiss()));
    const url = pathToFileURL(file).href;
    tab.on("request", (r) => r.url() !== url && complaints.push(`request: ${r.url()}`));
    await tab.setViewportSize({ width, height: 900 });
    await tab.emulateMedia({ colorScheme });
    await tab.goto(url);
    await tab.waitForSelector("main");
    await settled(tab);
    return { tab, complaints };
  }

  /** two frames: the resize observers and the canvases have had their turn */
  const settled = (tab: Tab) => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

  async function picture(tab: Tab, name: string) {
    if (pictures) await tab.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  }

  const overflow = (tab: Tab) => tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

  for (const [scheme, width] of [["light", 1400], ["dark", 1400], ["light", 400], ["light", 360], ["dark", 360]] as const)
    test(`a whole record, ${scheme}, ${width} px wide`, async () => {
      const { tab, complaints } = await open(realistic(), width, scheme);
      expect(await overflow(tab)).toBe(0);

      const strips = await tab.$$eval("svg.interval", (all) => all.map((svg) => svg.querySelectorAll(".whisker line, .glyph").length));
      expect(strips.length).toBeGreaterThan(30);
      expect(strips.every((marks) => marks === 2)).toBe(true);

      const curves = await tab.$$eval("#latency path.curve", (all) => all.map((p) => p.getBoundingClientRect().width));
      expect(curves).toHaveLength(6);
      expect(Math.min(...curves)).toBeGreaterThan(100);
      const courses = await tab.$$eval("svg.course", (all) => all.map((svg) => svg.getBoundingClientRect().width));
      expect(courses).toHaveLength(72);
      expect(Math.min(...courses)).toBeGreaterThan(75);

      const inked = await tab.$$eval("canvas", (all) =>
        all.map((c) => {
          const { data } = c.getContext("2d")!.getImageData(0, 0, c.width, c.height);
          const colours = new Set<number>();
          for (let i = 0; i < data.length; i += 4) if (data[i + 3]! > 200) colours.add((data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!);
          return colours.size;
        }),
      );
      expect(inked).toHaveLength(6);
      expect(Math.min(...inked)).toBeGreaterThan(5);

      const unnamed = await tab.$$eval('figure, svg[role="img"], [role="img"], [role="region"]', (all) =>
        all.filter((e) => !e.getAttribute("aria-label") && !e.querySelector("figcaption, [aria-label]")).map((e) => e.outerHTML.slice(0, 80)),
      );
      expect(unnamed).toEqual([]);

      await tab.evaluate(axe);
      const violations = await tab.evaluate(async () => {
        const { violations } = await (globalThis as unknown as { axe: typeof import("axe-core") }).axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
        return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")}`);
      });
      expect(violations).toEqual([]);
      expect(complaints).toEqual([]);
      await picture(tab, `whole-${scheme}-${width}`);
      await tab.close();
    });

  test("every chart's table opens, and holds rows", async () => {
    const { tab, complaints } = await open(realistic(), 360);
    for (const summary of await tab.$$("details.data > summary")) await summary.click();
    await settled(tab);
    const rows = await tab.$$eval("details.data", (all) => all.map((d) => d.querySelectorAll("tbody tr").length));
    expect(rows.length).toBeGreaterThanOrEqual(11);
    expect(Math.min(...rows)).toBeGreaterThan(0);
    expect(await overflow(tab)).toBe(0);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("a cell is chosen by keyboard, for every section at once", async () => {
    const { tab, complaints } = await open(realistic());
    await tab.focus("#verdicts input[type=radio]:checked");
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowRight");
    await settled(tab);
    const chosen = await tab.$$eval(".cell-picker input:checked", (all) => all.map((i) => (i as HTMLInputElement).value));
    expect(chosen).toEqual(["closed-64", "closed-64", "closed-64"]);
    expect(await tab.textContent("#latency h2")).toBe("Service time by quantile");
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the button changes the colours, of the canvases too; paper is light", async () => {
    const { tab, complaints } = await open(realistic());
    const state = () =>
      tab.evaluate(() => {
        const canvas = document.querySelector("canvas")!;
        // read from a copy: Chromium warns of a canvas that is read more than once
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d")!;
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        // the first 40 pixels hold the text of the axis and nothing else
        let darkest = 765;
        let lightest = 0;
        for (let y = 0; y < canvas.height; y++)
          for (let x = 0; x < 40 * devicePixelRatio; x++) {
            const i = 4 * (y * canvas.width + x);
            if (data[i + 3]! < 230) continue;
            const sum = data[i]! + data[i + 1]! + data[i + 2]!;
            darkest = Math.min(darkest, sum);
            lightest = Math.max(lightest, sum);
          }
        return { paper: getComputedStyle(document.documentElement).backgroundColor, ink: (darkest + lightest) / 2 < 383 ? "dark" : "light" };
      });
    const light = await state();
    await tab.click("header button");
    await settled(tab);
    const dark = await state();
    expect(dark.paper).not.toBe(light.paper);
    expect([light.ink, dark.ink]).toEqual(["dark", "light"]);
    await tab.emulateMedia({ media: "print" });
    await settled(tab);
    expect((await state()).ink).toBe("dark");
    await tab.setViewportSize({ width: 1040, height: 720 }); // A4 on its side, within the usual margins
    await settled(tab);
    expect(await overflow(tab)).toBe(0);
    if (pictures) await tab.pdf({ path: join(pictures, "whole.pdf"), format: "A4", printBackground: true });
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the trial under the pointer is named, in all six charts", async () => {
    const { tab, complaints } = await open(realistic());
    await tab.check('#time .picks input[value="nginx"]', { force: true });
    await settled(tab);
    const over = (await tab.$(".charts .u-over"))!;
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    for (let y = 4; y < box.height; y += 6) {
      await tab.mouse.move(box.x + box.width / 2, box.y + y);
      await settled(tab);
      if (await tab.textContent(".readout")) break;
    }
    const said = await tab.$$eval(".readout", (all) => all.map((e) => e.textContent));
    expect(said).toHaveLength(6);
    for (const text of said) expect(text).toMatch(/^nginx, block \d+.*, \d+\.\d s: /);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  for (const [name, make] of [["hostile", hostile], ["bare", bare]] as const)
    for (const width of [1280, 360])
      test(`a ${name} record runs nothing, breaks nothing, ${width} px wide`, async () => {
        const { tab, complaints } = await open(make(), width);
        await tab.$$eval("details.data > summary, .legend button", (all) => all.forEach((e) => (e as HTMLElement).click()));
        await settled(tab);
        expect(await overflow(tab)).toBe(0);
        expect(await tab.$$("img, iframe, object, [onerror], [onload], a[href^=javascript]")).toHaveLength(0);
        expect(await tab.$$eval("script", (all) => all.length)).toBe(2);
        expect(complaints).toEqual([]);
        await picture(tab, `${name}-${width}`);
        await tab.close();
      });

  test("without a record it says so", async () => {
    const { tab, complaints } = await open(null);
    expect(await tab.textContent("main")).toContain("holds no record");
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the policy stops a script that found its way in", async () => {
    const { tab, complaints } = await open(realistic());
    const ran = await tab.evaluate(() => {
      const script = document.createElement("script");
      document.body.append(script);
      try {
        script.text = "globalThis.ran = true";
      } catch {
        // trusted types refuse even the text
      }
      return fetch("https://example.org/").then(() => true, () => "ran" in globalThis);
    });
    expect(ran).toBe(false);
    expect(complaints.some((c) => c.includes("Content Security Policy"))).toBe(true);
    await tab.close();
  });
});
