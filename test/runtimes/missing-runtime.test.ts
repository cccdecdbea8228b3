import { expect, test } from "vitest";
import { missingRuntime } from "../../src/runtimes/missing-runtime.ts";

test("says which runtime, where it was looked for and what to run", () => {
  const cause = new Error("why");
  const error = missingRuntime({ name: "toy", title: "Toy", looked: ["TOY_LIB", "the runtimes folder"], cause });
  expect(error).toMatchObject({ code: "failed_precondition", cause });
  expect(error.message).toBe(
    "Toy is not installed, or not where it is looked for. Looked for it in: TOY_LIB, the runtimes folder. Run: kserving runtimes install toy (kserving runtimes list shows what is found where).",
  );
});
