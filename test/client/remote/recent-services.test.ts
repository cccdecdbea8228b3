import { expect, test } from "vitest";
import { RecentServices } from "../../../src/client/remote/recent-services.ts";
import type { RemoteService } from "../../../src/client/remote/remote-service.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";

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
