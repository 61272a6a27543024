/** The tables of an article, contradictions in them, and our measurements of the same rows. */
import type { ComponentChildren } from "preact";
import { bytes, count, duration, NONE, sig, withUnit } from "../format";
import { Name } from "../identity";
import type { Audit, AuditedTable, AuditFinding, Curve, Row } from "../page";
import { CopyTable, prose, Scroll, Section } from "../parts";

const WORDINGS: Record<AuditFinding["wording"], string> = {
  "contradicts-itself": "contradicts itself",
  "inconsistent-as-service-time": "inconsistent as a service time",
};

/** The article's tables, impossible figures in them, and our measurements. */
export function AuditSection({
  audit,
  table,
  curves,
}: {
  audit: Audit;
  table: Row[];
  curves: Curve[];
}) {
  const here = (ours: Ours): Measurement | null => {
    const isIt = (of: Ours) => of.contender === ours.contender && of.cell === ours.cell;
    const row = table.find(isIt);
    return row ? { row, curve: curves.find(isIt) ?? null } : null;
  };
  return (
    <Section
      folded
      id="audit"
      title="The article's tables"
      lead={
        <>
          <bdi>{audit.title}</bdi>
          {audit.source && (
            <>
              {" "}
              (<bdi>{audit.source}</bdi>)
            </>
          )}
          : {audit.flagged === 0 ? "none" : audit.flagged} of {audit.rows} rows flagged. A flag
          means that figures contradict each other; it does not say why. A printed figure stands for
          every value that its digits allow.
          {audit.tables.some((t) => t.rows.some((row) => row.ours && here(row.ours))) &&
            " Our measurement of the same row is below it, from all valid trials."}
        </>
      }
    >
      {audit.tables.map((t, i) => (
        <Printed key={i} table={t} here={here} />
      ))}
      {table.length > 0 && <Measured table={table} />}
    </Section>
  );
}

type Ours = { contender: string; cell: string };
type Measurement = { row: Row; curve: Curve | null };

/** Our measurements by column of a printed table. */
const HERE = new Map<string, (of: Measurement) => string>([
  ["samples", ({ row }) => count(row.samples)],
  ["throughput /s", ({ row }) => sig(row.throughput_per_s)],
  ["errors", ({ row }) => count(failed(row))],
  [
    "error share",
    ({ row }) => withUnit((100 * failed(row)) / Math.max(1, row.samples + failed(row)), "%"),
  ],
  ["mean", ({ row }) => duration(row.average_ms)],
  ["standard deviation", ({ row }) => duration(row.standard_deviation_ms)],
  ["min", ({ row }) => duration(row.min_ms)],
  ["max", ({ row }) => duration(row.max_ms)],
  ["transfer /s", ({ row }) => bytes(row.received_kb_per_s * 1000)],
  ["bytes per response", ({ row }) => bytes(row.average_bytes)],
  ["CPU", ({ row }) => withUnit(row.cpu_percent, "%")],
  ["OS threads", ({ row }) => sig(row.threads)],
  ["memory", ({ row }) => withUnit(row.memory_mb, "MB")],
]);

const failed = (row: Row) => row.errors.reduce((sum, error) => sum + error.count, 0);

function measured(column: string, of: Measurement): string {
  const percent = /^p(\d+(?:\.\d+)?)$/.exec(column)?.[1];
  return percent
    ? duration(quantile(of.curve, Number(percent) / 100))
    : (HERE.get(column)?.(of) ?? NONE);
}

/** A quantile between the points of a curve; null beyond the last. */
function quantile(curve: Curve | null, wanted: number): number | null {
  const points = curve?.points ?? [];
  const above = points.findIndex(([q]) => q >= wanted - 1e-9);
  if (above < 0) return null;
  const [[q0, v0], [q1, v1]] = [points[Math.max(0, above - 1)]!, points[above]!];
  return q1 > q0 ? v0 + ((v1 - v0) * (wanted - q0)) / (q1 - q0) : v1;
}

function Printed({
  table,
  here,
}: {
  table: AuditedTable;
  here: (ours: Ours) => Measurement | null;
}) {
  const ours = table.rows.map((row) => (row.ours ? here(row.ours) : null));
  return (
    <div class="published">
      <h3>
        <bdi>{table.title}</bdi>{" "}
        {table.tool !== null && table.tool.toLowerCase() !== table.title.toLowerCase() && (
          <small>{table.tool}</small>
        )}
      </h3>
      <p class="small">
        {table.flagged === 0
          ? "No row is flagged"
          : `${table.flagged} of ${table.rows.length} rows flagged`}
        {table.repeated > 0 && `; ${table.repeated} more repeat rows above`}.
      </p>
      <Figures
        label={`As printed: ${table.title}`}
        names={["Row"]}
        figures={table.columns.map((c) => <bdi>{c}</bdi>)}
      >
        {table.rows.map((row, r) => (
          <PrintedRow key={r} row={row} columns={table.columns} ours={ours[r] ?? null} />
        ))}
      </Figures>
      <CopyTable
        title={`as printed: ${table.title}`}
        columns={["Row", ...table.columns, "Flagged"]}
        rows={() =>
          table.rows.flatMap((row, r) => {
            const findings = row.findings
              .map((f) => `${WORDINGS[f.wording] ?? String(f.wording)}: ${f.what}`)
              .join("; ");
            const mine = ours[r];
            const printed = [row.name, ...table.columns.map((_, i) => row.figures[i]), findings];
            return mine
              ? [
                  printed,
                  [
                    `here: ${mine.row.contender}, ${mine.row.cell}`,
                    ...table.columns.map((column) => measured(column, mine)),
                    "",
                  ],
                ]
              : [printed];
          })
        }
      />
    </div>
  );
}

