import { Server, type ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { callInternals, serverInternals } from "../../src/grpc/grpc-internals.ts";
import { createIntake } from "../../src/grpc/message-intake.ts";
import { MemoryBudget } from "../../src/serving/memory-budget.ts";

it("are all there in the version that is installed", () => {
  const server = new Server();
  expect(serverInternals(server)).toBe(server);
});

it.each(["commonServerOptions", "createHttp2Server"])("of a server without %s are none", (name) => {
  expect(serverInternals(Object.assign(new Server(), { [name]: undefined }))).toBeUndefined();
});

it("of a call of another version are none; its messages are left to grpc-js, with one warning", () => {
  const call = { sendStatus: () => {} } as unknown as ServerInterceptingCallInterface;
  expect(callInternals(call)).toBeUndefined();
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const limits = { maxMessageBytes: 1, memory: new MemoryBudget(1), messageTimeoutMs: 1 };
  const intercept = createIntake(limits, log as never);
  for (let calls = 0; calls < 2; calls++) expect(intercept({ path: "/a" } as never, call as never)).toBe(call);
  expect(warnings).toEqual([expect.stringContaining("@grpc/grpc-js")]);
});
