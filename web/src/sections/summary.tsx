import { count, NONE, sig } from "../format";
import { Name } from "../identity";
import type { Cell, Published, Row } from "../page";
import { latencyWord, Scroll, Section } from "../parts";

const COLUMNS: [heading: string, value: (row: Row) => string][] = [
  ["Samples", (r) => count(r.samples)],
  ["Deviation ms", (r) => sig(r.deviation_ms)],
  ["Throughput /s", (r) => sig(r.throughput_per_s)],
  ["Average ms", (r) => sig(r.average_ms)],
  ["Min ms", (r) => sig(r.min_ms)],
  ["p50 ms", (r) => sig(r.p50_ms)],
  ["p95 ms", (r) => sig(r.p95_ms)],
  ["p99 ms", (r) => sig(r.p99_ms)],
  ["Max ms", (r) => sig(r.max_ms)],
  ["Received KB/s", (r) => sig(r.received_kb_per_s)],
  ["Average bytes", (r) => sig(r.average_bytes)],
  ["CPU %", (r) => sig(r.cpu_percent)],
  ["CPU µs/request", (r) => sig(r.cpu_us_per_request)],
  ["Threads", (r) => sig(r.threads)],
  ["Memory MB", (r) => sig(r.memory_mb)],
];

export function SummarySection({ table, cells, published }: { table: Row[]; cells: Cell[]; published: Published | null }) {
  return (
    <Section id="summary" title="Summary table" lead={`The columns of a load tester's summary. ${NONE} stands where there are too few samples for a quantile.`}>
      {table.length === 0 ? (
        <p class="empty">Nothing was measured.</p>
      ) : (
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
                        <bdi>{name}</bdi> {cell && <small>{`${cell.load}; ${latencyWord(cell).toLowerCase()}`}</small>}
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
                        {COLUMNS.map(([heading, value]) => (
                          <td key={heading} class="number">
                            {value(row)}
                          </td>
                        ))}
                        <td class="errors">{row.errors.length === 0 ? "none" : row.errors.map((e) => `${count(e.count)} ${e.kind}`).join(", ")}</td>
                      </tr>
                    ))}
                </tbody>
              );
            })}
          </table>
        </Scroll>
      )}
      {published && <AsPublished published={published} />}
    </Section>
  );
}

/** The source's own figures, as it gave them. */
function AsPublished({ published }: { published: Published }) {
  return (
    <div class="published">
      <h3>
        <bdi>{published.title}</bdi>
      </h3>
      <p class="small">The source's own figures, as it gave them.</p>
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
      {published.note && (
        <p class="note" dir="auto">
          {published.note}
        </p>
      )}
    </div>
  );
}
