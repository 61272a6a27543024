import {
  Beside,
  Ground,
  grounds,
  Interval,
  IntervalKey,
  Outcome,
  other,
  RatioAxis,
} from "../charts/interval";
import { band, ratioScale } from "../charts/scales";
import { useNearer, Zoom } from "../charts/stretch";
import { percent, probability, unbroken, webAddress } from "../format";
import { Name } from "../identity";
import type { Claim, Page, Source } from "../page";
import { DataTable } from "../parts";

const OUTCOMES = {
  answered: "Answered",
  undecided: "Undecided",
  unsound: "Unsound: not fit to judge from",
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
          {unbroken(answer.sentence)}
        </p>
        {answer.details.length > 0 && (
          <ul class="details">
            {answer.details.map((d, i) => (
              <li key={i} dir="auto">
                {unbroken(d)}
              </li>
            ))}
          </ul>
        )}
      </div>
      {page.claims.length > 0 ? <Claims claims={page.claims} /> : <Spoken page={page} />}
    </section>
  );
}

function Cite({ source }: { source: Source }) {
  const address = webAddress(source.url);
  return (
    <p class="cite">
      Asked by{" "}
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

/** The picture: every claim's interval on one axis. */
function Claims({ claims }: { claims: Claim[] }) {
  const near = useNearer();
  const ratios = claims.flatMap((c) =>
    c.cells.flatMap((e) => [
      e.ratio,
      e.ratio_low,
      e.ratio_high,
      ...(other(e) ?? []),
      ...band(e.margin),
    ]),
  );
  const scale = ratioScale(ratios, near.times);
  const tested = claims.filter((c) => c.p !== null).length;
  return (
    <figure class="forest claims" aria-label="The claims, each with its ratio to the baseline">
      <div class="forest-head">
        <span />
        <RatioAxis scale={scale} />
        <span />
      </div>
      {claims.map((claim, i) => (
        <div class="group" key={i}>
          <div class="claim">
            <Outcome finding={claim.outcome} />
            <p dir="auto">{claim.text}</p>
            <p class="small">
              <Name name={claim.contender} />: <span dir="auto">{claim.label}</span>, expected{" "}
              <span dir="auto">{claim.expects}</span>
            </p>
            {claim.reason && (
              <p class="small" dir="auto">
                {claim.reason}
              </p>
            )}
            <Tested claim={claim} of={tested} />
          </div>
          <div class="estimates">
            {claim.cells.map((e, k) => (
              <div class="estimate" key={k}>
                <p class="caption">
                  <bdi class="cell-name">{e.cell}</bdi>
                  {claim.cells.length > 1 && <Outcome finding={e.outcome} />}
                  <span dir="auto">{unbroken(e.phrase)}</span>
                </p>
                <Interval
                  of={{ ...e, other: other(e) }}
                  scale={scale}
                  label={`${e.cell}: ${e.outcome}. ${e.phrase}`}
                />
                <Ground of={e} />
              </div>
            ))}
            {claim.cells.length === 0 && <p class="empty">No cell measured it.</p>}
          </div>
        </div>
      ))}
      <Zoom of="claims" {...near.props} />
      <IntervalKey
        findings={["confirmed", "refuted", "undecided"]}
        confidences={claims.flatMap((c) =>
          c.cells.filter((e) => e.ratio_low !== null).map((e) => e.confidence),
        )}
      >
        <Beside />
      </IntervalKey>
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
    </figure>
  );
}

/** Without claims: the verdicts that the sentence speaks of, on one axis. */
function Spoken({ page }: { page: Page }) {
  const near = useNearer();
  const { subject, metrics } = page.answer;
  const spoken = page.verdicts.filter(
    (v) => v.contender === subject && metrics.includes(v.metric) && v.ratio !== null,
  );
  if (spoken.length === 0)
    return <p class="empty">This experiment states no claims; what was found stands below.</p>;
  const ratios = spoken.flatMap((v) => [
    v.ratio,
    v.ratio_low,
    v.ratio_high,
    ...(other(v) ?? []),
    ...band(v.margin),
  ]);
  const scale = ratioScale(ratios, near.times);
  return (
    <figure
      class="forest spoken"
      aria-label="What the answer rests on, each with its ratio to the baseline"
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
            <Outcome finding={v.outcome} /> <span dir="auto">{unbroken(v.phrase)}</span>
          </div>
        </div>
      ))}
      <Zoom of="what the answer rests on" {...near.props} />
      <IntervalKey
        findings={["better", "worse", "equivalent", "undecided"]}
        confidences={spoken.map((v) => v.confidence)}
      >
        <Beside />
      </IntervalKey>
      <DataTable
        title="what the answer rests on"
        columns={[
          "Metric",
          "Cell",
          "Outcome",
          "Ratio",
          "Low",
          "High",
          ...grounds.columns,
          "Margin",
        ]}
        texts={3}
        rows={() =>
          spoken.map((v) => [
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
    </figure>
  );
}

/** What many claims do to one of them. */
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
