import { LocalGate } from "./client-gate.ts";
import { readClientKey } from "./client-key.ts";
import { onceInAWhile } from "./once-in-a-while.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Settings of clients' limits. */
export interface ClientOptions {
  readonly clientKey: string;
  readonly clientRate: number;
  readonly clientBurst?: number | undefined;
  readonly clientMaxInFlight: number;
  readonly proxies: TrustedProxies;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

/**
 * The limits of clients as the settings say; undefined where there are none. Throws
 * `invalid_argument` for an unknown kind of key.
 */
export function openClientGate(options: ClientOptions): LocalGate | undefined {
  const { clientKey, clientRate: rate, clientBurst: burst, clientMaxInFlight: maxInFlight, log } = options;
  const key = readClientKey(clientKey, options.proxies);
  if (rate === 0 && maxInFlight === 0) return undefined;
  const onRefused = onceInAWhile((client: string, why: string) =>
    log.warn(`a client was refused: ${why}`, { client: client.startsWith("header ") ? "(by its header)" : client }),
  );
  return new LocalGate({ key, rate, burst, maxInFlight, onRefused });
}
