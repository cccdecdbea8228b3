import { describe, expect, test } from "vitest";
import { LOAD_DOUBT, withinStartLimit } from "../../src/hooks/start-limit.ts";
import { createThreadLogger } from "../../src/platform/threads/thread-logger.ts";

const forever = new Promise<never>(() => {});

/** A limit, the log's lines, and a promise of the first of them. */
function limited(hookTimeoutMs: number, noticeMs = 60_000) {
  const lines: string[] = [];
  let logged = () => {};
  const first = new Promise<void>((resolve) => {
    logged = resolve;
  });
  const log = createThreadLogger("info", ({ message }) => {
    lines.push(message);
    logged();
  });
  return { limit: { hookTimeoutMs, log, noticeMs }, lines, first };
}

describe("a step of the hooks' start", () => {
  test("gives what it gives, or throws what it throws, and logs nothing where it is quick", async () => {
    const { limit, lines } = limited(1000);
    expect(await withinStartLimit(Promise.resolve(3), "init_hook has not returned", limit)).toBe(3);
    const broken = Promise.reject(new Error("no labels"));
    await expect(withinStartLimit(broken, "init_hook has not returned", limit)).rejects.toThrow("no labels");
    expect(lines).toEqual([]);
  });

  test("that never ends fails after ten times --hook-timeout, and says what to do", async () => {
    const started = performance.now();
    await expect(
      withinStartLimit(forever, "init_hook of a.ts has not returned", limited(5).limit),
    ).rejects.toMatchObject({
      code: "failed_precondition",
      message:
        "init_hook of a.ts has not returned within 50 ms (10 times --hook-timeout); does its promise ever settle? If it needs longer, raise --hook-timeout.",
    });
    expect(performance.now() - started).toBeGreaterThan(45);
  });

  test("that takes long is logged meanwhile, with its limit", async () => {
    const { limit, lines, first } = limited(50, 1);
    const waiting = withinStartLimit(first, "a.ts has not been loaded", limit);
    await waiting;
    expect(lines).toEqual([
      "a.ts has not been loaded yet, after 1 ms: does its promise ever settle? (the limit is 500 ms, 10 times --hook-timeout)",
    ]);
  });

  test("has no limit where --hook-timeout is 0, and the log says so", async () => {
    const { limit, lines, first } = limited(0, 1);
    await withinStartLimit(first, "a.ts has not been loaded", { ...limit, doubt: LOAD_DOUBT });
    expect(lines).toEqual([
      `a.ts has not been loaded yet, after 1 ms: ${LOAD_DOUBT} (there is no limit: --hook-timeout 0)`,
    ]);
  });
});
