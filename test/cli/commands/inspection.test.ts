import { expect, test } from "vitest";
import { toInspectionLines } from "../../../src/cli/commands/inspect-command.ts";
import { FIRM_SPACE } from "../../../src/cli/status-reporter/model-table.ts";
import type { Signature } from "../../../src/index.ts";

/** The line of the only signature. */
function lineOf(signature: Signature): string {
  const facts = { format: "joblib", metadata: {} };
  const trials = [{ driver: "sklearn", signatures: { serving_default: signature } }];
  const lines = toInspectionLines({ path: "m.joblib", bytes: 1, facts, trials });
  return lines[lines.indexOf("Signatures") + 1]?.replaceAll(FIRM_SPACE, " ").trim() ?? "";
}

test("inputs that are suggested, or of which the names are known, are shown", () => {
  const outputs = [{ name: "y", dtype: "int64", shape: [-1] }] as const;
  const suggestedInputs = [{ name: "x", shape: [-1, 4] }];
  expect(lineOf({ suggestedInputs, outputs })).toBe("serving_default  x any[?,4] → y int64[?]");
  expect(lineOf({ inputNames: ["a", "b"] })).toBe("serving_default  a any, b any → any");
  expect(lineOf({})).toBe("serving_default  any → any");
});
