/** Where CPU time goes: bars, sentences, and the flame graph with its keys and its search. */
import { act } from "preact/test-utils";
import { describe, expect, test, vi } from "vitest";
import { callersOf, childrenOf, differences, laidOut, search } from "../../src/flame";
import { realistic } from "../fixture";
import { bare, hostile } from "../hostile";
import { stage } from "../stage";

// happy-dom has no canvas; test/browser draws on one
vi.mock("uplot", () => import("../plot"));
const { root, show, all, press, key } = stage();

describe("the flame graph's layout", () => {
  const { flame } = realistic().causes[0]!;
  const children = childrenOf(flame);
  const name = (node: number) => flame.frames[flame.of[node]!]!.name;
  const named = (wanted: string) => flame.of.findIndex((_, node) => name(node) === wanted);

  test("what a function calls lies below it, and fits", () => {
    const blocks = laidOut(flame, children, { wide: 0, other: 1 }, 0);
    for (const block of blocks.filter((b) => b.node > 0)) {
      const caller = blocks.find((b) => b.node === flame.parents[block.node])!;
      expect(block.depth).toBe(caller.depth + 1);
      expect(block.from).toBeGreaterThanOrEqual(caller.from - 1e-9);
      expect(block.from + block.width).toBeLessThanOrEqual(caller.from + caller.width + 1e-9);
    }
    const handler = blocks.find((b) => b.node === named("handler"))!;
    expect(handler.width).toBeCloseTo(158 / 312, 3);
  });

  test("an enlarged function has the whole width below its callers", () => {
    const write = named("write");
    const blocks = laidOut(flame, children, { wide: 0, other: null }, write);
    expect(callersOf(flame, write).map(name)).toEqual(["all", "server", "main", "serve"]);
    expect(blocks.slice(0, 5).map((b) => [b.depth, b.width])).toEqual(
      [0, 1, 2, 3, 4].map((depth) => [depth, 1]),
    );
    expect(blocks.slice(5).map((b) => name(b.node))).toEqual(["tcp_sendmsg", "futex"]);
  });

  test("more is positive, less is negative, and the largest difference is one", () => {
    const found = differences(flame, 1, 0);
    expect(found[0]).toBe(-1);
    expect(found.every((x) => x <= 0 && x >= -1)).toBe(true);
    expect(differences(flame, 0, 1)[0]).toBe(1);
    expect(differences(flame, 0, null).every((x) => x === 0)).toBe(true);
  });

  test("a search counts what is found within what is found once", () => {
    const found = search(flame, 0, "  SERVE");
    expect([...found.nodes].map(name)).toEqual(["server", "serve"]);
    expect(found.us).toBeCloseTo(281, 9);
    expect(search(flame, 0, "").nodes.size).toBe(0);
    expect(search(flame, 0, "kernel").nodes.size).toBe(2);
  });
});

describe("the section", () => {
  test("it has a sentence for each contender and a bar for each category of each", () => {
    const page = realistic();
    show(page);
    const [causes] = page.causes;
    expect(all("#why .why-sentence")).toHaveLength(2);
    expect(all("#why .category svg.strip")).toHaveLength(
      causes!.categories.length * causes!.contenders.length,
    );
    expect(root.querySelector("#why .notes")!.textContent).toContain(
      "12 methods were compiled again",
    );
    expect(all("nav a").map((a) => a.getAttribute("href"))).toContain("#why");
  });

  test("a hidden contender has no bars", () => {
    const page = realistic();
    show(page);
    const bars = all("#why .cause-bar").length;
    const name = page.causes[0]!.contenders[1]!.name;
    press(all(".legend button").find((b) => b.textContent!.startsWith(name))!);
    expect(all("#why .cause-bar").length).toBe(bars - page.causes[0]!.categories.length);
  });

  test("keys move through the flame graph and enlarge a function", () => {
    show(realistic());
    const box = root.querySelector("#why .flame-box")!;
    const told = () => root.querySelector("#why .flame-told")!.textContent!;
    expect(told()).toMatch(/^all: /);
    key(box, "ArrowDown");
    expect(told()).toMatch(/^server \(proxy\): proxy-go-gin .*% of all; proxy-spring-mvc /);
    key(box, "ArrowRight");
    expect(told()).toMatch(/^collector/);
    key(box, "ArrowLeft");
    key(box, "ArrowDown");
    const before = all("#why .flame-block").length;
    key(box, "Enter");
    expect(all("#why .flame-block").length).toBeLessThan(before);
    expect(told()).toMatch(/^main/);
    key(box, "Escape");
    expect(all("#why .flame-block").length).toBe(before);
  });

  test("a search marks what it finds and says how much that is", () => {
    show(realistic());
    const input = root.querySelector<HTMLInputElement>("#why input[type=search]")!;
    act(() => {
      input.value = "tcp_";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    expect(all("#why .flame-block.found")).toHaveLength(1);
    expect(root.querySelector("#why .flame-tools")!.textContent).toContain("1 found, 22\u00a0µs");
  });

  test("a record that must not be trusted, and one without profiles, are shown", () => {
    show(hostile());
    expect(root.querySelector("#why")).not.toBeNull();
    expect(all("#why script, #why img")).toHaveLength(0);
    show(bare());
    expect(root.querySelector("#why")).toBeNull();
  });
});
