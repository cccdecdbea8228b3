import { afterAll, onTestFinished } from "vitest";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";

/** Threads that listen where a test says nothing else: `npm run check -- node` runs tests with several. */
const listeners = Number(process.env.KSERVING_TEST_LISTENERS ?? 1);

type HttpServer = Server & { readonly httpUrl: string };

/** A server on free ports, with HTTP, that closes when the test ends. */
export async function startServer(options: ServerOptions): Promise<HttpServer> {
  const server = await create(options);
  onTestFinished(() => server.close());
  return server;
}

/** One for all tests of a file or suite that leave nothing in it: the first to ask starts it, the end closes it. */
export function shareServer(options: () => ServerOptions | Promise<ServerOptions>): () => Promise<HttpServer> {
  let server: Promise<HttpServer> | undefined;
  afterAll(async () => (await server)?.close());
  return () => {
    server ??= (async () => create(await options()))();
    return server;
  };
}

async function create(options: ServerOptions): Promise<HttpServer> {
  return (await createServer({ http: {}, listeners, ...options })) as HttpServer;
}
