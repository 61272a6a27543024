/** The contenders, the design, the machine, and the commands that repeat the run. */
import { Copy } from "../copy";
import { bytes, count, startUp } from "../format";
import { Name } from "../identity";
import type { Contender, Fact, Page } from "../page";
import { Facts, Section } from "../parts";

export function ContendersSection({ contenders }: { contenders: Contender[] }) {
  return (
    <Section folded id="contenders" title="Contenders">
      {contenders.length === 0 && <p class="empty">The record names no contender.</p>}
      <div class="cards">
        {contenders.map((c) => (
          <article key={c.name}>
            <h3>
              <Name name={c.name} /> {c.baseline && <small>baseline</small>}
            </h3>
            <p dir="auto">{c.summary}</p>
            <Facts facts={[...own(c), ...c.facts]} />
            {c.artifacts.map((a) => (
              <p class="digest" key={a.path}>
                {a.path}, {bytes(a.bytes)}, sha256 {a.sha256}
              </p>
            ))}
          </article>
        ))}
      </div>
    </Section>
  );
}

function own(c: Contender): Fact[] {
  return [
    { name: "start-up", value: startUp(c) },
    {
      name: "trials",
      value: `${count(c.trials_valid)} valid, ${count(c.trials_excluded)} excluded`,
    },
    ...(c.version ? [{ name: "version", value: c.version }] : []),
    ...(c.artifacts.length === 0
      ? []
      : [{ name: "artefacts", value: bytes(c.artifacts.reduce((sum, a) => sum + a.bytes, 0)) }]),
  ];
}

export function MethodSection({ page }: { page: Page }) {
  return (
    <Section folded id="method" title="How it was measured">
      <div class="columns">
        <div>
          <h3>Design</h3>
          <Facts facts={page.design} />
        </div>
        <div>
          <h3>Machine</h3>
          <Facts facts={page.machine} />
        </div>
      </div>
      {page.repeat.length > 0 && (
        <>
          <h3>Repeat it</h3>
          {page.repeat.map((command, i) => (
            <Command key={i} command={command} />
          ))}
        </>
      )}
      {page.analysis && (
        <div class="analysis">
          <h3>Analysis of an earlier run</h3>
          {page.analysis.split(/\n\s*\n/).map((paragraph, i) => (
            <p key={i} dir="auto">
              {paragraph}
            </p>
          ))}
        </div>
      )}
    </Section>
  );
}

function Command({ command }: { command: string }) {
  return (
    <div class="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus scrolls by keys */}
      <pre tabIndex={0}>
        <code>{command}</code>
      </pre>
      <Copy text="Copy" of={command} make={() => command} />
    </div>
  );
}
