/** What a million requests cost each contender. */
import { confidence, count } from "../format";
import { Name } from "../identity";
import type { CostLine, Costs } from "../page";
import { CopyTable, Scroll, Section } from "../parts";

const TITLE = "Cost of a million requests";

/** The costs; nothing if the command was given no price. */
export function CostsSection({ costs }: { costs: Costs | null }) {
  if (!costs) return null;
  return (
    <Section
      id="costs"
      title="Cost"
      lead={`What a million requests cost at ${costs.price}, from CPU per request, memory and throughput. Intervals are over blocks, at ${confidence(costs.confidence)}.`}
    >
      <figure aria-label={TITLE}>
        <CostsTable costs={costs} />
        <CopyTable
          title={TITLE}
          columns={[
            "Cell",
            "Contender",
            `Cost${unit(costs)}`,
            "Low",
            "High",
            "CPU",
            "Memory",
            "Ratio",
            "Ratio low",
            "Ratio high",
            "Blocks",
          ]}
          rows={() => costs.lines.map(row)}
        />
      </figure>
    </Section>
  );
}

const unit = ({ currency }: Costs) => (currency ? `, ${currency}` : "");

const row = (line: CostLine) => [
  line.cell,
  line.contender,
  line.total,
  line.low,
  line.high,
  line.cpu,
  line.memory,
  line.ratio,
  line.ratio_low,
  line.ratio_high,
  count(line.blocks),
];

/** A row for each cell and contender. */
function CostsTable({ costs }: { costs: Costs }) {
  return (
    <Scroll label={TITLE}>
      <table class="costs">
        <thead>
          <tr>
            <th scope="col">Cell</th>
            <th scope="col">Contender</th>
            <th scope="col" class="number">
              Cost<bdi>{unit(costs)}</bdi>
            </th>
            <th scope="col">Compared with the baseline</th>
          </tr>
        </thead>
        <tbody>
          {costs.lines.map((line) => (
            <tr key={`${line.cell} ${line.contender}`}>
              <td>
                <bdi>{line.cell}</bdi>
              </td>
              <th scope="row">
                <Name name={line.contender} />
              </th>
              <td class="number">
                <bdi>{line.text}</bdi>
              </td>
              <td>{line.compared ? <bdi>{line.compared}</bdi> : "baseline"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
