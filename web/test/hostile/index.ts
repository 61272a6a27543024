/** Records that the report must survive: a hostile one, and one without any measurement. */
import type { Page } from "../../src/page";
import ticks from "../generated/ticks.json";
import {
  ATTACK,
  AUDIT,
  CAPACITIES,
  CELLS,
  CLAIMS,
  CONTENDERS,
  COSTS,
  CURVES,
  EFFECTS,
  GENERATORS,
  long,
  NOISE,
  STOPPING,
  STRIP,
  SWEEPS,
  SYMPTOMS,
  TABLE,
  TRIALS,
  VERDICTS,
  WARMUPS,
} from "./parts";

export { ATTACK } from "./parts";

/**
 * A record that must not be trusted: markup as names, a hundred contenders, empty arrays, and null
 * wherever it is allowed.
 */
export function hostile(): Page {
  return {
    schema: "faceoff.page.v1",
    ticks,
    strip: STRIP,
    experiment: ATTACK,
    question: `${ATTACK} ${long}`,
    source: { title: ATTACK, author: null, url: "javascript:alert(4)", published: null },
    answer: {
      outcome: "unsound",
      sentence: `${ATTACK} ${long}`,
      details: [],
      subject: ATTACK,
      metrics: [ATTACK],
    },
    believe: [
      { subject: ATTACK, standing: "good", sentence: long, more: [ATTACK, long], section: `"><b>` },
      { subject: long, standing: ATTACK as "open", sentence: "", more: [], section: "" },
    ],
    checks: [
      {
        kind: ATTACK,
        what: long,
        standing: ATTACK as "held",
        of: ATTACK,
        all: -1,
        looked_at: 1e300,
        found: Number.NaN,
      },
    ],
    notes: [ATTACK],
    claims: CLAIMS,
    contenders: CONTENDERS,
    cells: CELLS,
    verdicts: VERDICTS,
    table: TABLE,
    published: { title: ATTACK, columns: [ATTACK], rows: [[long], []], note: null },
    curves: CURVES,
    effects: EFFECTS,
    costs: COSTS,
    capacities: CAPACITIES,
    external_generators: GENERATORS,
    sweeps: SWEEPS,
    trials: TRIALS,
    faults: [{ kind: ATTACK, where: long, evidence: ATTACK, hint: "" }],
    fault_counts: [{ kind: ATTACK, count: 1e300 }],
    symptoms: SYMPTOMS,
    warmups: WARMUPS,
    stopping: STOPPING,
    noise: NOISE,
    instrument: [{ name: long, value: ATTACK }],
    audit: AUDIT,
    skipped: [{ contender: ATTACK, reason: long }],
    machine: [],
    design: [{ name: long, value: ATTACK }],
    repeat: [`echo '${ATTACK}'`, long],
    analysis: `${ATTACK}\n\n${long}`,
    made: { version: ATTACK, recorded_at: ATTACK, record: long },
  };
}

/** A record without any measurement. */
export function bare(): Page {
  return {
    ...hostile(),
    question: "Nothing?",
    source: null,
    answer: {
      outcome: "undecided",
      sentence: "Nothing was measured.",
      details: [],
      subject: null,
      metrics: [],
    },
    believe: [],
    checks: [],
    notes: [],
    strip: [],
    claims: [],
    contenders: [],
    cells: [],
    verdicts: [],
    table: [],
    published: null,
    curves: [],
    costs: null,
    capacities: [],
    external_generators: [],
    sweeps: [],
    effects: [],
    trials: [],
    faults: [],
    fault_counts: [],
    symptoms: [],
    warmups: [],
    noise: [],
    instrument: [],
    audit: null,
    stopping: { planned: 0, run: 0, early: false, confidence: 0.95, margin: 0.05, looks: [] },
    skipped: [],
    machine: [],
    design: [],
    repeat: [],
    analysis: null,
  };
}
