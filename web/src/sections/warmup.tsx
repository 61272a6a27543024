/** Start-up and warm-up: every start on one axis, cold compared with steady, and each warm-up. */
import { useMemo, useState } from "preact/hooks";
import { Starts } from "../charts/starts";
import { Course, common } from "../charts/windows";
import { count, sig, withUnit } from "../format";
import { Name, useLook } from "../identity";
import type { Contender, Trial, WarmUp, WarmUpClass, Windows } from "../page";
import { CopyTable, DataTable, Pick, Scroll, Section } from "../parts";
import { Legend, useHidden } from "../shown";

const CLASSES: Record<WarmUpClass, string> = {
  flat: "flat",
  warm_up: "warm-up",
  slowdown: "slowdown",
  never_steady: "never steady",
  too_short: "too short to tell",
};
const word = (c: WarmUpClass): string => CLASSES[c] ?? String(c);

/** The usual classes, which are not repeated for every start. */
const usual = (c: WarmUpClass): boolean => c === "flat" || c === "warm_up";

type Measure = "cpu_us" | "rate_per_s" | "p50_ms" | "max_ms";
const MEASURES: { value: Measure; text: string; unit: string }[] = [
  { value: "cpu_us", text: "CPU per request", unit: "µs" },
  { value: "rate_per_s", text: "throughput under load", unit: "/s" },
  { value: "p50_ms", text: "median service time", unit: "ms" },
  { value: "max_ms", text: "maximum", unit: "ms" },
];

interface Start {
  trial: Trial;
  windows: Windows;
}

export function WarmUpSection({
  warmups,
  trials,
  contenders,
}: {
  warmups: WarmUp[];
  trials: Trial[];
  contenders: Contender[];
}) {
  const hidden = useHidden();
  const [measure, setMeasure] = useState<Measure>("cpu_us");
  const starts = useMemo(
    () =>
      trials.flatMap((trial): Start[] =>
        trial.warmup && trial.warmup.t_s.length > 1 ? [{ trial, windows: trial.warmup }] : [],
      ),
    [trials],
  );
  const names = [
    ...new Set([...warmups.map((w) => w.contender), ...starts.map((s) => s.trial.contender)]),
  ].filter((name) => !hidden.has(name) && starts.some((s) => s.trial.contender === name));
  const { unit } = MEASURES.find((m) => m.value === measure)!;
  return (
    <Section
      folded
      id="warmup"
      title="Start-up and warm-up"
      lead="Each start gets load below saturation until it is steady, and only then is measured. Cold is the first second of load, steady the level reached: medians over starts."
    >
      {trials.length > 0 && <Legend names={contenders.map((c) => c.name)} />}
      {trials.length > 0 && <Timeline trials={trials} contenders={contenders} />}
      {warmups.length === 0 && starts.length === 0 && (
        <p class="empty">The record has no warm-up.</p>
      )}
      {warmups.length > 0 && <Cold warmups={warmups} />}
      {starts.length > 0 && (
        <figure class="starts" aria-label="The warm-up of every start">
          <div class="picks">
            <Pick
              label="Every start"
              value={measure}
              onPick={(m) => setMeasure(m as Measure)}
              options={MEASURES}
            />
          </div>
          <p class="small">
            One chart for each block, shaded until the steady state. The starts of a contender share
            the time axis and the log scale.
          </p>
          {names.map((name) => (
            <Courses
              key={name}
              name={name}
              measure={measure}
              unit={unit}
              starts={starts.filter((s) => s.trial.contender === name)}
            />
          ))}
          <WindowsTable starts={starts} />
        </figure>
      )}
    </Section>
  );
}

const classes = (w: WarmUp): string =>
  w.classes.map((c) => `${count(c.count)} ${word(c.class)}`).join(", ") || "none";

