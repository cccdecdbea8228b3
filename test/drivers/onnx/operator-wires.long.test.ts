import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { OnnxValue } from "../../../src/drivers/onnx/onnx-value.ts";
import { isTensor } from "../../../src/tensor/tensor.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import type { OperatorCase } from "./operator-case.ts";
import { hasOperatorCases, isOfTensors, operatorCases } from "./operator-data.ts";
import { isExcused, PASSED, readCase } from "./operator-outcome.ts";
import { operatorServer, repeatedOutcomes, wireOutcomes } from "./wire-outcomes.ts";

/** Cases of those chosen that passed with ONNX Runtime 1.30; a machine with more locales has a few more. */
const LEAST = {
  "V2 gRPC": 287,
  "V2 HTTP with binary values": 287,
  "V2 HTTP with JSON": 283,
  "TensorFlow Serving gRPC": 287,
  "TensorFlow Serving REST": 282,
  Kibernetika: 279,
};

const isThere = hasOperatorCases();
/** A quarter of the models: few kinds of them decide how runs are prepared, and it has them all. */
const isOfQuarter = (_: unknown, index: number) => index % 4 === 0;
/**
 * A quarter, and those with a value of a kind that none before them has, since wires know no operators: the results of
 * all are checked in operator-cases.long.test.ts.
 */
const chosen = chooseCases(isThere ? operatorCases() : []);
const server = shareServer(() => operatorServer(chosen));

/** The kinds of a case's values as a wire sees them: dtype, rank, first size of 0, and if JSON has words for all. */
function kindsOf(one: OperatorCase): readonly string[] {
  const kindOf = (value: OnnxValue) => {
    if (!isTensor(value)) return "none";
    const hasWords = value.data instanceof Float32Array ? value.data.every(Number.isFinite) : true;
    return [value.dtype, value.shape.length, value.shape.indexOf(0), hasWords].join(" ");
  };
  return Object.entries(readCase(one)).flatMap(([role, given]) => {
    const values: readonly OnnxValue[] = Object.values(given);
    return [`${values.length} ${role}`, ...values.map((value) => `${role}: ${kindOf(value)}`)];
  });
}

function chooseCases(cases: readonly OperatorCase[]): readonly OperatorCase[] {
  const seen = new Set<string>();
  return cases.filter((one, index) => {
    const kinds = kindsOf(one);
    const isNew = kinds.some((kind) => !seen.has(kind));
    for (const kind of kinds) seen.add(kind);
    return isNew || isOfQuarter(one, index);
  });
}

it.skipIf(!isThere)(
  "gives the results of ONNX's reference over every wire that carries the values",
  async () => {
    const { failures, passed, notCarried } = await wireOutcomes(await server(), chosen);
    expect(failures).toEqual([]);
    expect(Object.entries(LEAST).filter(([wire, least]) => passed[wire]! < least)).toEqual([]);
    // Sequences and optionals; in JSON also NaN and infinities, sizes behind a 0, and a request without inputs.
    expect(notCarried).toEqual({
      "V2 gRPC": 7,
      "V2 HTTP with binary values": 7,
      "V2 HTTP with JSON": 14,
      "TensorFlow Serving gRPC": 7,
      "TensorFlow Serving REST": 12,
      Kibernetika: 18,
    });
  },
  600_000,
);

it.skipIf(!isThere)(
  "gives them each time, also where the values of an input decide about its run",
  async () => {
    // Eight runs in the model's thread say whether the next ones are made in the main thread.
    const cases = operatorCases().filter(isOfQuarter);
    expect(await repeatedOutcomes(await server(), cases, 16)).toEqual([]);
  },
  600_000,
);

it.skipIf(!isThere)("gives hooks sequences and optionals by args.session", async () => {
  const cases = operatorCases().filter((one) => !isOfTensors(one));
  const hooks = fileURLToPath(new URL("operator-hooks.ts", import.meta.url));
  const options = { cases: JSON.stringify(cases) };
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks, options });
  const outcomes: [string, string][] = [];
  for (const { name } of cases) {
    const response = await fetch(`${httpUrl}/serving-proxy`, { method: "POST", body: JSON.stringify({ name }) });
    const { outcome, error } = (await response.json()) as Record<string, string>;
    outcomes.push([name, outcome ?? String(error)]);
  }
  expect(outcomes.filter(([name, outcome]) => outcome !== PASSED && !isExcused(name, outcome))).toEqual([]);
  expect(outcomes.filter(([, outcome]) => outcome === PASSED).length).toBe(23);
});
