import { settlesWithin } from "../async/settles-within.ts";
import type { Servable } from "./servable.ts";

/**
 * Milliseconds that requests under way may go on in a servable that is to be freed: one that never ends must not keep
 * its memory.
 */
export const RETIRE_MS = 25_000;

/** Lets requests finish that began before others took over, then frees the servable; resolves with the reason where that fails. */
export async function retireServable(servable: Servable): Promise<unknown> {
  await settlesWithin(servable.leases.idle(), RETIRE_MS);
  return servable.close().then(
    () => undefined,
    (reason) => reason,
  );
}
