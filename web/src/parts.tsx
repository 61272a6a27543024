/** Parts that several sections share: sections, tables, choices, and lists of facts. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Copy } from "./copy";
import { asCsv, type Value } from "./csv";
import { sig, unbroken } from "./format";
import type { Cell, Fact } from "./page";
import { asSvg } from "./svg";

/** A section of the report. A folded one opens on demand, and if a link leads to it. */
export function Section({
  id,
  title,
  lead,
  folded = false,
  children,
}: {
  id: string;
  title: string;
  lead?: ComponentChildren;
  folded?: boolean;
  children: ComponentChildren;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const open = () => {
      if (details.current && location.hash === `#${id}`) details.current.open = true;
    };
    open();
    addEventListener("hashchange", open);
    return () => removeEventListener("hashchange", open);
  }, [id]);
  const heading = <h2 id={`${id}-title`}>{title}</h2>;
  const inside = (
    <>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </>
  );
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      {folded ? (
        <details class="fold" ref={details}>
          <summary>{heading}</summary>
          {inside}
        </details>
      ) : (
        <>
          {heading}
          {inside}
        </>
      )}
    </section>
  );
}

/** A sentence of the record. Text between backticks is code; numbers stay next to their units. */
export function prose(sentence: string): ComponentChildren {
  const parts = unbroken(sentence).split("`");
  if (parts.length % 2 === 0) return unbroken(sentence);
  return parts.map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));
}

/** A box in which a table scrolls, also by keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only a focused box scrolls by keys
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

export interface TableProps {
  title: string;
  /** columns after the first `texts` hold numbers */
  columns: string[];
  rows: () => Value[][];
  texts?: number;
  /** whether it has no chart above it */
  alone?: boolean;
}

const MOST_ROWS = 3000;

/** The values of a chart as a table that can be copied. It is made on demand, as it may be long. */
export function DataTable({ title, columns, rows, texts = 1, alone = false }: TableProps) {
  const [open, setOpen] = useState(false);
  return (
    <div class="beneath">
      <details class="data" onToggle={(e) => setOpen((e.currentTarget as HTMLDetailsElement).open)}>
        <summary>
          Table: <bdi>{title}</bdi>
        </summary>
        {open && <Rows title={title} columns={columns} rows={rows} texts={texts} />}
      </details>
      <Copy text="Copy CSV" of={title} make={() => asCsv(columns, rows())} />
      {!alone && <Copy text="Copy SVG" of={title} make={(button) => pictureOf(button)} />}
    </div>
  );
}

/** A button that copies a visible table with all digits of its numbers. */
export function CopyTable({
  title,
  columns,
  rows,
}: Pick<TableProps, "title" | "columns" | "rows">) {
  return (
    <div class="beneath">
      <Copy text="Copy CSV" of={title} make={() => asCsv(columns, rows())} />
    </div>
  );
}

/** The chart above a button, as SVG. */
function pictureOf(button: HTMLElement): string {
  const chart = button.closest("figure, [data-chart]");
  return chart ? asSvg(chart) : "";
}

function Rows({ title, columns, rows, texts = 1 }: TableProps) {
  const all = rows();
  const shown = all.slice(0, MOST_ROWS);
  if (all.length === 0) return <p class="empty">Nothing was recorded.</p>;
  return (
    <>
      {shown.length < all.length && (
        <p class="note">
          The first {shown.length} of {all.length} rows; choose one contender or one block above for
          the others.
        </p>
      )}
      <Scroll label={title}>
        <table>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th key={i} scope="col" class={i < texts ? "" : "number"}>
                  {c}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, r) => (
              <tr key={r}>
                {row.map((value, i) => (
                  <td key={i} class={i < texts ? "" : "number"}>
                    <bdi>{typeof value === "number" ? sig(value) : (value ?? "–")}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

interface PickProps {
  label: string;
  options: { value: string; text: string; mark?: ComponentChildren }[];
  value: string;
  onPick: (value: string) => void;
}

const MOST_BUTTONS = 10;
const MOST_CHARACTERS = 200;

/** A choice: radio buttons for a few options, a list for many. */
export function Pick({ label, options, value, onPick }: PickProps) {
  const id = useId();
  const wide = options.reduce((all, o) => all + o.text.length, 0) > MOST_CHARACTERS;
  if (options.length > MOST_BUTTONS || wide)
    return (
      <label class="pick">
        <span>{label}</span>
        <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
          {options.map((o) => (
            <option key={o.value} value={o.value}>
              {o.text}
            </option>
          ))}
        </select>
      </label>
    );
  return (
    <fieldset class="pick">
      <legend>{label}</legend>
      <span class="choices">
        {options.map((o) => (
          <label key={o.value}>
            <input
              type="radio"
              name={id}
              value={o.value}
              checked={o.value === value}
              onChange={() => onPick(o.value)}
            />
            <span>
              {o.mark}
              <bdi>{o.text}</bdi>
            </span>
          </label>
        ))}
      </span>
    </fieldset>
  );
}

export interface CellChoice {
  cells: Cell[];
  cell: Cell | undefined;
  setCell: (name: string) => void;
}

/** The choice of a cell, which all sections share. */
export function CellPicker({ cells, cell, setCell }: CellChoice) {
  if (!cell) return <p class="empty">The record has no cell.</p>;
  return (
    <div class="cell-picker">
      <Pick
        label="Cell"
        options={cells.map((c) => ({ value: c.name, text: c.name }))}
        value={cell.name}
        onPick={setCell}
      />
      <p class="cell-load">
        <bdi>{cell.workload}</bdi>, <bdi>{cell.load}</bdi>
      </p>
    </div>
  );
}

/**
 * The choice for a section that only has the cells `named`. If another is chosen (the cell of
 * start-up has no load), it shows the first of its own cells.
 */
export function among(choice: CellChoice, named: Iterable<string>): CellChoice {
  const names = new Set(named);
  const cells = choice.cells.filter((c) => names.has(c.name));
  return cells.length === 0
    ? choice
    : { ...choice, cells, cell: cells.find((c) => c.name === choice.cell?.name) ?? cells[0] };
}

/** The name of a cell's times, which depends on the instant they count from. */
export const latencyWord = (cell: Cell | undefined): string =>
  cell?.scheduled === false ? "Service time" : "Latency";

/** A list of names and values. */
export function Facts({ facts }: { facts: Fact[] }) {
  if (facts.length === 0) return <p class="empty">Nothing was recorded.</p>;
  return (
    <dl class="facts">
      {facts.map((f, i) => (
        <div key={i}>
          <dt dir="auto">{f.name}</dt>
          <dd dir="auto">{f.value}</dd>
        </div>
      ))}
    </dl>
  );
}
