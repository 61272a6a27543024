/** The question, the answer, absolute values, and the intervals behind the answer. */
import {
  Ground,
  grounds,
  Interval,
  IntervalKey,
  OtherInterval,
  Outcome,
  other,
  RatioAxis,
} from "../charts/interval";
import { band, type RatioScale, ratioScale } from "../charts/scales";
import { useNearer, Zoom } from "../charts/stretch";
import { percent, probability, webAddress } from "../format";
import { Name } from "../identity";
import type { Claim, Page, Source, Verdict } from "../page";
import { DataTable, prose, Scroll } from "../parts";
import { useTicks } from "../ticks";

const OUTCOMES = {
  answered: "Answered",
  undecided: "Undecided",
  unsound: "Unsound: no verdict is possible",
} as const;

export function AnswerSection({ page }: { page: Page }) {
  const { answer } = page;
  return (
    <section id="answer" aria-label="The answer">
      <h1 dir="auto">{page.question}</h1>
      {page.source && <Cite source={page.source} />}
      <div class={`answer ${answer.outcome}`}>
        <p class="status">{OUTCOMES[answer.outcome]}</p>
        <p class="sentence" dir="auto">
          {prose(answer.sentence)}
        </p>
        {answer.details.length > 0 && (
          <ul class="details">
            {answer.details.map((d, i) => (
              <li key={i} dir="auto">
                {prose(d)}
              </li>
            ))}
          </ul>
        )}
      </div>
      <Strip page={page} />
      {page.claims.length > 0 ? <Claims claims={page.claims} /> : <Spoken page={page} />}
    </section>
  );
}