function Cold({ warmups }: { warmups: WarmUp[] }) {
  return (
    <>
      <Scroll label="Cold against steady">
        <table class="cold">
          <thead>
            <tr>
              <th scope="col">Contender</th>
              <th scope="col">Starts</th>
              {["Steady after", "CPU µs/request, cold", "steady", "Maximum ms, cold"].map(
                (heading, i) => (
                  <th key={i} scope="col" class="number">
                    {heading}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {warmups.map((w) => (
              <tr key={w.contender}>
                <th scope="row">
                  <Name name={w.contender} />
                </th>
                <td>{classes(w)}</td>
                <td class="number">{withUnit(w.steady_after_s, "s")}</td>
                <td class="number">{sig(w.cold_cpu_us)}</td>
                <td class="number">{sig(w.steady_cpu_us)}</td>
                <td class="number">{sig(w.cold_max_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <CopyTable
        title="cold against steady"
        columns={[
          "Contender",
          "Starts",
          "Steady after, s",
          "CPU µs/request, cold",
          "CPU µs/request, steady",
          "Maximum ms, cold",
        ]}
        rows={() =>
          warmups.map((w) => [
            w.contender,
            classes(w),
            w.steady_after_s,
            w.cold_cpu_us,
            w.steady_cpu_us,
            w.cold_max_ms,
          ])
        }
      />
    </>
  );
}

function Courses({
  name,
  measure,
  unit,
  starts,
}: {
  name: string;
  measure: Measure;
  unit: string;
  starts: Start[];
}) {
  const { colour } = useLook()(name);
  const range = common(starts.flatMap((s) => s.windows[measure]));
  const until = starts.reduce((all, s) => Math.max(all, s.windows.t_s.at(-1) ?? 0), 0);
  return (
    <div class="courses">
      <h3>
        <Name name={name} />
        {range && (
          <small>{`${withUnit(range[0], unit)} to ${withUnit(range[1], unit)}, over ${withUnit(until, "s")}`}</small>
        )}
      </h3>
      {range === null ? (
        <p class="empty">Nothing was recorded.</p>
      ) : (
        <ul class="plain">
          {starts.map(({ trial, windows: w }) => {
            const steady =
              w.steady_after_s === null ? "" : `, steady after ${withUnit(w.steady_after_s, "s")}`;
            return (
              <li key={`${trial.block} ${trial.position}`}>
                <Course
                  t_s={w.t_s}
                  values={w[measure]}
                  range={range}
                  until_s={until}
                  steady_after_s={w.steady_after_s}
                  colour={colour}
                  label={`${name}, block ${trial.block}: ${word(w.class)}${steady}`}
                />
                <span class="small">
                  {trial.block}:{" "}
                  {[
                    ...(usual(w.class) ? [] : [word(w.class)]),
                    ...(w.steady_after_s === null ? [] : [withUnit(w.steady_after_s, "s")]),
                  ].join(", ")}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

/** Every window of every start as a table. */
function WindowsTable({ starts }: { starts: Start[] }) {
  return (
    <DataTable
      title="warm-up, window by window"
      columns={[
        "Contender",
        "Class",
        "Block",
        "Steady after, s",
        "Time, s",
        "Throughput under load /s",
        "CPU µs/request",
        "Median ms",
        "Maximum ms",
      ]}
      texts={2}
      rows={() =>
        starts.flatMap(({ trial, windows: w }) =>
          w.t_s.map((t, i) => [
            trial.contender,
            word(w.class),
            String(trial.block),
            w.steady_after_s,
            t,
            w.rate_per_s[i],
            w.cpu_us[i],
            w.p50_ms[i],
            w.max_ms[i],
          ]),
        )
      }
    />
  );
}

/** The start-up and the steady state of every start. */
function Timeline({ trials, contenders }: { trials: Trial[]; contenders: Contender[] }) {
  const hidden = useHidden();
  return (
    <figure class="forest timeline" aria-label="Every start, from the start of its process">
      <Starts trials={trials} contenders={contenders.filter((c) => !hidden.has(c.name))} />
      <DataTable
        title="every start"
        columns={["Contender", "Valid", "Block", "First correct response, ms", "Steady, ms"]}
        texts={2}
        rows={() =>
          trials.map((t) => [
            t.contender,
            t.valid ? "yes" : "no",
            String(t.block),
            t.ready_ms,
            t.steady_ms,
          ])
        }
      />
    </figure>
  );
}
