import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { hasOperatorCases, isOfTensors, operatorCases } from "./operator-data.ts";
import { isExcused, PASSED } from "./operator-outcome.ts";
import { operatorServer, repeatedOutcomes, wireOutcomes } from "./wire-outcomes.ts";

/** Cases that passed with ONNX Runtime 1.30; a machine with more locales has a few more. */
const LEAST = {
  "V2 gRPC": 967,
  "V2 HTTP with binary values": 967,
  "V2 HTTP with JSON": 958,
  "TensorFlow Serving gRPC": 967,
  "TensorFlow Serving REST": 962,
  Kibernetika: 954,
};

const isThere = hasOperatorCases();
/** Its thousand models take a minute to load. */
const server = shareServer(() => operatorServer(operatorCases()));

it.skipIf(!isThere)(
  "gives the results of ONNX's reference over every wire that carries the values",
  async () => {
    const { failures, passed, notCarried } = await wireOutcomes(await server(), operatorCases());
    expect(failures).toEqual([]);
    expect(Object.entries(LEAST).filter(([wire, least]) => passed[wire]! < least)).toEqual([]);
    // Sequences and optionals; in JSON also NaN and infinities, sizes behind a 0, and a request without inputs.
    expect(notCarried).toEqual({
      "V2 gRPC": 22,
      "V2 HTTP with binary values": 22,
      "V2 HTTP with JSON": 36,
      "TensorFlow Serving gRPC": 22,
      "TensorFlow Serving REST": 27,
      Kibernetika: 40,
    });
  },
  600_000,
);

it.skipIf(!isThere)(
  "gives them each time, also where the values of an input decide about its run",
  async () => {
    // How runs are prepared depends on few kinds of models: a quarter of them has them all.
    const cases = operatorCases().filter((_, index) => index % 4 === 0);
    expect(await repeatedOutcomes(await server(), cases, 24)).toEqual([]);
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
