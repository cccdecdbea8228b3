import { describe, expect, it } from "vitest";
import type { Logger } from "../../../../src/observability/logger.ts";
import { createSilentLogger } from "../../../../src/observability/logger.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { openNative } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("TensorFlow's thread pools", tensorflowRuntime);

/** Warnings while models load, one after the other, each with its options. */
async function warningsOf(...models: readonly Record<string, string>[]): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const log: Logger = { ...createSilentLogger(), warn: (message, fields) => warnings.push([message, fields]) };
  for (const options of models) await (await openNative("counter", options, log)).close();
  return warnings;
}

describe.skipIf(missing !== undefined)("TensorFlow's threads", () => {
  it("are those of the first model of the process, and the log says so when another one asks for more", async () => {
    expect(
      await warningsOf(
        { intra_op_threads: "1", inter_op_threads: "2" },
        { session_config: "intra_op_parallelism_threads: 1 inter_op_parallelism_threads: 2" },
        { intra_op_threads: "4" },
      ),
    ).toEqual([
      [
        "TensorFlow's threads are those of the first model of the process",
        {
          wanted: expect.stringMatching(/^4 within operators, \d+ across them$/),
          actual: "1 within operators, 2 across them",
        },
      ],
    ]);
  });
});
