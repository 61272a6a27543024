/** Evidence for and against the answer, all checks, and notes. */
import { type Finding, Outcome } from "../charts/interval";
import { count } from "../format";
import type { Check, Ground, Page } from "../page";
import { DataTable, prose, Section } from "../parts";

const STANDINGS: Record<Ground["standing"], { finding: Finding; word: string }> = {
  good: { finding: "confirmed", word: "sound" },
  bad: { finding: "refuted", word: "unsound" },
  open: { finding: "undecided", word: "unknown or incomplete" },
};
const CHECKS: Record<Check["standing"], string> = {
  held: "held",
  found: "found faults",
  not_made: "did not apply",
};

/** Evidence for and against the answer. */
export function BelieveSection({
  believe,
  checks,
  notes,
}: Pick<Page, "believe" | "checks" | "notes">) {
  return (
    <Section folded id="believe" title="Can you rely on it?">
      {believe.length === 0 && <p class="empty">The record has no evidence.</p>}
      <ul class="plain grounds" aria-label="Evidence">
        {believe.map((g, i) => {
          const { finding, word } = STANDINGS[g.standing] ?? STANDINGS.open;
          return (
            <li key={i}>
              <b dir="auto">{g.subject}</b>
              <Outcome finding={finding} word={word} />
              <div>
                <p dir="auto">
                  {prose(g.sentence)} <a href={`#${g.section}`}>see</a>
                </p>
                {g.more.map((m, k) => (
                  <p key={k} class="small" dir="auto">
                    {prose(m)}
                  </p>
                ))}
              </div>
            </li>
          );
        })}
      </ul>
      {checks.length > 0 && <ChecksTable checks={checks} />}
      {notes.length > 0 && (
        <aside class="notes" aria-label="Before you rely on it">
          <h3>Before you rely on it</h3>
          <ul>
            {notes.map((n, i) => (
              <li key={i} dir="auto">
                {prose(n)}
              </li>
            ))}
          </ul>
        </aside>
      )}
    </Section>
  );
}

/** All checks as a table. */
function ChecksTable({ checks }: { checks: Check[] }) {
  return (
    <DataTable
      alone
      title="every check"
      columns={["Check", "Holds if it finds nothing", "Outcome", "Of", "All", "Checked", "Faults"]}
      texts={4}
      rows={() =>
        checks.map((c) => [
          c.kind,
          c.what,
          CHECKS[c.standing] ?? String(c.standing),
          c.of,
          count(c.all),
          count(c.looked_at),
          count(c.found),
        ])
      }
    />
  );
}
