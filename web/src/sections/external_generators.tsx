/** The reports of several load generators about the same load. */
import type { Value } from "../csv";
import { sig } from "../format";
import type { GeneratorComparison, GeneratorLine } from "../page";
import { CopyTable, Scroll, Section } from "../parts";

const COLUMNS: [heading: string, value: (line: GeneratorLine) => number | string | null][] = [
  ["Reached /s", (l) => l.rate_per_s],
  ["Median ms", (l) => l.p50_ms],
  ["p99 ms", (l) => l.p99_ms],
  ["Failed %", (l) => l.failed_percent],
  ["Own CPU µs/request", (l) => l.cpu_us_per_request],
  ["Own memory MB", (l) => l.memory_mb],
  ["Trials", (l) => l.trials],
];

/** A text as it is, a number rounded. */
const shown = (value: number | string | null) => (typeof value === "string" ? value : sig(value));

/** The known figures, then each generator. */
const rows = ({ truth, lines }: GeneratorComparison): Value[][] => [
  ...(truth
    ? [
        [
          "known",
          truth.rate_per_s,
          truth.p50_ms,
          truth.p99_ms,
          ...COLUMNS.slice(3).map(() => null),
          null,
        ],
      ]
    : []),
  ...lines.map((line) => [
    line.generator,
    ...COLUMNS.map(([, value]) => value(line)),
    line.differs.join("; "),
  ]),
];

/** The reports of several generators about one load. */
export function ExternalGeneratorsSection({
  external_generators,
}: {
  external_generators: GeneratorComparison[];
}) {
  if (external_generators.length === 0) return null;
  return (
    <Section
      id="generators"
      title="Generators"
      lead="The same load from several generators: what each reached and reported, and what it used itself, as medians over trials. Each counts and times in its own way, so there is no ranking."
    >
      {external_generators.map((of) => (
        <figure key={of.title} aria-label={of.title}>
          <h3>
            <bdi>{of.title}</bdi>
          </h3>
          <ExternalGeneratorsTable of={of} />
          <CopyTable
            title={of.title}
            columns={["Generator", ...COLUMNS.map(([heading]) => heading), "Differs"]}
            rows={() => rows(of)}
          />
          {of.excluded && <p>{of.excluded}</p>}
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

/** The known figures and those of each generator. */
function ExternalGeneratorsTable({ of }: { of: GeneratorComparison }) {
  return (
    <Scroll label={of.title}>
      <table class="external_generators">
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
                  {shown(value(line))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
