import { describe, expect, it } from "vitest";
import { WIRES } from "../../examples/wires.ts";
import { startServer } from "../../helpers/start-server.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { floats } from "./open-model.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("OpenVINO's stateful models", openvinoRuntime);

/** Answers of a model that adds up its inputs to 1, 2, 3 and 4, asked over one protocol after the other. */
async function totals(options: Record<string, string>): Promise<unknown[]> {
  const server = await startServer({
    stages: [{ driver: "openvino", path: openvinoModel("accumulate") }],
    options,
  });
  const answers: unknown[] = [];
  for (const number of [1, 2, 3, 4]) {
    const [, wire] = WIRES[number % WIRES.length] as (typeof WIRES)[number];
    answers.push((await wire.predict(server, { x: floats([1, 2], number) })).total);
  }
  return answers;
}

describe.skipIf(missing !== undefined)("a stateful model", () => {
  it("has one state for all clients on all wires", async () => {
    const expected = [[[1, 0]], [[3, 0]], [[6, 0]], [[10, 0]]];
    expect(await totals({})).toEqual(expected);
    expect(await totals({ state: "keep" })).toEqual(expected);
  });

  it("restarts with each request on every transport where the option is set", async () => {
    expect(await totals({ state: "reset" })).toEqual([[[1, 0]], [[2, 0]], [[3, 0]], [[4, 0]]]);
  });
});
