import { existsSync } from "node:fs";
import { invalidArgument } from "../../errors.ts";

const BARE = /^[\w.-]+:\d+(?:\/|$)/;

/** Throws `invalid_argument` for `HOST:PORT` where a path or an address is expected, which begins with its protocol. */
export function refuseBareAddress(place: string, form: "server" | "model"): void {
  if (!BARE.test(place) || existsSync(place)) return;
  const [http, grpc] = form === "server" ? ["", ""] : ["/v2/models/NAME", "/NAME"];
  throw invalidArgument(
    `"${place}" is not a model's path; the address of a ${form} is http://HOST:PORT${http} or grpc://HOST:PORT${grpc}.`,
  );
}
