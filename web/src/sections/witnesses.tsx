import { count, sig } from "../format";
import type { WitnessLine, Witnesses } from "../page";
import { Scroll, Section } from "../parts";

const COLUMNS: [heading: string, value: (line: WitnessLine) => string][] = [
  ["Reached /s", (l) => sig(l.rate_per_s)],
  ["Median ms", (l) => sig(l.p50_ms)],
  ["p99 ms", (l) => sig(l.p99_ms)],
  ["Failed %", (l) => sig(l.failed_percent)],
  ["Own CPU µs/request", (l) => sig(l.cpu_us_per_request)],
  ["Own memory MB", (l) => sig(l.memory_mb)],
  ["Trials", (l) => count(l.used)],
];

/** What other generators say of the same load, with what is known of it. */
export function WitnessesSection({ witnesses }: { witnesses: Witnesses[] }) {
  if (witnesses.length === 0) return null;
  return (
    <Section
      id="generators"
      title="Generators"
      lead="The same load by several generators: what each reached and reports by its own account, and what it cost itself, as medians over trials. They count and time in their own ways, so they stand beside each other and nobody is ranked."
    >
      {witnesses.map((of) => (
        <figure key={of.title} aria-label={of.title}>
          <h3>
            <bdi>{of.title}</bdi>
          </h3>
          <Scroll label={of.title}>
            <table class="witnesses">
              <thead>
                <tr>
                  <th scope="col">Generator</th>
                  {COLUMNS.map(([heading]) => (
                    <th key={heading} scope="col" class="number">
                      {heading}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {of.truth && (
                  <tr>
                    <th scope="row">known</th>
                    {[of.truth.rate_per_s, of.truth.p50_ms, of.truth.p99_ms].map((value, i) => (
                      <td key={i} class="number">
                        {sig(value)}
                      </td>
                    ))}
                    <td colSpan={COLUMNS.length - 3} />
                  </tr>
                )}
                {of.lines.map((line) => (
                  <tr key={line.cell}>
                    <th scope="row">
                      <bdi>{line.generator}</bdi>
                    </th>
                    {COLUMNS.map(([heading, value]) => (
                      <td key={heading} class="number">
                        {value(line)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          <ul class="plain">
            {of.lines
              .filter((line) => line.differs.length > 0)
              .map((line) => (
                <li key={line.cell} dir="auto">
                  {line.generator}: {line.differs.join("; ")}.
                </li>
              ))}
          </ul>
        </figure>
      ))}
    </Section>
  );
}
