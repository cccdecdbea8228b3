import { expect, onTestFinished, test, vi } from "vitest";
import { endSlowClients } from "../../src/access/end-slow-clients.ts";
import type { EndedRequest } from "../../src/platform/limits/ended-requests.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";

test("the log tells once a while for each reason whose request was ended, but for the secret in a header", () => {
  const memory = new MemoryBudget(1000);
  onTestFinished(() => memory.close());
  const configure = vi.spyOn(memory.overload, "configure");
  const lines: unknown[] = [];
  endSlowClients(memory, 7, { warn: (...line) => void lines.push(line) });
  const rules = configure.mock.calls[0]?.[0];
  expect(rules?.minClientRate).toBe(7);
  const ended: EndedRequest = {
    ...{ reason: "slow", direction: "sending", client: "198.51.100.7", bytes: 5, message: "too slow" },
  };
  for (let time = 0; time < 2; time++) rules?.onEnded?.(ended);
  rules?.onEnded?.({ ...ended, reason: "memory", client: "header secret", direction: "receiving" });
  expect(lines).toEqual([
    ["a client's request was ended: too slow", { client: "198.51.100.7", direction: "sending", held_bytes: 5 }],
    ["a client's request was ended: too slow", { client: "(by its header)", direction: "receiving", held_bytes: 5 }],
  ]);
});
