import { SmallPicture } from "../charts/picture";
import { unbroken } from "../format";
import { Name } from "../identity";
import type { Symptom } from "../page";
import { DataTable, Section } from "../parts";
import { useHidden } from "../shown";

/** Of one kind; a chain of many variants shows one cause in each of them. */
const FIRST = 3;

export function SymptomsSection({ symptoms }: { symptoms: Symptom[] }) {
  const kinds = [...new Set(symptoms.map((s) => s.kind))].map((kind) => ({
    kind,
    all: symptoms.filter((s) => s.kind === kind),
  }));
  return (
    <Section
      id="symptoms"
      title="Symptoms"
      lead="Known causes that the shape of the data gives away. They explain; they decide nothing."
    >
      {symptoms.length === 0 ? (
        <p class="empty">None of the known ones was seen.</p>
      ) : (
        <>
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
        </>
      )}
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
          <p dir="auto">{unbroken(s.sentence)}</p>
          {s.hint && (
            <p class="small" dir="auto">
              <i>hint:</i> {unbroken(s.hint)}
            </p>
          )}
          {hidden.has(s.contender) ? (
            <p class="empty">Its picture is hidden, as its contender is.</p>
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
