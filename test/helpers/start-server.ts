import { onTestFinished } from "vitest";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";

/** Threads that listen where a test says nothing else: `npm run check -- node` runs tests with several. */
const listeners = Number(process.env.KSERVING_TEST_LISTENERS ?? 1);

/** A server on free ports, with HTTP, that closes when the test ends. */
export async function startServer(options: ServerOptions): Promise<Server & { readonly httpUrl: string }> {
  const server = await createServer({ http: {}, listeners, ...options });
  onTestFinished(() => server.close());
  return server as Server & { readonly httpUrl: string };
}
