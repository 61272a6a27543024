// @vitest-environment node
/** The report of invented records in a browser: accessibility, keys, zoom, copies. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crowd, forty, realistic } from "../fixture";
import { bare, hostile } from "../hostile";
import { Browser, found, inked, overflow, pictures, settled, violations } from "./browser";

describe.skipIf(!found)("the built report, opened from a file", () => {
  const browser = new Browser();
  const open: Browser["open"] = (...what) => browser.open(...what);
  beforeAll(() => browser.start());
  afterAll(() => browser.stop());

  async function picture(tab: Awaited<ReturnType<typeof open>>["tab"], name: string) {
    if (pictures) await tab.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  }

  for (const [scheme, width] of [
    ["light", 1400],
    ["dark", 1400],
    ["light", 400],
    ["light", 360],
    ["dark", 360],
  ] as const)
    test(`a whole record, ${scheme}, ${width} px wide`, async () => {
      const { tab, complaints } = await open(realistic(), width, scheme);
      expect(await overflow(tab)).toBe(0);

      const strips = await tab.$$eval("svg.interval", (all) =>
        all.map((svg) => svg.querySelectorAll(".whisker line, .glyph").length),
      );
      expect(strips.length).toBeGreaterThan(30);
      expect(strips.every((marks) => marks === 2)).toBe(true);

      const curves = await tab.$$eval("#latency path.curve", (all) =>
        all.map((p) => p.getBoundingClientRect().width),
      );
      expect(curves).toHaveLength(6);
      expect(Math.min(...curves)).toBeGreaterThan(100);
      const courses = await tab.$$eval("svg.course", (all) =>
        all.map((svg) => svg.getBoundingClientRect().width),
      );
      expect(courses).toHaveLength(72);
      expect(Math.min(...courses)).toBeGreaterThan(75);

      const colours = await inked(tab);
      expect(colours).toHaveLength(6);
      expect(Math.min(...colours)).toBeGreaterThan(5);

      const unnamed = await tab.$$eval(
        'figure, svg[role="img"], [role="img"], [role="region"]',
        (all) =>
          all
            .filter(
              (e) => !e.getAttribute("aria-label") && !e.querySelector("figcaption, [aria-label]"),
            )
            .map((e) => e.outerHTML.slice(0, 80)),
      );
      expect(unnamed).toEqual([]);

      expect(await violations(tab)).toEqual([]);
      expect(complaints).toEqual([]);
      await picture(tab, `whole-${scheme}-${width}`);
      await tab.close();
    });

  test("every chart's table opens and has rows", async () => {
    const { tab, complaints } = await open(realistic(), 360);
    for (const summary of await tab.$$("details.data > summary")) await summary.click();
    await settled(tab);
    const rows = await tab.$$eval("details.data", (all) =>
      all.map((d) => d.querySelectorAll("tbody tr").length),
    );
    expect(rows.length).toBeGreaterThanOrEqual(11);
    expect(Math.min(...rows)).toBeGreaterThan(0);
    expect(await overflow(tab)).toBe(0);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("a cell chosen by keyboard applies to every section", async () => {
    const { tab, complaints } = await open(realistic());
    await tab.focus("#verdicts input[type=radio]:checked");
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowRight");
    await settled(tab);
    const chosen = await tab.$$eval(".cell-picker input:checked", (all) =>
      all.map((i) => (i as HTMLInputElement).value),
    );
    expect(chosen).toEqual(["closed-64", "closed-64", "closed-64", "closed-64"]);
    expect(await tab.textContent("#latency h2")).toBe("Service time by quantile");
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the button changes colours, also of canvases; paper is light", async () => {
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
        return {
          paper: getComputedStyle(document.documentElement).backgroundColor,
          ink: (darkest + lightest) / 2 < 383 ? "dark" : "light",
        };
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
    if (pictures)
      await tab.pdf({ path: join(pictures, "whole.pdf"), format: "A4", printBackground: true });
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("a function of the flame graph is enlarged by keys and by a click", async () => {
    const { tab, complaints } = await open(realistic());
    const widths = () =>
      tab.$$eval("#why .flame-block", (all) =>
        all.map((block) => block.querySelector("rect")!.getBoundingClientRect().width),
      );
    const before = await widths();
    expect(before.length).toBeGreaterThan(10);
    await tab.focus("#why .flame-box");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"])
      await tab.keyboard.press(key);
    await settled(tab);
    expect((await tab.textContent("#why .flame-told"))!).toMatch(/^serve /);
    const after = await widths();
    expect(after.length).toBeLessThan(before.length);
    expect(after.filter((width) => Math.abs(width - before[0]!) < 2)).toHaveLength(4);
    await tab.keyboard.press("Escape");
    await settled(tab);
    expect(await widths()).toEqual(before);
    await tab.click("#why .flame-block:last-of-type");
    await settled(tab);
    expect((await widths()).length).toBeLessThan(before.length);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the trial at the pointer is named in all six charts", async () => {
    const { tab, complaints } = await open(realistic());
    await tab.click("#time .legend-all button:last-child");
    await tab.click('#time .legend button:has-text("nginx")');
    await settled(tab);
    const over = (await tab.$(".charts .u-over"))!;
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    for (let y = 4; y < box.height; y += 6) {
      await tab.mouse.move(box.x + box.width / 2, box.y + y);
      await settled(tab);
      if (await tab.textContent(".readout")) break;
    }
    const readout = await tab.$$eval("#time .charts .readout", (all) =>
      all.map((e) => e.textContent),
    );
    expect(readout).toHaveLength(6);
    for (const text of readout) expect(text).toMatch(/^nginx, block \d+.*, \d+\.\d s: /);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  for (const [name, make] of [
    ["hostile", hostile],
    ["bare", bare],
  ] as const)
    for (const width of [1280, 360])
      test(`a ${name} record runs no script and breaks nothing, ${width} px wide`, async () => {
        const { tab, complaints } = await open(make(), width);
        await tab.$$eval("details.data > summary, #latency .legend button", (all) => {
          for (const e of all) (e as HTMLElement).click();
        });
        await settled(tab);
        expect(await overflow(tab)).toBe(0);
        expect(
          await tab.$$("img, iframe, object, [onerror], [onload], a[href^=javascript]"),
        ).toHaveLength(0);
        expect(await tab.$$eval("script", (all) => all.length)).toBe(2);
        expect(complaints).toEqual([]);
        await picture(tab, `${name}-${width}`);
        await tab.close();
      });

  test("keys move along a trial and zoom time in all six charts", async () => {
    const { tab, complaints } = await open(realistic());
    await tab.focus('#time [role="slider"]');
    for (let i = 0; i < 3; i++) await tab.keyboard.press("ArrowRight");
    const readout = () =>
      tab.$$eval("#time .charts .readout", (all) => all.map((e) => e.textContent ?? ""));
    const third = await readout();
    expect(third[0]).toMatch(/, block \d+.*, 3\.0 s: /);
    await tab.keyboard.press("ArrowDown");
    expect((await readout())[0]!.split(", 3.0")[0]).not.toBe(third[0]!.split(", 3.0")[0]);
    const drawn = () =>
      tab.$$eval("#time canvas", (all) => all.map((c) => (c as HTMLCanvasElement).toDataURL()));
    await tab.keyboard.press("Escape");
    await settled(tab);
    const whole = await drawn();
    await tab.keyboard.press("+");
    await settled(tab);
    expect((await drawn()).filter((picture, i) => picture !== whole[i])).toHaveLength(6);
    await tab.keyboard.press("0");
    await settled(tab);
    expect((await drawn()).filter((picture, i) => picture !== whole[i])).toHaveLength(0);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("zooming time applies to all charts and outlives hidden contenders", async () => {
    const { tab, complaints } = await open(realistic());
    const drawn = () =>
      tab.$$eval("#time canvas", (all) => all.map((c) => (c as HTMLCanvasElement).toDataURL()));
    const box = () => tab.getAttribute("#time .heat svg[role=img]", "viewBox");
    const readout = () => tab.textContent('#time .zoom [role="status"]');
    const over = tab.locator("#time .u-over").first();
    await over.scrollIntoViewIfNeeded();
    const [whole, seconds] = [await drawn(), await box()];
    const at = (await over.boundingBox())!;
    await tab.mouse.move(at.x + at.width * 0.25, at.y + 40);
    await tab.mouse.down();
    await tab.mouse.move(at.x + at.width * 0.5, at.y + 40, { steps: 5 });
    await tab.mouse.up();
    await tab.mouse.move(5, 5);
    await settled(tab);
    expect((await drawn()).filter((picture, i) => picture !== whole[i])).toHaveLength(6);
    expect(await box()).not.toBe(seconds);
    const stretch = await readout();
    expect(stretch).toMatch(/^\S+ to \S+ s$/);
    await tab.locator("#time .legend button").nth(1).click();
    await settled(tab);
    expect(await readout()).toBe(stretch);
    await tab.locator("#time .legend button").nth(1).click();
    await over.dblclick();
    await tab.mouse.move(5, 5);
    await settled(tab);
    expect(await readout()).toBe("");
    expect(await box()).toBe(seconds);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  for (const scheme of ["light", "dark"] as const)
    test(`time from the process start marks the end of warm-up, ${scheme}`, async () => {
      const { tab, complaints } = await open(realistic(), 1280, scheme);
      await tab.click('#time .choices label:has(input[value="p50_ms"])');
      await tab.click('#time .choices label:has(input[value="process"])');
      await settled(tab);
      const shades = await tab.$$eval("#time .charts [data-chart]", (all) =>
        all.map((chart) => {
          const canvas = chart.querySelector("canvas")!;
          const band = document.body.appendChild(document.createElement("i"));
          band.style.color = "var(--band)";
          const wanted = getComputedStyle(band).color.match(/\d+/g)!.map(Number);
          band.remove();
          const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
          let found = 0;
          for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255 && wanted.every((c, k) => Math.abs(data[i + k]! - c) < 2))
              found += 1;
          return found;
        }),
      );
      expect(shades).toHaveLength(6);
      expect(Math.min(...shades)).toBeGreaterThan(500);
      expect(await overflow(tab)).toBe(0);
      expect(await violations(tab)).toEqual([]);
      expect(complaints).toEqual([]);
      if (pictures)
        await tab
          .locator("#time")
          .screenshot({ path: join(pictures, `from-process-${scheme}.png`) });
      await tab.close();
    });

  test("every axis zooms by pointer, key and button, and is copied zoomed", async () => {
    const { tab, complaints } = await open(realistic(), 1280, "dark", "#trial-1-1");
    await tab.evaluate(() => {
      const copied: string[] = [];
      Object.assign(globalThis, { copied });
      navigator.clipboard.writeText = async (text) => {
        copied.push(text);
      };
    });
    for (const section of [
      "#latency",
      "#curves",
      "#capacity",
      "#symptoms article:first-child",
      ".one-trial",
    ]) {
      const svg = tab.locator(`${section} .plot > svg`).first();
      const shown = () => tab.locator(`${section} .zoom [role="status"]`).first().textContent();
      await svg.scrollIntoViewIfNeeded();
      const at = (await svg.boundingBox())!;
      await tab.mouse.move(at.x + at.width * 0.3, at.y + at.height / 2);
      await tab.mouse.down();
      await tab.mouse.move(at.x + at.width * 0.6, at.y + at.height / 2, { steps: 4 });
      await settled(tab);
      expect(await tab.$$(".drawn-up")).toHaveLength(1);
      await tab.mouse.up();
      await settled(tab);
      const drawn = await shown();
      expect(drawn).toContain(" to ");
      const beyond = await svg.evaluate((chart) => {
        const plane = chart.getBoundingClientRect();
        return [...chart.querySelectorAll(".mark, .grid, .reach, .bar")].filter((e) => {
          const box = e.getBoundingClientRect();
          return box.right < plane.left - 10 || box.left > plane.right + 10;
        }).length;
      });
      if (!section.startsWith("#symptoms")) expect(beyond).toBe(0);
      await tab.locator(`${section} .zoom button`).first().press("-");
      await settled(tab);
      expect(await shown()).not.toBe(drawn);
      await tab.locator(`${section} .zoom button`, { hasText: "Zoom in" }).first().click();
    }
    for (const section of ["#answer", "#verdicts", "#effects", "#warmup", "#decided"])
      await tab.locator(`${section} .zoom button`).first().click();
    await settled(tab);
    expect(await overflow(tab)).toBe(0);
    expect(await violations(tab)).toEqual([]);
    for (const button of await tab.locator("button", { hasText: "Copy SVG" }).all())
      await button.click();
    const copied = await tab.evaluate(() => (globalThis as unknown as { copied: string[] }).copied);
    expect(complaints).toEqual([]);
    await tab.close();
    for (const svg of copied) {
      expect(svg).not.toMatch(/NaN|undefined|Zoom in/);
      expect((await browser.picture(svg)).errors).toBe(0);
    }
  });

  test("values at the pointer are shown for every contender", async () => {
    const { tab, complaints } = await open(realistic());
    for (const section of ["#latency", "#curves"]) {
      const plot = tab.locator(`${section} .plot svg`).first();
      await plot.scrollIntoViewIfNeeded();
      await plot.hover({ position: { x: 300, y: 100 } });
      await settled(tab);
      const readout = await tab.textContent(`${section} .values`);
      for (const name of ["proxy-spring-mvc", "nginx", "haproxy"]) expect(readout).toContain(name);
    }
    const heat = tab.locator("#time .heat-row svg[role=img]").first();
    await heat.scrollIntoViewIfNeeded();
    await heat.hover({ position: { x: 300, y: 20 } });
    expect(await tab.textContent("#time .heat .readout")).toMatch(/block \d+.*, \d+ s: /);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("one trial opens by a link and is accessible", async () => {
    const { tab, complaints } = await open(realistic(), 1280, "light", "#trial-3-2");
    expect(await tab.textContent(".one-trial h3")).toContain("block 3, place 2");
    await tab.locator(".strip a.who").nth(20).click();
    await tab.waitForFunction(() => document.activeElement?.id === "one-trial-title");
    expect(await tab.$$(".one-trial")).toHaveLength(1);
    expect(
      await tab.$$eval(
        ".one-trial path.curve",
        (all) => all.filter((p) => p.getAttribute("d")).length,
      ),
    ).toBeGreaterThanOrEqual(5);
    expect(await violations(tab)).toEqual([]);
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("every chart is copied as a picture with its content", async () => {
    const { tab, complaints } = await open(realistic(), 1280, "dark", "#trial-1-1");
    await tab.evaluate(() => {
      const copied: string[] = [];
      Object.assign(globalThis, { copied });
      navigator.clipboard.writeText = async (text) => {
        copied.push(text);
      };
    });
    for (const button of await tab.locator("button", { hasText: "Copy SVG" }).all())
      await button.click();
    const copied = await tab.evaluate(() => (globalThis as unknown as { copied: string[] }).copied);
    expect(copied.length).toBeGreaterThanOrEqual(20);
    expect(complaints).toEqual([]);
    await tab.close();
    for (const svg of copied) {
      expect(svg).not.toMatch(/var\(|light-dark|NaN|undefined|<script/);
      const shown = await browser.picture(svg);
      expect(shown.root).toBe("svg");
      expect(shown.errors).toBe(0);
      expect(shown.texts).toBeGreaterThan(2);
      expect(shown.shapes).toBeGreaterThan(3);
    }
  });

  test("a hundred contenders fit, also on a phone", async () => {
    for (const width of [1280, 360]) {
      const { tab, complaints } = await open(crowd(100), width);
      expect(await overflow(tab)).toBe(0);
      expect(await tab.$$("#latency path.curve")).toHaveLength(100);
      await tab.click("#latency .legend-all button:last-child");
      await tab.locator("#latency .legend button").nth(41).click();
      expect(await tab.$$("#latency path.curve")).toHaveLength(1);
      expect(complaints).toEqual([]);
      await tab.close();
    }
  });

  test("a record of 40 trials is under 3 MB and reacts within a second", async () => {
    expect(browser.size(forty())).toBeLessThan(3_000_000);
    const { tab, complaints } = await open(forty());
    await tab.close();
    const took: number[] = [];
    // Other programs may slow the machine, so the fastest of three counts.
    for (let i = 0; i < 3; i++) {
      const { tab } = await open(forty());
      took.push(
        await tab.evaluate(() => {
          const [navigation] = performance.getEntriesByType(
            "navigation",
          ) as PerformanceNavigationTiming[];
          return navigation!.domContentLoadedEventEnd;
        }),
      );
      const button = tab.locator("#latency .legend button").first();
      await button.click();
      expect(await button.getAttribute("aria-pressed")).toBe("false");
      await tab.close();
    }
    expect(Math.min(...took)).toBeLessThan(1000);
    expect(complaints).toEqual([]);
  });

  test("a report without a record reports that", async () => {
    const { tab, complaints } = await open(null);
    expect(await tab.textContent("main")).toContain("has no record");
    expect(complaints).toEqual([]);
    await tab.close();
  });

  test("the policy blocks an injected script", async () => {
    const { tab, complaints } = await open(realistic());
    const ran = await tab.evaluate(() => {
      const script = document.createElement("script");
      document.body.append(script);
      try {
        script.text = "globalThis.ran = true";
      } catch {
        // trusted types refuse even the text
      }
      return fetch("https://example.org/").then(
        () => true,
        () => "ran" in globalThis,
      );
    });
    expect(ran).toBe(false);
    expect(complaints.some((c) => c.includes("Content Security Policy"))).toBe(true);
    await tab.close();
  });
});
