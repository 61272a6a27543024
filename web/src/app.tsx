/** The report: navigation and sections. Start with `Record`. */
import { useMemo, useState } from "preact/hooks";
import { Looks, looks } from "./identity";
import type { Page } from "./page";
import type { Reading } from "./read";
import { ContendersSection, MethodSection } from "./sections/about";
import { AnswerSection } from "./sections/answer";
import { AuditSection } from "./sections/audit";
import { BelieveSection } from "./sections/believe";
import { CapacitySection } from "./sections/capacity";
import { CostsSection } from "./sections/costs";
import { CurvesSection } from "./sections/curves";
import { DecidedSection } from "./sections/decided";
import { EffectsSection } from "./sections/effects";
import { ExternalGeneratorsSection } from "./sections/external_generators";
import { LatencySection } from "./sections/latency";
import { SummarySection } from "./sections/summary";
import { SymptomsSection } from "./sections/symptoms";
import { TimeSection } from "./sections/time";
import { TrialsSection } from "./sections/trials";
import { VerdictsSection } from "./sections/verdicts";
import { WarmUpSection } from "./sections/warmup";
import { WhySection } from "./sections/why";
import { Shown } from "./shown";
import { useTheme } from "./theme";
import { AxisTicks } from "./ticks";

/** The sections of a report; some exist only if the record has their data. */
const places = (page: Page): [id: string, text: string][] => [
  ["answer", "Answer"],
  ["believe", "Reliable?"],
  ...(page.effects.length > 0 ? [["effects", "Effects"] as [string, string]] : []),
  ...(page.verdicts.length > 0 || page.effects.length === 0
    ? [["verdicts", "Verdicts"] as [string, string]]
    : []),
  ...(page.causes.length > 0 ? [["why", "Why"] as [string, string]] : []),
  ...(page.symptoms.length > 0 ? [["symptoms", "Symptoms"] as [string, string]] : []),
  ...(page.costs ? [["costs", "Cost"] as [string, string]] : []),
  ...(page.capacities.length > 0 ? [["capacity", "Capacity"] as [string, string]] : []),
  ...(page.external_generators.length > 0
    ? [["generators", "Generators"] as [string, string]]
    : []),
  ...(page.sweeps.length > 0 ? [["curves", "Curves"] as [string, string]] : []),
  ["latency", "Latency"],
  ["summary", "Table"],
  ...(page.audit ? [["audit", "The article"] as [string, string]] : []),
  ["time", "Over time"],
  ["warmup", "Start-up"],
  ["trials", "Trials"],
  ["decided", "Judgement"],
  ["contenders", "Contenders"],
  ["method", "Method"],
];

export function App({ reading }: { reading: Reading }) {
  const [theme, flip] = useTheme();
  return (
    <>
      <a class="skip" href="#record">
        Skip to the answer
      </a>
      <header class="top">
        <b>faceoff</b>
        {"page" in reading && (
          <nav aria-label="Sections">
            {places(reading.page).map(([id, text]) => (
              <a key={id} href={`#${id}`}>
                {text}
              </a>
            ))}
          </nav>
        )}
        <button
          type="button"
          onClick={flip}
          aria-label={`Change to ${theme === "dark" ? "light" : "dark"} colours`}
        >
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      {"page" in reading ? (
        <Record page={reading.page} theme={theme} />
      ) : (
        <main class="problem" id="record" tabIndex={-1}>
          <h1>No record</h1>
          <p>{reading.problem}</p>
        </main>
      )}
    </>
  );
}

function Record({ page, theme }: { page: Page; theme: string }) {
  const [chosen, setCell] = useState<string | null>(null);
  const cell = page.cells.find((c) => c.name === chosen) ?? page.cells[0];
  const choice = { cells: page.cells, cell, setCell };
  const identities = useMemo(() => looks(page.contenders), [page]);
  document.title = `${page.question} – faceoff`;
  return (
    <Looks.Provider value={identities}>
      <AxisTicks.Provider value={page.ticks}>
        <Shown>
          <main id="record" tabIndex={-1}>
            <AnswerSection page={page} />
            <BelieveSection believe={page.believe} checks={page.checks} notes={page.notes} />
            <EffectsSection effects={page.effects} />
            {(page.verdicts.length > 0 || page.effects.length === 0) && (
              <VerdictsSection verdicts={page.verdicts} {...choice} />
            )}
            <WhySection causes={page.causes} {...choice} />
            <SymptomsSection symptoms={page.symptoms} />
            <CostsSection costs={page.costs} />
            <CapacitySection capacities={page.capacities} />
            <ExternalGeneratorsSection external_generators={page.external_generators} />
            <CurvesSection sweeps={page.sweeps} />
            <LatencySection curves={page.curves} {...choice} />
            <SummarySection table={page.table} cells={page.cells} published={page.published} />
            {page.audit && (
              <AuditSection audit={page.audit} table={page.table} curves={page.curves} />
            )}
            <TimeSection
              trials={page.trials}
              contenders={page.contenders}
              theme={theme}
              {...choice}
            />
            <WarmUpSection
              warmups={page.warmups}
              trials={page.trials}
              contenders={page.contenders}
            />
            <TrialsSection
              trials={page.trials}
              faults={page.faults}
              fault_counts={page.fault_counts}
              skipped={page.skipped}
            />
            <DecidedSection {...page} />
            <ContendersSection contenders={page.contenders} />
            <MethodSection page={page} />
          </main>
        </Shown>
      </AxisTicks.Provider>
      <footer>
        <bdi>{page.experiment}</bdi>, recorded <bdi>{page.made.recorded_at}</bdi> in{" "}
        <bdi>{page.made.record}</bdi>; faceoff <bdi>{page.made.version}</bdi>
      </footer>
    </Looks.Provider>
  );
}
