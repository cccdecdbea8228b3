import { expect, onTestFinished, test } from "vitest";
import { ProxyTargets, watchTarget } from "../../../src/cli/commands/proxy-targets.ts";
import { ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { createEventLog } from "../../helpers/event-log.ts";

const LOST = "the server behind this proxy cannot be reached: requests fail";
const FOUND = "the server behind this proxy can be reached";

/** Watches the target of a proxy. */
function watch(grpcAddress: string, allowProxyHeaders = false) {
  const targets = new ProxyTargets({ grpcAddress, allowProxyHeaders, forwardAuthorization: false });
  onTestFinished(() => targets.close());
  const log = createEventLog();
  const service = targets.toService();
  onTestFinished(watchTarget(targets, grpcAddress, log.log));
  return { ...log, service };
}

test("a proxy says that nothing answers at its target, and later that something does", async () => {
  const first = await serve(new ScriptedService());
  await first.close(0);
  const { find, events, service } = watch(first.address);
  expect(await find({ msg: LOST })).toMatchObject({
    level: "warn",
    grpcAddress: first.address,
    reason: expect.stringMatching(/^nothing listens there/),
  });
  expect(service.isReady()).toBe(false);
  await serve(new ScriptedService(), { port: first.port });
  expect(await find({ msg: FOUND })).toMatchObject({ level: "info" });
  expect(events).toHaveLength(2);
});

test("a proxy says nothing of a target that answers, until that is gone", async () => {
  const server = await serve(new ScriptedService());
  const { find, events, service } = watch(server.address);
  await expect.poll(() => service.isReady()).toBe(true);
  expect(events).toEqual([]);
  await server.close(0);
  await find({ msg: LOST });
});
