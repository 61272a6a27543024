import { type Finding, Outcome } from "../charts/interval";
import { count, unbroken } from "../format";
import type { Check, Ground, Page } from "../page";
import { DataTable, Section } from "../parts";

const STANDINGS: Record<Ground["standing"], { finding: Finding; word: string }> = {
  good: { finding: "confirmed", word: "in order" },
  bad: { finding: "refuted", word: "not in order" },
  open: { finding: "undecided", word: "unknown or in part" },
};
const CHECKS: Record<Check["standing"], string> = {
  held: "held",
  found: "found faults",
  not_made: "could not look",
};

/** What speaks for the answer and against it, before the evidence itself. */
export function BelieveSection({
  believe,
  checks,
  notes,
}: Pick<Page, "believe" | "checks" | "notes">) {
  return (
    <Section id="believe" title="Should I believe it?">
      {believe.length === 0 && <p class="empty">The record says nothing of it.</p>}
      <ul class="plain grounds" aria-label="What was checked">
        {believe.map((g, i) => {
          const { finding, word } = STANDINGS[g.standing] ?? STANDINGS.open;
          return (
            <li key={i}>
              <b dir="auto">{g.subject}</b>
              <Outcome finding={finding} word={word} />
              <div>
                <p dir="auto">
                  {unbroken(g.sentence)} <a href={`#${g.section}`}>see</a>
                </p>
                {g.more.map((m, k) => (
                  <p key={k} class="small" dir="auto">
                    {unbroken(m)}
                  </p>
                ))}
              </div>
            </li>
          );
        })}
      </ul>
      {checks.length > 0 && (
        <DataTable
          alone
          title="every check"
          columns={[
            "Check",
            "What is so where it finds nothing",
            "Outcome",
            "Of",
            "All",
            "Looked at",
            "Faults",
          ]}
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
      )}
      {notes.length > 0 && (
        <aside class="notes" aria-label="Before you believe it">
          <h3>Before you believe it</h3>
          <ul>
            {notes.map((n, i) => (
              <li key={i} dir="auto">
                {unbroken(n)}
              </li>
            ))}
          </ul>
        </aside>
      )}
    </Section>
  );
}
