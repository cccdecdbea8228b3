import { onTestFinished } from "vitest";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";

/** A server on free ports, with HTTP, that closes when the test ends. */
export async function startServer(options: ServerOptions): Promise<Server & { readonly httpUrl: string }> {
  const server = await createServer({ http: {}, ...options });
  onTestFinished(() => server.close());
  return server as Server & { readonly httpUrl: string };
}
