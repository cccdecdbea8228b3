import { ClientGate } from "./client-gate.ts";
import { readClientKey } from "./client-key.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Time in which the refusals of clients over their limits are logged once, in milliseconds. */
const QUIET_MS = 60_000;

/** Settings of clients' limits. */
export interface ClientOptions {
  readonly clientKey: string;
  readonly clientRate: number;
  readonly clientBurst?: number | undefined;
  readonly clientMaxInFlight: number;
  readonly proxies: TrustedProxies;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/** The limits of clients as the settings say; undefined where there are none. Throws `invalid_argument` for a key that is none. */
export function openClientGate(options: ClientOptions): ClientGate | undefined {
  const { clientKey, clientRate: rate, clientBurst: burst, clientMaxInFlight: maxInFlight, log } = options;
  const key = readClientKey(clientKey, options.proxies);
  if (rate === 0 && maxInFlight === 0) return undefined;
  let quietUntil = 0;
  const onRefused = (client: string, why: string) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + QUIET_MS;
    log.warn(`a client was refused: ${why}`, { client: client.startsWith("header ") ? "(by its header)" : client });
  };
  return new ClientGate({ key, rate, burst, maxInFlight, onRefused });
}