/** A table whose rows begin with names and continue with figures. */
function Figures({
  label,
  names,
  figures,
  children,
}: {
  label: string;
  names: string[];
  figures: ComponentChildren[];
  children: ComponentChildren;
}) {
  return (
    <Scroll label={label}>
      <table class="audit">
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {figures.map((figure, i) => (
              <th key={i} scope="col" class="number">
                {figure}
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </Scroll>
  );
}

function Finding({ finding }: { finding: AuditFinding }) {
  return (
    <div class="finding">
      <p>
        <b class={finding.wording === "contradicts-itself" ? "bad" : "open"}>
          {WORDINGS[finding.wording] ?? String(finding.wording)}
        </b>
        {finding.factor !== null && `, ${sig(finding.factor)}\u00a0times`}:{" "}
        <span dir="auto">{prose(finding.what)}</span>
      </p>
      {finding.possible !== null && (
        <p class="small">
          possible: <span dir="auto">{prose(finding.possible)}</span>
        </p>
      )}
      {finding.explanations.length > 0 && (
        <p class="small">
          possible explanations: <span dir="auto">{prose(finding.explanations.join("; or "))}</span>
        </p>
      )}
    </div>
  );
}

const COLUMNS: [heading: string, value: (row: Row) => number | null][] = [
  ["Throughput /s", (r) => r.throughput_per_s],
  ["Average ms", (r) => r.average_ms],
  ["Std. deviation ms", (r) => r.standard_deviation_ms],
  ["Min ms", (r) => r.min_ms],
  ["p99 ms", (r) => r.p99_ms],
  ["Max ms", (r) => r.max_ms],
  ["CPU %", (r) => r.cpu_percent],
  ["Threads", (r) => r.threads],
  ["Memory MB", (r) => r.memory_mb],
];

function Measured({ table }: { table: Row[] }) {
  return (
    <div class="published">
      <h3>Measured here</h3>
      <p class="small">
        The same quantities from this record. Machine and versions differ, and every response was
        checked.
      </p>
      <Figures
        label="Measured here"
        names={["Contender", "Cell"]}
        figures={COLUMNS.map(([heading]) => heading)}
      >
        <tbody>
          {table.map((row, i) => (
            <tr key={i}>
              <th scope="row">
                <Name name={row.contender} />
              </th>
              <td class="of-cell">
                <bdi>{row.cell}</bdi>
              </td>
              {COLUMNS.map(([heading, value]) => (
                <td key={heading} class="number">
                  {sig(value(row))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </Figures>
      <CopyTable
        title="measured here"
        columns={["Contender", "Cell", ...COLUMNS.map(([heading]) => heading)]}
        rows={() =>
          table.map((row) => [row.contender, row.cell, ...COLUMNS.map(([, value]) => value(row))])
        }
      />
    </div>
  );
}

/** A printed row, our measurement of it, and what its figures contradict. */
function PrintedRow({
  row,
  columns,
  ours,
}: {
  row: AuditedTable["rows"][number];
  columns: string[];
  ours: Measurement | null;
}) {
  return (
    <tbody class={row.findings.length > 0 ? "flagged" : ""}>
      <tr>
        <th scope="row">
          <bdi>{row.name}</bdi>
        </th>
        {row.figures.map((figure, i) => (
          <td key={i} class="number">
            <bdi>{figure ?? NONE}</bdi>
          </td>
        ))}
      </tr>
      {ours && (
        <tr class="here">
          <th scope="row">
            here: <Name name={ours.row.contender} />, <bdi>{ours.row.cell}</bdi>
          </th>
          {columns.map((column) => (
            <td key={column} class="number">
              {measured(column, ours)}
            </td>
          ))}
        </tr>
      )}
      {(row.findings.length > 0 || row.notes.length > 0) && (
        <tr class="findings">
          <td colSpan={columns.length + 1}>
            <div class="stay">
              {row.findings.map((f, i) => (
                <Finding key={i} finding={f} />
              ))}
              {row.notes.map((note, i) => (
                <p key={i} class="small" dir="auto">
                  {prose(note)}
                </p>
              ))}
            </div>
          </td>
        </tr>
      )}
    </tbody>
  );
}
