import { onTestFinished } from "vitest";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";

/** A whole server with the null driver, without HTTP, that closes when the test ends. */
export async function startNullServer(options: Partial<ServerOptions> = {}): Promise<Server> {
  const server = await createServer({ stages: [{ driver: "null" }], ...options });
  onTestFinished(() => server.close());
  return server;
}
