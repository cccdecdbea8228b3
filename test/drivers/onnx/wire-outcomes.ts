import { areTensors, type OnnxValues } from "../../../src/drivers/onnx/onnx-value.ts";
import type { NamedModelOptions } from "../../../src/server/named-model.ts";
import type { Server } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { Tensors } from "../../../src/tensor/tensor.ts";
import type { OperatorCase } from "./operator-case.ts";
import { type CaseValues, caseOutcome, isExcused, NOT_CARRIED, PASSED, readCase } from "./operator-outcome.ts";
import { type OperatorWire, openWires } from "./operator-wires.ts";

/** Outcomes of cases over every wire. */
interface WireOutcomes {
  /** Number of cases that passed, by wire. */
  readonly passed: Readonly<Record<string, number>>;
  /** Number of cases with values that the wire has no form for, by wire. */
  readonly notCarried: Readonly<Record<string, number>>;
  /** Cases that neither passed nor are excused, with what came. */
  readonly failures: readonly string[];
}

/** Asks each model of a server of {@link operatorServer} over every wire. */
export async function wireOutcomes(server: Server, cases: readonly OperatorCase[]): Promise<WireOutcomes> {
  const loadErrors = loadErrorsOf(server);
  const wires = Object.entries<OperatorWire>(openWires(server));
  const passed = Object.fromEntries(wires.map(([wire]) => [wire, 0]));
  const notCarried = { ...passed };
  const failures: string[] = [];
  for (const one of cases) {
    const values = readCase(one);
    for (const [name, wire] of wires) {
      const outcome = loadErrors.get(one.name) ?? (await outcomeOver(wire, one.name, values));
      if (outcome === PASSED) passed[name]!++;
      else if (outcome === NOT_CARRIED) notCarried[name]!++;
      else if (!isExcused(one.name, outcome)) failures.push(`${one.name} over ${name}: ${outcome}`);
    }
  }
  return { passed, notCarried, failures };
}

/**
 * Asks each model so often that runs are prepared, and made in the main thread where they are short. Returns the cases
 * that do not pass each time, with what came.
 */
export async function repeatedOutcomes(
  server: Server,
  cases: readonly OperatorCase[],
  times: number,
): Promise<readonly string[]> {
  const loadErrors = loadErrorsOf(server);
  const wire = openWires(server)["V2 gRPC"];
  const failures: string[] = [];
  for (const one of cases.filter(({ name }) => loadErrors.get(name) === undefined)) {
    const values = readCase(one);
    const outcomes = new Set<string>();
    for (let time = 0; time < times; time++) outcomes.add(await outcomeOver(wire, one.name, values));
    const failed = [...outcomes].filter(
      (each) => each !== PASSED && each !== NOT_CARRIED && !isExcused(one.name, each),
    );
    failures.push(...failed.map((outcome) => `${one.name}: ${outcome}`));
  }
  return failures;
}

/** Options of a server of the models of all cases at once. */
export function operatorServer(cases: readonly OperatorCase[]): ServerOptions {
  const models = cases.map(({ name, modelPath }): [string, NamedModelOptions] => [name, { path: modelPath }]);
  return { models: Object.fromEntries(models), loadRetries: 0, ui: false };
}

function loadErrorsOf(server: Server): ReadonlyMap<string, string | undefined> {
  return new Map(server.models().map(({ name, error }) => [name, error?.message]));
}

function outcomeOver(wire: OperatorWire, model: string, values: CaseValues): Promise<string> {
  return caseOutcome(values, async ({ inputs, expected }) => {
    const isCarried = carriesAll(wire, inputs) && carriesAll(wire, expected);
    return isCarried ? wire.ask({ model, inputs, expected }) : undefined;
  });
}

function carriesAll(wire: OperatorWire, values: OnnxValues): values is Tensors {
  return areTensors(values) && Object.values(values).every((tensor) => wire.carries(tensor));
}
