/** A flame graph of one contender compared with another. Start with `FlameChart`. */
import type { TargetedKeyboardEvent } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import {
  type Block,
  callersOf,
  childrenOf,
  differences,
  laidOut,
  type Sides,
  search,
  usOf,
} from "../flame";
import { sig, withUnit } from "../format";
import type { Flame } from "../page";

const ROW = 19;
const LABELLED = 0.025; // the least part of the width that has room for a text
const pct = (part: number) => `${(100 * part).toFixed(3)}%`;

interface Props {
  flame: Flame;
  sides: Sides;
  /** the names of both sides */
  names: [wide: string, other: string | null];
  /** whether the first side is the contender, not the baseline */
  contenderIsWide: boolean;
  label: string;
}

export function FlameChart({ flame, sides, names, contenderIsWide, label }: Props) {
  const [top, setTop] = useState(0);
  const [chosen, choose] = useState(0);
  const [text, setText] = useState("");
  const children = useMemo(() => childrenOf(flame), [flame]);
  const { wide, other } = sides;
  const blocks = useMemo(
    () => laidOut(flame, children, { wide, other }, top),
    [flame, children, wide, other, top],
  );
  const tones = useMemo(() => differences(flame, wide, other), [flame, wide, other]);
  const found = useMemo(() => search(flame, wide, text), [flame, wide, text]);
  const zoom = (node: number) => {
    setTop(node);
    choose(node);
  };
  const keys = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    const next = keyed(e, blocks, chosen, flame);
    if (next === null) return;
    e.preventDefault();
    if (next.zoom !== undefined) zoom(next.zoom);
    else choose(next.choose);
  };
  const depth = blocks.reduce((most, b) => Math.max(most, b.depth), 0) + 1;
  const described = useId();
  return (
    <div class="flame">
      <div class="flame-tools picks">
        <label class="pick">
          <span>Search</span>
          <input
            type="search"
            value={text}
            placeholder="function or module"
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <button type="button" aria-disabled={top === 0} onClick={() => zoom(0)}>
          Show all
        </button>
        <span class="small" role="status">
          {text.trim() !== "" &&
            `${found.nodes.size} found, ${withUnit(found.us, "µs")} per request`}
        </span>
      </div>
      <div
        class="flame-box"
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move within it
        tabIndex={0}
        aria-label={label}
        aria-describedby={described}
        onKeyDown={keys}
      >
        <svg class="flames" width="100%" height={depth * ROW} aria-hidden="true">
          {blocks.map((block) => (
            <Drawn
              key={block.node}
              block={block}
              name={flame.frames[flame.of[block.node]!]?.name ?? ""}
              tone={contenderIsWide ? tones[block.node]! : -tones[block.node]!}
              kind={block.node === chosen ? "chosen" : found.nodes.has(block.node) ? "found" : ""}
              title={told(flame, sides, names, block.node)}
              onZoom={() => zoom(block.node)}
              onChoose={() => choose(block.node)}
            />
          ))}
        </svg>
      </div>
      <p class="flame-told small" role="status" id={described} dir="auto">
        {told(flame, sides, names, chosen)}
      </p>
    </div>
  );
}

interface DrawnProps {
  block: Block;
  name: string;
  /** from −1, blue, to 1, red */
  tone: number;
  kind: string;
  title: string;
  onZoom: () => void;
  onChoose: () => void;
}

/** A function as a bar with its name. The keys of the group around it do the same as clicks. */
function Drawn({ block, name, tone, kind, title, onZoom, onChoose }: DrawnProps) {
  const side = tone > 0 ? "more" : tone < 0 ? "less" : "even";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the group around it has the keys
    <svg
      class={`flame-block ${kind}`}
      x={pct(block.from)}
      y={block.depth * ROW}
      width={pct(block.width)}
      height={ROW - 1}
      overflow="hidden"
      onClick={onZoom}
      onPointerEnter={onChoose}
    >
      <title>{title}</title>
      <rect
        class={side}
        width="100%"
        height="100%"
        style={{ "--strength": `${Math.round(Math.abs(tone) * 62)}%` }}
      />
      {block.width >= LABELLED && (
        <text x="4" y={ROW - 6}>
          {name}
        </text>
      )}
    </svg>
  );
}

/** `main.hash in server: 12.3 µs per request, 12.0 % of all; gateway 10.1 µs, so 2.2 µs more` */
function told(flame: Flame, sides: Sides, [wide, other]: Props["names"], node: number) {
  const frame = flame.frames[flame.of[node]!];
  if (!frame) return "";
  const us = usOf(flame, sides.wide, node);
  const whole = usOf(flame, sides.wide, 0);
  const share = whole > 0 ? `, ${sig((100 * us) / whole)}\u00a0% of all` : "";
  const place = frame.module && frame.module !== frame.name ? ` (${frame.module})` : "";
  const first = `${frame.name}${place}: ${wide} ${withUnit(us, "µs")} per request${share}`;
  if (other === null || sides.other === null) return first;
  const there = usOf(flame, sides.other, node);
  return `${first}; ${other} ${withUnit(there, "µs")}, which is ${withUnit(Math.abs(us - there), "µs")} ${there > us ? "more" : "less"}`;
}

/** Where a key leads: to another function, or to another one in full width. */
function keyed(
  e: TargetedKeyboardEvent<HTMLDivElement>,
  blocks: Block[],
  chosen: number,
  flame: Flame,
): { choose: number; zoom?: undefined } | { zoom: number } | null {
  if (e.ctrlKey || e.metaKey || e.altKey) return null;
  const at = blocks.find((b) => b.node === chosen) ?? blocks[0];
  if (!at) return null;
  const row = blocks.filter((b) => b.depth === at.depth);
  const place = row.indexOf(at);
  const below = blocks.find((b) => b.depth === at.depth + 1 && flame.parents[b.node] === at.node);
  const to = (block: Block | undefined) => (block ? { choose: block.node } : null);
  switch (e.key) {
    case "ArrowDown":
      return to(below);
    case "ArrowUp":
      return to(blocks.find((b) => b.node === callersOf(flame, at.node).at(-1)));
    case "ArrowRight":
      return to(row[place + 1]);
    case "ArrowLeft":
      return to(row[place - 1]);
    case "Enter":
      return { zoom: at.node };
    case "0":
    case "Escape":
      return { zoom: 0 };
    default:
      return null;
  }
}
