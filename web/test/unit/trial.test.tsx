/** The page of one trial. */
import { act } from "preact/test-utils";
import { afterEach, describe, expect, test, vi } from "vitest";
import { phases } from "../../src/charts/trial";
import { unbroken } from "../../src/format";
import { realistic } from "../fixture";
import { hostile } from "../hostile";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all } = stage();

describe("one trial", () => {
  const go = (hash: string) =>
    act(() => {
      location.hash = hash;
      dispatchEvent(new Event("hashchange"));
    });
  afterEach(() => {
    location.hash = "";
  });

  test("each trial has a link and an address", () => {
    const page = realistic();
    show(page);
    const links = all(".strip a.who").map((e) => e.getAttribute("href"));
    expect(new Set(links).size).toBe(page.trials.length);
    expect(root.querySelector(".one-trial")).toBeNull();
    const trial = page.trials.find((t) => !t.valid)!;
    go(`#trial-${trial.block}-${trial.position}`);
    const shown = root.querySelector(".one-trial")!;
    expect(shown.querySelector("h3")!.textContent).toContain(trial.contender);
    expect(shown.textContent).toContain(unbroken(trial.reason));
    expect(shown.querySelectorAll(".phase.start, .phase.warmup")).toHaveLength(2);
    expect(shown.querySelectorAll(".phase.cell")).toHaveLength(trial.measurements.length);
    const fault = page.faults.find((f) => f.where.includes(trial.contender))!;
    expect(shown.textContent).toContain(unbroken(fault.evidence));
    expect(all(".strip [aria-current]")).toHaveLength(1);
    go("#trial-99-1");
    expect(root.querySelector(".one-trial")).toBeNull();
  });

  test("phases follow each other also without their beginnings", () => {
    const [trial] = realistic().trials;
    const older = {
      ...trial!,
      measurements: trial!.measurements.map((m) => ({ ...m, began_s: null })),
    };
    for (const t of [trial!, older]) {
      const all = phases(t, "rate_per_s");
      expect(all.map((p) => p.kind)).toEqual(["start", "warmup", "cell", "cell", "cell", "cell"]);
      for (const [i, p] of all.slice(1).entries())
        expect(p.from).toBeGreaterThanOrEqual(all[i]!.to - 1e-9);
    }
    expect(phases({ ...trial!, ready_ms: null }, "rate_per_s")).toEqual([]);
  });

  test("every trial of an untrusted record can be opened", () => {
    const page = hostile();
    show(page);
    for (const t of page.trials.slice(0, 30)) {
      go(`#trial-${t.block}-${t.position}`);
      expect(all(".one-trial")).toHaveLength(1);
      expect(root.querySelector(".one-trial")!.innerHTML).not.toMatch(
        /="[^"]*(NaN|Infinity)[^"]*"/,
      );
    }
  });
});
