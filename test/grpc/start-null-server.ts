import { onTestFinished } from "vitest";
import { createServer, type Server, type ServerOptions } from "../../src/server/server.ts";

/** A whole server with the null driver, without HTTP, that closes when the test ends. */
export async function startNullServer(options: Partial<ServerOptions> = {}): Promise<Server> {
  const server = await createServer({ models: [{ driver: "null" }], ...options });
  onTestFinished(() => server.close());
  return server;
}
