/** Opens reports and pages in Chromium and collects complaints. Start with `Browser`. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { type BrowserContext, chromium, type Page as Tab } from "playwright-core";
import { expect, inject, test } from "vitest";
import type { Page } from "../../src/page";
import { filled } from "../fixture";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const found = existsSync(executablePath);
const built = join(inject("page"), "index.html");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** the folder for screenshots, if they are wanted */
export const pictures = process.env.PICTURES;

if (!found && process.env.CI)
  test("Chromium is there", () => expect.fail(`no Chromium at ${executablePath}; set CHROMIUM`));
if (!found && !process.env.CI)
  console.warn(
    `SKIPPED: no browser at ${executablePath}, so the report was not opened in one. Set CHROMIUM.`,
  );

const root = join(import.meta.dirname, "../../..");
/** the built command, if there is one */
export const command = [
  process.env.FACEOFF,
  join(root, "target/release/faceoff"),
  join(root, "target/debug/faceoff"),
].find((path) => path && existsSync(path));

if (found && !command && process.env.CI)
  test("the command is there", () => expect.fail("build target/release/faceoff, or set FACEOFF"));
if (found && !command && !process.env.CI)
  console.warn(
    "SKIPPED: no target/release/faceoff, so no real record was opened. Run make build, or set FACEOFF.",
  );

/** The `record.jsonl` of a run on a virtual machine with two CPUs. */
export const realRecord = () =>
  brotliDecompressSync(
    readFileSync(join(import.meta.dirname, "../records/known-differences.jsonl.br")),
  );

export interface Opened {
  tab: Tab;
  /** console messages, exceptions, network requests and dialogs */
  complaints: string[];
}

/** Chromium, with a folder of files that it opens. */
export class Browser {
  private folder = "";
  private context: BrowserContext | null = null;

  async start() {
    this.folder = mkdtempSync(join(tmpdir(), "page-"));
    this.context = await chromium.launchPersistentContext(join(this.folder, "user"), {
      executablePath,
      headless: true,
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
  }

  async stop() {
    await this.context?.close();
    if (this.folder) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The size of a report in bytes. */
  size(page: Page): number {
    return Buffer.byteLength(filled(readFileSync(built, "utf8"), page));
  }

  /** Opens a report: of a record, without one, or of a given HTML. */
  async open(
    page: Page | string | null,
    width = 1280,
    colorScheme: "light" | "dark" = "light",
    hash = "",
    unfold = true,
  ): Promise<Opened> {
    const html = readFileSync(built, "utf8");
    const file = join(this.folder, "page.html");
    writeFileSync(file, typeof page === "string" ? page : page ? filled(html, page) : html);
    const url = pathToFileURL(file).href;
    const mayAsk = (asked: string) => asked.split("#")[0] === url;
    const opened = await this.arrive(url + hash, mayAsk, width, colorScheme);
    if (unfold) {
      await opened.tab.$$eval("details.fold", (all) => {
        for (const fold of all) (fold as HTMLDetailsElement).open = true;
      });
      await settled(opened.tab);
    }
    return opened;
  }

  /** Opens a page of a site, which may load from its own address. */
  async visit(url: string, width = 1280, colorScheme: "light" | "dark" = "light"): Promise<Opened> {
    const { origin } = new URL(url);
    return this.arrive(url, (asked) => new URL(asked).origin === origin, width, colorScheme);
  }

  private async arrive(
    url: string,
    mayAsk: (url: string) => boolean,
    width: number,
    colorScheme: "light" | "dark",
  ): Promise<Opened> {
    const tab = await this.context!.newPage();
    const complaints: string[] = [];
    tab.on("console", (m) => complaints.push(`${m.type()}: ${m.text()}`));
    tab.on("pageerror", (e) => complaints.push(`thrown: ${e.message}`));
    tab.on("dialog", (d) => {
      complaints.push(`dialog: ${d.message()}`);
      void d.dismiss();
    });
    tab.on("request", (r) => !mayAsk(r.url()) && complaints.push(`request: ${r.url()}`));
    await tab.setViewportSize({ width, height: 900 });
    await tab.emulateMedia({ colorScheme });
    await tab.goto(url);
    await tab.waitForSelector("main");
    await settled(tab);
    return { tab, complaints };
  }

  /** Opens an SVG by itself. */
  async picture(
    svg: string,
  ): Promise<{ root: string; errors: number; texts: number; shapes: number }> {
    const file = join(this.folder, "picture.svg");
    writeFileSync(file, svg);
    const tab = await this.context!.newPage();
    await tab.goto(pathToFileURL(file).href);
    const shown = await tab.evaluate(() => {
      const drawn = [...document.querySelectorAll("path, rect, line, circle")].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.width + box.height > 0;
      });
      const root = document.documentElement.nodeName;
      return {
        root,
        errors: document.querySelectorAll("parsererror").length,
        texts: document.querySelectorAll("text").length,
        shapes: drawn.length,
      };
    });
    await tab.close();
    return shown;
  }
}

/** waits for two frames, after which observers and canvases are up to date */
export const settled = (tab: Tab) =>
  tab.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );

export const overflow = (tab: Tab) =>
  tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** The number of colours of each canvas. */
export const inked = (tab: Tab) =>
  tab.$$eval("canvas", (all) =>
    all.map((c) => {
      const { data } = c.getContext("2d")!.getImageData(0, 0, c.width, c.height);
      const colours = new Set<number>();
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3]! > 200) colours.add((data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!);
      return colours.size;
    }),
  );

/** The violations of WCAG 2.1 AA and of good practice that axe finds. */
export async function violations(tab: Tab): Promise<string[]> {
  await tab.evaluate(axe);
  return tab.evaluate(async () => {
    const { violations } = await (
      globalThis as unknown as { axe: typeof import("axe-core") }
    ).axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations.map(
      (v) =>
        `${v.id}: ${v.nodes
          .slice(0, 3)
          .map((n) => n.html.slice(0, 120))
          .join(" | ")}`,
    );
  });
}
