/** Symptoms: known causes that are visible in the data, each with a chart. */
import { SmallPicture } from "../charts/picture";
import { Name } from "../identity";
import type { Symptom } from "../page";
import { DataTable, prose, Section } from "../parts";
import { useHidden } from "../shown";

/** The symptoms of one kind that are shown at once: many variants may have the same cause. */
const FIRST = 3;

export function SymptomsSection({ symptoms }: { symptoms: Symptom[] }) {
  const kinds = [...new Set(symptoms.map((s) => s.kind))].map((kind) => ({
    kind,
    all: symptoms.filter((s) => s.kind === kind),
  }));
  if (symptoms.length === 0) return null;
  return (
    <Section
      id="symptoms"
      title="Symptoms"
      lead="Known causes that are visible in the shape of the data. They explain verdicts but never decide them."
    >
      <Symptoms of={kinds.flatMap(({ all }) => all.slice(0, FIRST))} />
      {kinds
        .filter(({ all }) => all.length > FIRST)
        .map(({ kind, all }) => (
          <details key={kind} class="more">
            <summary>
              {all.length - FIRST} more of <bdi>{kind}</bdi>
            </summary>
            <Symptoms of={all.slice(FIRST)} />
          </details>
        ))}
    </Section>
  );
}

function Symptoms({ of }: { of: Symptom[] }) {
  const hidden = useHidden();
  return (
    <div class="symptoms">
      {of.map((s, i) => (
        <article key={i} data-chart>
          <h3>
            <bdi>{s.kind}</bdi>
          </h3>
          <p class="small">
            <Name name={s.contender} />
            {s.cell !== null && (
              <>
                {" "}
                in <bdi>{s.cell}</bdi>
              </>
            )}
          </p>
          <p dir="auto">{prose(s.sentence)}</p>
          {s.hint && (
            <p class="small" dir="auto">
              <i>hint:</i> {prose(s.hint)}
            </p>
          )}
          {hidden.has(s.contender) ? (
            <p class="empty">The chart is hidden because its contender is hidden.</p>
          ) : (
            <>
              <SmallPicture of={s.picture} />
              <DataTable
                title={s.picture.title}
                columns={["Series", s.picture.x, s.picture.y]}
                rows={() =>
                  s.picture.series.flatMap((line) => line.points.map(([x, y]) => [line.name, x, y]))
                }
              />
            </>
          )}
        </article>
      ))}
    </div>
  );
}
