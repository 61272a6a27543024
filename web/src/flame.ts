/**
 * The stacks of a cell as a flame graph: where each function lies, and which ones match a search.
 *
 * A flame graph compares one contender with another: the width of a function is the CPU time per
 * request of one of them, and its colour shows which of them spends more. Start with `laidOut`.
 */
import type { Flame } from "./page";

/** A function on a stack, with everything that it calls. */
export interface Block {
  node: number;
  depth: number;
  /** parts of the whole width */
  from: number;
  width: number;
}

/** What is drawn: two columns of `us`, of which the first gives the widths. */
export interface Sides {
  wide: number;
  other: number | null;
}

/** For each node its children, in order. */
export function childrenOf(flame: Flame): number[][] {
  const children: number[][] = flame.parents.map(() => []);
  flame.parents.forEach((parent, node) => {
    if (node > 0 && parent < node) children[parent]?.push(node);
  });
  return children;
}

/** Microseconds per request of a node; what is no number counts as none. */
export const usOf = (flame: Flame, side: number | null, node: number): number => {
  const us = side === null ? 0 : flame.us[side]?.[node];
  return us !== undefined && Number.isFinite(us) && us > 0 ? us : 0;
};

const THINNEST = 1 / 1500; // of the width: less is no pixel

/**
 * The blocks of a node and of everything that it calls, the widest first among siblings, and its
 * callers above it in full width.
 */
export function laidOut(flame: Flame, children: number[][], sides: Sides, top: number): Block[] {
  const whole = usOf(flame, sides.wide, top);
  const blocks: Block[] = callersOf(flame, top).map((node, depth) => ({
    node,
    depth,
    from: 0,
    width: 1,
  }));
  const open: Block[] = [{ node: top, depth: blocks.length, from: 0, width: 1 }];
  for (let block = open.pop(); block; block = open.pop()) {
    blocks.push(block);
    if (whole === 0) continue;
    let from = block.from;
    const inside = [...children[block.node]!].sort(
      (a, b) => usOf(flame, sides.wide, b) - usOf(flame, sides.wide, a) || a - b,
    );
    for (const node of inside) {
      // rounded figures may add up to a little more than their sum
      const room = block.from + block.width - from;
      const width = Math.min(usOf(flame, sides.wide, node) / whole, room);
      if (width >= THINNEST) open.push({ node, depth: block.depth + 1, from, width });
      from += width;
    }
  }
  return blocks.sort((a, b) => a.depth - b.depth || a.from - b.from);
}

/** The callers of a node, the outermost first. */
export function callersOf(flame: Flame, node: number): number[] {
  const callers: number[] = [];
  for (let at = node; at > 0; ) {
    const parent = flame.parents[at]!;
    if (parent >= at) break;
    callers.push(parent);
    at = parent;
  }
  return callers.reverse();
}

/**
 * How much more the first side spends than the second, for every node: from −1 to 1, and 0 where
 * they are equal. The root makes small differences visible.
 */
export function differences(flame: Flame, first: number, second: number | null): number[] {
  const own = flame.parents.map((_, node) =>
    second === null ? 0 : usOf(flame, first, node) - usOf(flame, second, node),
  );
  const largest = own.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  return own.map((us) => (largest === 0 ? 0 : Math.sign(us) * Math.sqrt(Math.abs(us) / largest)));
}

export interface Found {
  nodes: Set<number>;
  /** microseconds per request in them, each counted once */
  us: number;
}

/** The nodes whose function or module contains a text, in any case. */
export function search(flame: Flame, side: number, text: string): Found {
  const wanted = text.trim().toLowerCase();
  const nodes = new Set<number>();
  if (wanted === "") return { nodes, us: 0 };
  let us = 0;
  const within = flame.parents.map(() => false);
  flame.parents.forEach((parent, node) => {
    const frame = flame.frames[flame.of[node]!];
    const is = !!frame && `${frame.name}\n${frame.module}`.toLowerCase().includes(wanted);
    if (is && node > 0) nodes.add(node);
    const inMatch = node > 0 && within[parent] === true;
    if (is && node > 0 && !inMatch) us += usOf(flame, side, node);
    within[node] = inMatch || (is && node > 0);
  });
  return { nodes, us };
}
