import { LAST_CALL_MS } from "../platform/limits/transport-limits.ts";
import type { Transports } from "./transports.ts";

type Ending = Pick<Transports, "retire" | "close">;

/** Retires and closes two transports together; the second one may be missing. */
export function bothTransports(grpc: Ending, http: Ending | undefined): Ending & { readonly graceMs: () => number } {
  let graceMs = 0;
  const retire = () => {
    graceMs = LAST_CALL_MS;
    grpc.retire();
    http?.retire();
  };
  const close = async (ms: number) => void (await Promise.all([grpc.close(ms), http?.close(ms)]));
  return { retire, close, graceMs: () => graceMs };
}
