import { expect, it } from "vitest";
import type { SessionHandle } from "../../../src/drivers/onnx/onnx-session.ts";
import { openOnnx } from "./load-onnx.ts";
import type { OperatorCase } from "./operator-case.ts";
import { hasOperatorCases, operatorCases } from "./operator-data.ts";
import { caseOutcome, isExcused, PASSED, readCase } from "./operator-outcome.ts";

it.skipIf(!hasOperatorCases())("gives the results of ONNX's reference, sequences and optionals included", async () => {
  const outcomes = new Map<string, string>();
  for (const one of operatorCases()) outcomes.set(one.name, await outcomeOf(one));
  const failures = [...outcomes].filter(([name, outcome]) => outcome !== PASSED && !isExcused(name, outcome));
  expect(failures).toEqual([]);
  expect([...outcomes.values()].filter((outcome) => outcome === PASSED).length).toBeGreaterThanOrEqual(987);
});

function outcomeOf(one: OperatorCase): Promise<string> {
  return caseOutcome(readCase(one), async ({ inputs }) => {
    const model = await openOnnx(one.modelPath, { engine: "native" });
    const session = model.hookArgs?.session as SessionHandle;
    const given = await session.run(inputs as Parameters<SessionHandle["run"]>[0]);
    await model.close();
    return given;
  });
}
