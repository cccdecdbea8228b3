import { failedPrecondition } from "../../errors.ts";
import type { Expiring } from "../expiring.ts";

/** The token in an answer of OAuth's; throws `failed_precondition` for one without. */
export function readToken({
  access_token: token,
  expires_in: seconds,
}: Readonly<Record<string, unknown>>): Expiring & { readonly token: string } {
  if (typeof token !== "string") throw failedPrecondition("the answer to the request for a token has none");
  return { token, expiresMs: Date.now() + 1000 * Number(seconds ?? 300) };
}
