import { settlesWithin } from "../platform/async/promises.ts";
import type { Servable } from "./servable.ts";

/**
 * Time that running requests have to end in a servable that is to be freed, in milliseconds: one that never ends must
 * not keep its memory.
 */
export const RETIRE_MS = 25_000;

/**
 * Waits for the requests that began before another servable took over, then frees the servable; resolves with the
 * reason if that fails.
 */
export async function retireServable(servable: Servable): Promise<unknown> {
  await settlesWithin(servable.leases.idle(), RETIRE_MS);
  return servable.close().then(
    () => undefined,
    (reason) => reason,
  );
}
