import { ServingError } from "../errors.ts";
import type { Caller, CallKind } from "./caller.ts";
import { assertControl, type ControlAccess } from "./control-access.ts";
import { CorsOrigins } from "./cors-origins.ts";

/** Who may do what. */
export interface AccessOptions {
  /** Clients that may change the server. Default `off`. */
  readonly allowControl?: ControlAccess;
  /** Origins whose web pages may run models: `*` or `SCHEME://HOST[:PORT]`. Default none. */
  readonly corsOrigins?: readonly string[];
}

/** Decides who may do what, by the kind of a call and what it tells of where it comes from. */
export class AccessPolicy {
  readonly #control: ControlAccess;
  readonly #origins: CorsOrigins;

  /** Throws `invalid_argument` for an origin that is none. */
  constructor({ allowControl = "off", corsOrigins = [] }: AccessOptions = {}) {
    this.#control = allowControl;
    this.#origins = new CorsOrigins(corsOrigins);
  }

  /** Throws `permission_denied` for who may not make a call of this kind. */
  check(kind: CallKind, caller: Caller): void {
    if (kind === "control") assertControl(caller, this.#control);
    else if (kind === "inference") this.#checkOrigin(caller);
  }

  /** What `Access-Control-Allow-Origin` says to pages of an origin; undefined where they have no permission. */
  allowedOrigin(origin: string): string | undefined {
    return this.#origins.allowed(origin);
  }

  /** A browser lets any page post plain text anywhere, and hides only the answer. */
  #checkOrigin({ host, headers }: Caller): void {
    const { origin, "sec-fetch-site": site } = headers;
    if (origin === undefined) {
      if (site === undefined || site === "same-origin" || site === "none") return;
    } else if (site === "same-origin" || isSameOrigin(String(origin), host) || this.allowedOrigin(String(origin)))
      return;
    const page = String(origin ?? "unknown").slice(0, MAX_TEXT);
    throw new ServingError(
      "permission_denied",
      `Web pages of another origin (${page}) may not run models here; start the server with --cors-origin ${origin === undefined || origin === "null" ? "*" : page} to let them.`,
    );
  }
}

const MAX_TEXT = 100;

/** Whether a page was served under the very name and port that its request is for. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: page } = new URL(origin);
  return (
    /^https?:$/.test(protocol) && page === host.toLowerCase().replace(protocol === "https:" ? /:443$/ : /:80$/, "")
  );
}
