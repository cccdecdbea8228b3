import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RecentServices } from "../../../src/client/remote/remote-pool.ts";
import type { RemoteService } from "../../../src/client/remote/remote-service.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { authFiles } from "../../access/auth-fixture.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const STAGES = [{ driver: "null" }];

/** A server that echoes for callers that it knows; returns its address. */
async function startKnowing(): Promise<string> {
  return (await startServer({ stages: STAGES, auth: await authFiles() })).grpcAddress;
}

/** Asks a server whose hook calls another one with these credentials, in a thread or in the main thread. */
async function askByHook(address: string, lines: string, { workers = 1, options = "" } = {}) {
  const code = `export default { preprocess: (inputs, ctx) => ctx.remote("${address}").predict(inputs${options}) };`;
  const folder = tempFolder({ "hooks.ts": code, auth: lines });
  const { log, events } = createEventLog("trace");
  const files = { hooks: join(folder, "hooks.ts"), remoteAuthFile: join(folder, "auth") };
  const { httpUrl } = await startServer({ stages: STAGES, workers, log, ...files });
  const answer = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: '{"instances": [1]}' });
  return { status: answer.status, text: await answer.text(), logged: JSON.stringify(events) };
}

describe("ctx.remote", () => {
  test.each([1, 0])(
    "shows a server the credentials of the file, with --workers %d, and no log has them",
    async (workers) => {
      const address = await startKnowing();
      const { status, logged } = await askByHook(address, `${address} alice:open sesame`, { workers });
      expect(status).toBe(200);
      expect(logged).not.toMatch(/sesame|Basic/);
    },
  );

  test("shows them to no other server", async () => {
    const { status, text } = await askByHook(await startKnowing(), "127.0.0.1:1 alice:open sesame");
    expect([status, text]).toEqual([500, expect.stringContaining("answers callers that it knows")]);
  });

  test("prefers the authorization that the hook gives", async () => {
    const address = await startKnowing();
    const options = ', { authorization: "Bearer wrong" }';
    const { text } = await askByHook(address, `${address} alice:open sesame`, { options });
    expect(text).toContain("token is not known");
  });
});

test("a file of credentials that changes to one with an error is a line of the log", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, find } = createEventLog("info");
  const remoteAuthFile = join(tempFolder({ auth: "127.0.0.1:1 alice:open sesame" }), "auth");
  await startServer({ stages: STAGES, log, remoteAuthFile });
  writeFileSync(remoteAuthFile, "secret");
  await vi.advanceTimersByTimeAsync(10_000);
  const { err } = await find({ msg: "credentials or rules cannot be read; the former ones stay in use" });
  expect(JSON.stringify(err)).toMatch(/auth:1: expected HOST:PORT/);
  expect(JSON.stringify(err)).not.toContain("secret");
});

test("a file of credentials that cannot be read is refused before a port opens", async () => {
  const opening = startServer({ stages: STAGES, remoteAuthFile: join(tempFolder({ auth: "secret" }), "auth") });
  await expect(opening).rejects.toThrow("auth:1: expected HOST:PORT USER:PASSWORD");
});

/** Connections of which two are kept, and the addresses of those that are open. */
function startServices() {
  const open = new Set<string>();
  const services = new RecentServices(2, (address) => {
    open.add(address);
    return { close: async () => void open.delete(address) } as Partial<RemoteService> as RemoteService;
  });
  const use = (address: string, step = async () => {}) => services.use(address, step);
  return { services, open, use };
}

test("the server that was not called for longest is disconnected for a further one", async () => {
  const { open, use } = startServices();
  for (const address of ["a", "b", "a", "c"]) await use(address);
  expect([...open]).toEqual(["a", "c"]);
  for (let number = 0; number < 100; number++) await use(`pod-${number}`);
  expect([...open]).toEqual(["pod-98", "pod-99"]);
});

test("a server that is being called is disconnected after its answer", async () => {
  const { services, open, use } = startServices();
  const answered = createDeferred<void>();
  const asked = use("slow", () => answered.promise);
  for (const address of ["a", "b"]) await use(address);
  expect([...open]).toEqual(["slow", "a", "b"]);
  answered.resolve();
  await asked;
  expect([...open]).toEqual(["a", "b"]);
  await services.close();
  expect([...open]).toEqual([]);
});
