import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

/**
 * A port of 127.0.0.1 for a program that is started soon. It is none of those that the system gives to connections, of
 * which other tests open thousands meanwhile.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(randomInt(10_000, firstOfConnections()), "127.0.0.1");
  const isFree = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** The first port that Linux gives to connections; other systems begin later than its default. */
function firstOfConnections(): number {
  if (process.platform !== "linux") return 32_768;
  const first = Number.parseInt(readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8"), 10);
  return Math.max(first, 10_100);
}