/** Absolute values of the contender and the baseline. */
function Strip({ page }: { page: Page }) {
  const rows = page.strip;
  const baseline = page.contenders.find((c) => c.baseline);
  if (rows.length === 0 || !page.answer.subject || !baseline) return null;
  return (
    <Scroll label="Absolute values">
      <table class="absolute">
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col" class="number">
              <Name name={page.answer.subject} />
            </th>
            <th scope="col" class="number">
              <Name name={baseline.name} />
            </th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.label} ${row.cell}`}>
              <th scope="row">
                {row.label} <bdi class="small">{row.cell}</bdi>
              </th>
              <td class="number">{row.value}</td>
              <td class="number">{row.baseline_value}</td>
              <td title={row.reason}>
                <Outcome finding={row.outcome} /> {prose(row.difference)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Cite({ source }: { source: Source }) {
  const address = webAddress(source.url);
  return (
    <p class="cite">
      Question from{" "}
      <cite>
        {address ? (
          <a href={address} rel="noopener noreferrer">
            <bdi>{source.title}</bdi>
          </a>
        ) : (
          <bdi>{source.title}</bdi>
        )}
      </cite>
      {source.author && (
        <>
          , <bdi>{source.author}</bdi>
        </>
      )}
      {source.published && (
        <>
          , <bdi>{source.published}</bdi>
        </>
      )}
    </p>
  );
}

/** The intervals of all claims on one axis. */
function Claims({ claims }: { claims: Claim[] }) {
  const near = useNearer();
  const ticks = useTicks();
  const ratios = claims.flatMap((c) =>
    c.cells.flatMap((e) => [
      e.ratio,
      e.ratio_low,
      e.ratio_high,
      ...(other(e) ?? []),
      ...band(e.margin),
    ]),
  );
  const scale = ratioScale(ratios, ticks, near.times);
  const tested = claims.filter((c) => c.p !== null).length;
  return (
    <figure class="forest claims" aria-label="The claims, each with its ratio to the baseline">
      <div class="forest-head">
        <span />
        <RatioAxis scale={scale} />
        <span />
      </div>
      {claims.map((claim, i) => (
        <ClaimGroup key={i} claim={claim} tested={tested} scale={scale} />
      ))}
      <Zoom of="claims" {...near.props} />
      <IntervalKey
        findings={["confirmed", "refuted", "undecided"]}
        confidences={claims.flatMap((c) =>
          c.cells.filter((e) => e.ratio_low !== null).map((e) => e.confidence),
        )}
      >
        <OtherInterval />
      </IntervalKey>
      <ClaimsTable claims={claims} />
    </figure>
  );
}

/** Without claims: the verdicts behind the answer, on one axis. */
function Spoken({ page }: { page: Page }) {
  const near = useNearer();
  const ticks = useTicks();
  const { subject, metrics } = page.answer;
  const spoken = page.verdicts.filter(
    (v) => v.contender === subject && metrics.includes(v.metric) && v.ratio !== null,
  );
  if (spoken.length === 0)
    return <p class="empty">This experiment makes no claims; the results are below.</p>;
  const ratios = spoken.flatMap((v) => [
    v.ratio,
    v.ratio_low,
    v.ratio_high,
    ...(other(v) ?? []),
    ...band(v.margin),
  ]);
  const scale = ratioScale(ratios, ticks, near.times);
  return (
    <figure
      class="forest spoken"
      aria-label="The verdicts behind the answer, each with its ratio to the baseline"
    >
      <p class="small">
        <Name name={subject!} /> against <Name name={spoken[0]!.baseline} />
      </p>
      <div class="forest-row">
        <span />
        <RatioAxis scale={scale} />
        <span />
      </div>
      {spoken.map((v) => (
        <div class="forest-row" key={`${v.metric} ${v.cell}`}>
          <span>
            <bdi>{v.label}</bdi> <bdi class="small">{v.cell}</bdi>
          </span>
          <Interval
            of={{ ...v, other: other(v) }}
            scale={scale}
            label={`${v.label} in ${v.cell}: ${v.outcome}. ${v.phrase}`}
          />
          <div class="phrase">
            <Outcome finding={v.outcome} /> <span dir="auto">{prose(v.phrase)}</span>
          </div>
        </div>
      ))}
      <Zoom of="the verdicts behind the answer" {...near.props} />
      <IntervalKey
        findings={["better", "worse", "equivalent", "undecided"]}
        confidences={spoken.map((v) => v.confidence)}
      >
        <OtherInterval />
      </IntervalKey>
      <SpokenTable verdicts={spoken} />
    </figure>
  );
}

/** The p-value of a claim, and its correction for the number of claims. */
function Tested({ claim, of }: { claim: Claim; of: number }) {
  if (claim.p === null) return null;
  return (
    <p class="small ground">
      p {probability(claim.p)}
      {claim.p_adjusted !== null &&
        of > 1 &&
        `; ${probability(claim.p_adjusted)} among ${of} claims (Holm)`}
    </p>
  );
}

/** The cells of all claims as a table. */
function ClaimsTable({ claims }: { claims: Claim[] }) {
  return (
    <DataTable
      title="claims"
      columns={[
        "Claim",
        "Contender",
        "Metric",
        "Expects",
        "Cell",
        "Outcome",
        "Ratio",
        "Low",
        "High",
        ...grounds.columns,
        "Margin",
        "p",
        "p, Holm",
      ]}
      texts={6}
      rows={() =>
        claims.flatMap((c) =>
          c.cells.map((e) => [
            c.text,
            c.contender,
            c.label,
            c.expects,
            e.cell,
            e.outcome,
            e.ratio,
            e.ratio_low,
            e.ratio_high,
            ...grounds(e),
            percent(e.margin),
            probability(c.p),
            probability(c.p_adjusted),
          ]),
        )
      }
    />
  );
}

/** The verdicts behind the answer as a table. */
function SpokenTable({ verdicts }: { verdicts: Verdict[] }) {
  return (
    <DataTable
      title="verdicts behind the answer"
      columns={["Metric", "Cell", "Outcome", "Ratio", "Low", "High", ...grounds.columns, "Margin"]}
      texts={3}
      rows={() =>
        verdicts.map((v) => [
          v.label,
          v.cell,
          v.outcome,
          v.ratio,
          v.ratio_low,
          v.ratio_high,
          ...grounds(v),
          percent(v.margin),
        ])
      }
    />
  );
}

/** A claim with the interval of each of its cells. */
function ClaimGroup({ claim, tested, scale }: { claim: Claim; tested: number; scale: RatioScale }) {
  return (
    <div class="group">
      <div class="claim">
        <Outcome finding={claim.outcome} />
        <p dir="auto">{claim.text}</p>
        <details class="statistics">
          <summary>
            <Name name={claim.contender} />: <span dir="auto">{claim.label}</span>
          </summary>
          <p class="small">
            Expected <span dir="auto">{claim.expects}</span>
            {claim.reason && (
              <>
                ; <span dir="auto">{prose(claim.reason)}</span>
              </>
            )}
          </p>
          <Tested claim={claim} of={tested} />
          {claim.cells.map((e, k) => (
            <Ground key={k} of={e} />
          ))}
        </details>
      </div>
      <div class="estimates">
        {claim.cells.map((e, k) => (
          <div class="estimate" key={k}>
            <p class="caption">
              <bdi class="cell-name">{e.cell}</bdi>
              {claim.cells.length > 1 && <Outcome finding={e.outcome} />}
              <span dir="auto">{prose(e.phrase)}</span>
            </p>
            <Interval
              of={{ ...e, other: other(e) }}
              scale={scale}
              label={`${e.cell}: ${e.outcome}. ${e.phrase}`}
            />
          </div>
        ))}
        {claim.cells.length === 0 && <p class="empty">No cell measures it.</p>}
      </div>
    </div>
  );
}
