import type { ComponentChildren } from "preact";
import { NONE, sig, unbroken } from "../format";
import { Name } from "../identity";
import type { Audit, AuditedTable, AuditFinding, Row } from "../page";
import { CopyTable, Scroll, Section } from "../parts";

const WORDINGS: Record<AuditFinding["wording"], string> = {
  "contradicts-itself": "contradicts itself",
  "inconsistent-as-service-time": "inconsistent as a service time",
};

/** What the article printed, what of it cannot be, and what was measured here. */
export function AuditSection({ audit, table }: { audit: Audit; table: Row[] }) {
  return (
    <Section
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
          : {audit.flagged === 0 ? "none" : audit.flagged} of {audit.rows} rows flagged. A flag says that figures do not fit each other, not how they came about; each printed figure
          stands for all that its digits leave open.
        </>
      }
    >
      {audit.tables.map((t, i) => (
        <Printed key={i} table={t} />
      ))}
      {table.length > 0 && <Measured table={table} />}
    </Section>
  );
}

function Printed({ table }: { table: AuditedTable }) {
  return (
    <div class="published">
      <h3>
        <bdi>{table.title}</bdi> {table.tool !== null && table.tool.toLowerCase() !== table.title.toLowerCase() && <small>{table.tool}</small>}
      </h3>
      <p class="small">
        {table.flagged === 0 ? "No row is flagged" : `${table.flagged} of ${table.rows.length} rows flagged`}
        {table.repeated > 0 && `; ${table.repeated} more repeat what is said above`}.
      </p>
      <Figures label={`As printed: ${table.title}`} names={["Row"]} figures={table.columns.map((c) => <bdi>{c}</bdi>)}>
        {table.rows.map((row, r) => (
          <tbody key={r} class={row.findings.length > 0 ? "flagged" : ""}>
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
            {(row.findings.length > 0 || row.notes.length > 0) && (
              <tr class="findings">
                <td colSpan={table.columns.length + 1}>
                  <div class="stay">
                    {row.findings.map((f, i) => (
                      <Finding key={i} finding={f} />
                    ))}
                    {row.notes.map((note, i) => (
                      <p key={i} class="small" dir="auto">
                        {unbroken(note)}
                      </p>
                    ))}
                  </div>
                </td>
              </tr>
            )}
          </tbody>
        ))}
      </Figures>
      <CopyTable
        title={`as printed: ${table.title}`}
        columns={["Row", ...table.columns, "Flagged"]}
        rows={() => table.rows.map((row) => [row.name, ...table.columns.map((_, i) => row.figures[i]), row.findings.map((f) => `${WORDINGS[f.wording] ?? String(f.wording)}: ${f.what}`).join("; ")])}
      />
    </div>
  );
}

/** A table whose rows begin with these names and go on with these figures. */
function Figures({ label, names, figures, children }: { label: string; names: string[]; figures: ComponentChildren[]; children: ComponentChildren }) {
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
        <b class={finding.wording === "contradicts-itself" ? "bad" : "open"}>{WORDINGS[finding.wording] ?? String(finding.wording)}</b>
        {finding.factor !== null && `, ${sig(finding.factor)}\u00a0times`}: <span dir="auto">{unbroken(finding.what)}</span>
      </p>
      {finding.possible !== null && (
        <p class="small">
          possible: <span dir="auto">{unbroken(finding.possible)}</span>
        </p>
      )}
      {finding.explanations.length > 0 && (
        <p class="small">
          would be explained by: <span dir="auto">{finding.explanations.map(unbroken).join("; or ")}</span>
        </p>
      )}
    </div>
  );
}

const COLUMNS: [heading: string, value: (row: Row) => number | null][] = [
  ["Throughput /s", (r) => r.throughput_per_s],
  ["Average ms", (r) => r.average_ms],
  ["Deviation ms", (r) => r.deviation_ms],
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
      <p class="small">The same quantities from this record; other machine, other versions, every answer checked.</p>
      <Figures label="Measured here" names={["Contender", "Cell"]} figures={COLUMNS.map(([heading]) => heading)}>
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
        rows={() => table.map((row) => [row.contender, row.cell, ...COLUMNS.map(([, value]) => value(row))])}
      />
    </div>
  );
}
