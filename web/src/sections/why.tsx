/** Why: where the CPU time of profiled contenders goes, and what explains a difference. */
import { useState } from "preact/hooks";
import { CategoryBars } from "../charts/causes";
import { FlameChart } from "../charts/flame";
import { count, interval, probability } from "../format";
import { Name } from "../identity";
import type { Causes, CausesDifference } from "../page";
import {
  among,
  type CellChoice,
  CellPicker,
  DataTable,
  Pick,
  prose,
  Scroll,
  Section,
} from "../parts";
import { useHidden } from "../shown";

export function WhySection({ causes, ...all }: { causes: Causes[] } & CellChoice) {
  const choice = among(
    all,
    causes.map((c) => c.cell),
  );
  const of = causes.find((c) => c.cell === choice.cell?.name) ?? causes[0];
  if (!of) return null;
  return (
    <Section
      id="why"
      title="Why"
      lead="Where CPU time goes, from samples of stacks in extra blocks that follow the judged ones. It explains verdicts and never decides them."
    >
      <CellPicker {...choice} />
      {of.differences.map((d) => (
        <Difference key={d.contender} of={d} />
      ))}
      <Categories of={of} />
      <Flames key={of.cell} of={of} />
      <Waits of={of} />
      <Remarks of={of} />
    </Section>
  );
}

/** The sentence, and the categories and functions behind it. */
function Difference({ of }: { of: CausesDifference }) {
  const title = `What differs between ${of.contender} and ${of.baseline}`;
  return (
    <div class="why-difference">
      <p class="why-sentence" dir="auto">
        {prose(of.sentence)}
      </p>
      {!of.functions_compared && (
        <p class="small">
          They share too few functions to be compared by them, so only categories are.
        </p>
      )}
      {of.lines.length > 0 && (
        <DataTable
          alone
          title={title}
          columns={["Cause", "In", "Differs by, µs per request", "Low", "High", "q"]}
          texts={2}
          rows={() =>
            of.lines.map((l) => [
              l.name,
              l.category || null,
              l.us,
              l.low,
              l.high,
              l.q === null ? null : probability(l.q),
            ])
          }
        />
      )}
    </div>
  );
}

function Categories({ of }: { of: Causes }) {
  const hidden = useHidden();
  const shown = of.contenders.flatMap((c, at) => (hidden.has(c.name) ? [] : [at]));
  const title = `CPU time per request by category in ${of.cell}`;
  return (
    <figure aria-label={title}>
      <Scroll label={title}>
        <CategoryBars categories={of.categories} contenders={of.contenders} shown={shown} />
      </Scroll>
      <ul class="key why-totals">
        {shown.map((at) => {
          const c = of.contenders[at]!;
          return (
            <li key={c.name}>
              <Name name={c.name} />: {interval(c.total.us, c.total.low, c.total.high)} µs per
              request in {count(c.samples)} samples of {count(c.blocks)} blocks
            </li>
          );
        })}
      </ul>
      <DataTable
        title={title}
        columns={["Category", "Contender", "µs per request", "Low", "High"]}
        texts={2}
        rows={() =>
          of.categories.flatMap((category) =>
            shown.map((at) => {
              const cost = category.costs[at];
              return [
                category.name,
                of.contenders[at]!.name,
                cost?.us ?? null,
                cost?.low ?? null,
                cost?.high ?? null,
              ];
            }),
          )
        }
      />
    </figure>
  );
}

/** The flame graph of a chosen contender against the baseline. */
function Flames({ of }: { of: Causes }) {
  const [picked, pick] = useState<string | null>(null);
  const [wide, setWide] = useState<"contender" | "baseline">("contender");
  const base = of.differences[0]?.baseline ?? null;
  const place = (name: string | null) => of.contenders.findIndex((c) => c.name === name);
  const others = of.contenders.filter((c) => c.name !== base);
  const contender = (others.find((c) => c.name === picked) ?? others[0] ?? of.contenders[0])?.name;
  if (contender === undefined || of.flame.parents.length < 2) return null;
  const baseline = base === contender ? null : base;
  const contenderIsWide = wide === "contender" || baseline === null;
  const [first, second] = contenderIsWide ? [contender, baseline] : [baseline, contender];
  const title = baseline ? `Stacks of ${contender} against ${baseline}` : `Stacks of ${contender}`;
  return (
    <figure aria-label={title}>
      <h3>
        <bdi>{title}</bdi>
      </h3>
      <div class="picks">
        {others.length > 1 && (
          <Pick
            label="Contender"
            options={others.map((c) => ({ value: c.name, text: c.name }))}
            value={contender}
            onPick={pick}
          />
        )}
        {baseline && (
          <Pick
            label="Width"
            options={[
              { value: "contender", text: contender },
              { value: "baseline", text: baseline },
            ]}
            value={wide}
            onPick={(value) => setWide(value === "baseline" ? "baseline" : "contender")}
          />
        )}
      </div>
      <FlameChart
        key={`${contender} ${wide}`}
        flame={of.flame}
        sides={{ wide: place(first!), other: second === null ? null : place(second!) }}
        names={[first!, second]}
        contenderIsWide={contenderIsWide}
        label={`${title}: arrow keys move, Enter enlarges a function, Escape shows all`}
      />
      <p class="key">
        <span>
          <span>
            Width: CPU time per request of <bdi>{first}</bdi>. A function is below its caller.
          </span>
        </span>
        {baseline && (
          <>
            <span class="flame-key more">
              <bdi>{contender}</bdi> spends more
            </span>
            <span class="flame-key less">
              <bdi>{contender}</bdi> spends less
            </span>
          </>
        )}
      </p>
      <StackTable of={of} title={title} />
    </figure>
  );
}

function StackTable({ of, title }: { of: Causes; title: string }) {
  const { flame } = of;
  return (
    <DataTable
      title={title}
      columns={["Depth", "Function", "Module", ...of.contenders.map((c) => `${c.name}, µs`)]}
      texts={3}
      rows={() => {
        const depths: number[] = [];
        return flame.parents.map((parent, node) => {
          depths.push(node === 0 ? 0 : (depths[parent] ?? 0) + 1);
          const frame = flame.frames[flame.of[node]!];
          return [
            String(depths[node]),
            frame?.name ?? null,
            frame?.module || null,
            ...of.contenders.map((_, at) => flame.us[at]?.[node] ?? null),
          ];
        });
      }}
    />
  );
}

/** What the processes did besides using a CPU. */
function Waits({ of }: { of: Causes }) {
  return (
    <DataTable
      alone
      title={`waits, switches and system calls per request in ${of.cell}`}
      columns={["Per request", ...of.contenders.map((c) => c.name)]}
      rows={() =>
        of.waits.map((wait) => [
          wait.name,
          ...of.contenders.map((_, at) => wait.values[at] ?? null),
        ])
      }
    />
  );
}

/** What a reader must know about the profiles. */
function Remarks({ of }: { of: Causes }) {
  const remarks = of.contenders.flatMap((c) => c.notes.map((note) => `${c.name}: ${note}`));
  if (remarks.length === 0) return null;
  return (
    <ul class="notes small">
      {remarks.map((remark, i) => (
        <li key={i} dir="auto">
          {prose(remark)}
        </li>
      ))}
    </ul>
  );
}
