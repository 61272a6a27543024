// @vitest-environment node
/** The pages of `faceoff serve` in a browser. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Browser, command, found, overflow, pictures, realRecord, violations } from "./browser";

const hostile = `"><img src=x onerror=alert(1)><script>alert(2)<\u2215script>`;

/**
 * The records of a folder as `faceoff serve` shows them: fourteen days, one under way, and one that
 * is hostile.
 */
describe.skipIf(!found || !command)("the site of records", () => {
  const browser = new Browser();
  let folder = "";
  let url = "";
  let site: ChildProcess | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "site-"));
    const records = join(folder, "records");
    const lines = realRecord().toString().trimEnd().split("\n");
    const put = (id: string, file: string, text: string) => {
      mkdirSync(join(records, id), { recursive: true });
      writeFileSync(join(records, id, file), text);
    };
    put("day", "record.jsonl", `${lines.join("\n")}\n`);
    const judged = execFileSync(command!, ["judge", join(records, "day"), "--format", "json"], {
      maxBuffer: 1 << 28,
    }).toString();
    rmSync(join(records, "day"), { recursive: true });
    for (let day = 1; day <= 14; day++) {
      const id = `day-${String(day).padStart(2, "0")}`;
      const header = JSON.parse(lines[0]!);
      header.header.recorded_at = `2026-03-${String(day).padStart(2, "0")}T06:00:00Z`;
      put(id, "record.jsonl", `${[JSON.stringify(header), ...lines.slice(1)].join("\n")}\n`);
      const judgement = JSON.parse(judged);
      // from the ninth day on one metric is a fifth worse
      for (const v of judgement.verdicts)
        if (v.metric === "cpu_per_request" && day > 8 && v.ratio) {
          v.ratio *= 1.2;
          v.value *= 1.2;
          v.interval = { low: v.interval.low * 1.2, high: v.interval.high * 1.2 };
        }
      put(id, "judgement.json", JSON.stringify(judgement));
    }
    const renamed = (name: string, question: string) => {
      const header = JSON.parse(lines[0]!);
      Object.assign(header.header.experiment, { name, question });
      return JSON.stringify(header);
    };
    put(
      hostile,
      "record.jsonl",
      `${[renamed("hostile", hostile), ...lines.slice(1)].join("\n")}\n`,
    );
    // without its last trial, and just written: a run under way, in which this process measures
    // that trial
    const at = lines.findLastIndex((line) => line.startsWith('{"trial"'));
    put(
      "going-on",
      "record.jsonl",
      `${[renamed("going-on", "Does it go on?"), ...lines.slice(1, at)].join("\n")}\n`,
    );
    const { contender, block, measurements } = JSON.parse(lines[at]!).trial;
    const { cell, seconds } = measurements[0];
    const stat = readFileSync("/proc/self/stat", "utf8");
    const began_ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    const run = JSON.parse(lines[0]!).header.id;
    const status = {
      schema: "faceoff.run-status.v1",
      run,
      process: { id: process.pid, began_ticks },
      contender,
      block,
      doing: cell,
      cell,
      left_out: 0,
      seconds,
    };
    put("going-on", "run-status.json", JSON.stringify(status));
    site = spawn(command!, ["serve", "records", "--listen", "127.0.0.1:0"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
    url = await new Promise<string>((found, failed) => {
      site!.stdout!.once("data", (line: Buffer) => found(line.toString().trim()));
      site!.once("exit", () => failed(new Error("faceoff serve ended")));
    });
    await browser.start();
  });
  afterAll(async () => {
    await browser.stop();
    site?.kill();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const pages = [
    ["list", "", /16 records/],
    ["search", "?q=day-0", /9 of 16 records/],
    ["side-by-side", "compare?a=day-01&b=day-14", /another outcome|the intervals are apart/],
    ["over-time", "experiments/known-differences", /changed against the baseline with day-09/],
    ["live", "records/going-on/live?still=1", /The trial under way: [\s\S]*Verdicts so far/],
    ["hostile", `records/${encodeURIComponent(hostile)}/live?still=1`, /onerror=alert/],
  ] as const;
  for (const [scheme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
  ] as const)
    for (const [name, path, holds] of pages)
      test(`${name} is shown without complaints, ${scheme}, ${width} px wide`, async () => {
        const { tab, complaints } = await browser.visit(url + path, width, scheme);
        const text = (await tab.textContent("main"))!;
        expect(text).toMatch(holds);
        expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
        expect(await tab.$$("script, img")).toHaveLength(0);
        expect(await overflow(tab)).toBe(0);
        expect(await violations(tab)).toEqual([]);
        expect(complaints).toEqual([]);
        // those without more in their names are in docs/guide/serve.md
        const kept =
          scheme === "light" && width === 1280
            ? `serve-${name}.jpg`
            : `serve-${name}-${scheme}-${width}.jpg`;
        if (pictures)
          await tab.screenshot({ type: "jpeg", quality: 60, path: join(pictures, kept) });
        await tab.close();
      });

  test("every interval and every curve is drawn", async () => {
    const live = await browser.visit(`${url}records/going-on/live?still=1`);
    expect(await live.tab.$$("td svg.drawn rect")).not.toHaveLength(0);
    // a rate and a latency chart, now and in each of two cells: four lines of one second each,
    // and so with one mark each; the key has as many
    const marks = await live.tab.$$("figure svg.drawn path[transform]");
    expect(marks).toHaveLength(2 * 12);
    for (const mark of marks) expect((await mark.boundingBox())!.width).toBeGreaterThan(3);
    await live.tab.close();
    const time = await browser.visit(`${url}experiments/known-differences`);
    expect(await time.tab.$$("svg.drawn a path")).toHaveLength(14);
    expect(
      await time.tab.$$eval(
        "svg.drawn text",
        (all) => all.filter((text) => text.textContent === "changed").length,
      ),
    ).toBe(1);
    await time.tab.close();
  });

  test("two marked records are compared, and a report obeys its policy", async () => {
    const { tab, complaints } = await browser.visit(`${url}?q=day`);
    await tab.check("input[name=a][value=day-03]");
    await tab.check("input[name=b][value=day-12]");
    await tab.click("text=Compare the two");
    expect(await tab.textContent("h1")).toBe("day-03 and day-12");
    await tab.click(`a:text-is("day-12")`);
    await tab.waitForSelector(".sentence");
    expect(await tab.textContent(".sentence")).toMatch(/control:cpu-210us/);
    expect(complaints).toEqual([]);
    await tab.close();
  });
});
