/** The summary table of a load tester, and the figures that the source published. */
import { count, NONE, sig } from "../format";
import { Name } from "../identity";
import type { Cell, Published, Row } from "../page";
import { CopyTable, latencyWord, Scroll, Section } from "../parts";

const COLUMNS: [
  heading: string,
  value: (row: Row) => number | null,
  shown?: (value: number | null) => string,
][] = [
  ["Samples", (r) => r.samples, count],
  ["Std. deviation ms", (r) => r.standard_deviation_ms],
  ["Throughput /s", (r) => r.throughput_per_s],
  ["Average ms", (r) => r.average_ms],
  ["Min ms", (r) => r.min_ms],
  ["p50 ms", (r) => r.p50_ms],
  ["p95 ms", (r) => r.p95_ms],
  ["p99 ms", (r) => r.p99_ms],
  ["Max ms", (r) => r.max_ms],
  ["Received KB/s", (r) => r.received_kb_per_s],
  ["Average bytes", (r) => r.average_bytes],
  ["CPU %", (r) => r.cpu_percent],
  ["CPU µs/request", (r) => r.cpu_us_per_request],
  ["Threads", (r) => r.threads],
  ["Memory MB", (r) => r.memory_mb],
];
const errors = (row: Row): string =>
  row.errors.length === 0
    ? "none"
    : row.errors.map((e) => `${count(e.count)} ${e.kind}`).join(", ");

export function SummarySection({
  table,
  cells,
  published,
}: {
  table: Row[];
  cells: Cell[];
  published: Published | null;
}) {
  return (
    <Section
      folded
      id="summary"
      title="Summary table"
      lead={`The columns of a load tester's summary. ${NONE} means too few samples for a quantile.`}
    >
      {table.length === 0 ? (
        <p class="empty">Nothing was measured.</p>
      ) : (
        <SummaryRows table={table} cells={cells} />
      )}
      {table.length > 0 && (
        <CopyTable
          title="summary"
          columns={["Cell", "Contender", ...COLUMNS.map(([heading]) => heading), "Errors"]}
          rows={() =>
            table.map((row) => [
              row.cell,
              row.contender,
              ...COLUMNS.map(([, value]) => value(row)),
              errors(row),
            ])
          }
        />
      )}
      {published && <AsPublished published={published} />}
    </Section>
  );
}

/** The figures that the source published. */
function AsPublished({ published }: { published: Published }) {
  return (
    <div class="published">
      <h3>
        <bdi>{published.title}</bdi>
      </h3>
      <p class="small">The figures that the source published.</p>
      <Scroll label="Published figures">
        <table>
          <thead>
            <tr>
              {published.columns.map((c, i) => (
                <th key={i} scope="col">
                  <bdi>{c}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {published.rows.map((row, r) => (
              <tr key={r}>
                {row.map((value, i) => (
                  <td key={i}>
                    <bdi>{value}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <CopyTable title={published.title} columns={published.columns} rows={() => published.rows} />
      {published.note && (
        <p class="note" dir="auto">
          {published.note}
        </p>
      )}
    </div>
  );
}

/** Every cell with the rows of its contenders. */
function SummaryRows({ table, cells }: { table: Row[]; cells: Cell[] }) {
  return (
    <Scroll label="Summary of every cell and contender">
      <table class="summary">
        <thead>
          <tr>
            <th scope="col">Contender</th>
            {COLUMNS.map(([heading]) => (
              <th key={heading} scope="col" class="number">
                {heading}
              </th>
            ))}
            <th scope="col">Errors</th>
          </tr>
        </thead>
        {[...new Set(table.map((r) => r.cell))].map((name) => {
          const cell = cells.find((c) => c.name === name);
          return (
            <tbody key={name}>
              <tr class="cell-row">
                <th scope="rowgroup" colSpan={COLUMNS.length + 2}>
                  <span class="stay">
                    <bdi>{name}</bdi>{" "}
                    {cell && <small>{`${cell.load}; ${latencyWord(cell).toLowerCase()}`}</small>}
                  </span>
                </th>
              </tr>
              {table
                .filter((r) => r.cell === name)
                .map((row) => (
                  <tr key={row.contender}>
                    <th scope="row">
                      <Name name={row.contender} />
                    </th>
                    {COLUMNS.map(([heading, value, shown = sig]) => (
                      <td key={heading} class="number">
                        {shown(value(row))}
                      </td>
                    ))}
                    <td class="errors">{errors(row)}</td>
                  </tr>
                ))}
            </tbody>
          );
        })}
      </table>
    </Scroll>
  );
}
