import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { endReason, stallReason, type ThreadPhase } from "../../../src/hooks/host/end-reason.ts";

const end = (phase: ThreadPhase, failure?: unknown) => endReason({ phase, failure, file: "my.ts", exitCode: 1 });

describe("a hook thread that ended by itself", () => {
  test.each<[ThreadPhase, string, string]>([
    ["load", "failed_precondition", "while it was loaded"],
    ["wait", "unavailable", "before its init_hook ran"],
    ["init", "failed_precondition", "while its init_hook ran"],
    ["run", "unavailable", "while it answered requests"],
  ])("in the phase %s is %s", (phase, code, when) => {
    expect(end(phase)).toMatchObject({
      code,
      message: expect.stringContaining(`my.ts ended its thread ${when} (exit`),
    });
    expect(end(phase, new Error("stray"))).toMatchObject({
      code,
      message: `my.ts failed with an uncaught error, ${when}: stray. Catch the errors of timers and of listeners.`,
    });
    expect(stallReason("my.ts", phase, 5)).toMatchObject({
      code,
      message: expect.stringContaining(`my.ts blocked its thread for 5 ms (--hook-stall) ${when}`),
    });
  });

  test("keeps the reason that it gave", () => {
    const reason = new ServingError("not_found", "no labels");
    expect(end("run", reason)).toBe(reason);
  });
});
