import { fileURLToPath } from "node:url";
import { createServer, type Server } from "../../src/server/server.ts";
import { tlsPath } from "../helpers/tls-fixture.ts";
import type { Decoder } from "./decoder.ts";
import { createDecoders } from "./decoders.ts";
import { layerDecoders } from "./layer-decoders.ts";
import type { MessageRoute } from "./message-route.ts";
import { TlsClient } from "./tls-client.ts";

/** The decoders of servers whose ports are encrypted. */
interface TlsDecoders {
  readonly decoders: readonly Decoder[];
  /** Ends the servers and their client's connections. */
  close(): Promise<void>;
}

const IMAGE_DRIVER = fileURLToPath(new URL("../../bench/attack/inline-image-driver.ts", import.meta.url));

/**
 * Every decoder that clients reach, asked through TLS over both transports, and those
 * of what lies between TLS and a message.
 */
export async function openTlsDecoders(): Promise<TlsDecoders> {
  const servers = await Promise.all(["null", IMAGE_DRIVER].map(start));
  const [plain, images] = servers.map((server) => new TlsClient(server)) as [TlsClient, TlsClient];
  const send = (route: MessageRoute, bytes: Buffer) => {
    if ("method" in route) return plain.call(route, bytes);
    return (route.isImage ? images : plain).post(route, bytes);
  };
  const messages = (await createDecoders()).flatMap(({ name, samples, route }) =>
    route === undefined
      ? []
      : [{ name: `${name} through TLS`, samples, decode: (bytes: Buffer) => send(route, bytes) }],
  );
  const close = async () => {
    for (const client of [plain, images]) client.close();
    await Promise.all(servers.map((server) => server.close()));
  };
  return { decoders: [...messages, ...(await layerDecoders(plain))], close };
}

function start(driver: string): Promise<Server> {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  return createServer({ stages: [{ driver }], name: "m", http: {}, tls, allowControl: "all" });
}
