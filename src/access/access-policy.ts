import { isIP } from "node:net";
import { type ErrorCode, invalidArgument, ServingError } from "../errors.ts";
import type { Authentication } from "./authentication/authentication.ts";
import type { LiveCall } from "./authentication/live-calls.ts";
import type { CallScope } from "./call-scope.ts";
import type { Caller, CallKind } from "./caller.ts";
import { assertControl, type ControlAccess, pageOf } from "./control-access.ts";
import { isLoopback, isOwnHost } from "./network-address.ts";
import type { PageToken } from "./page-token.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Permissions of clients and of web pages. */
export interface AccessOptions {
  /** Clients that may change the server. Default `off`. */
  readonly allowControl?: ControlAccess;
  /** Origins whose web pages may run models: `*` or `SCHEME://HOST[:PORT]`. Default none. */
  readonly corsOrigins?: readonly string[];
  /** Finds out who calls. Default: no caller needs a name. */
  readonly authentication?: Authentication | undefined;
  /** Proxies that pass on what clients send for other names. Default: there are none. */
  readonly proxies?: Pick<TrustedProxies, "trusts"> | undefined;
  /** By what calls of the server's own page are known. Default: there is no page. */
  readonly pageToken?: PageToken | undefined;
  /** Kinds of calls that are not answered here. Default: none. */
  readonly refused?: readonly RefusedKinds[];
}

/** Kinds of calls that a port does not answer, and the error for them. */
export interface RefusedKinds {
  readonly kinds: readonly CallKind[];
  readonly code: ErrorCode;
  readonly message: string;
}

/** Decides who may do what, by the kind of a call and its origin. */
export class AccessPolicy {
  readonly #options: AccessOptions;
  readonly #control: ControlAccess;
  readonly #origins: CorsOrigins;
  readonly #authentication: Authentication | undefined;

  /** Throws `invalid_argument` for a text that is not an origin. */
  constructor(options: AccessOptions = {}) {
    const { allowControl = "off", corsOrigins = [], authentication } = options;
    this.#options = options;
    this.#authentication = authentication;
    this.#control = allowControl;
    this.#origins = new CorsOrigins(corsOrigins);
  }

  /** Lets a call in by who sends it, as {@link Authentication.enter}; undefined if no caller needs a name. */
  enter(kind: CallKind, caller: Caller): CallScope | Promise<CallScope> | undefined {
    this.#assertHere(kind);
    return this.#authentication?.enter(kind, caller);
  }

  /** Asks about a call again as long as it lasts, as {@link Authentication.watch}. */
  watch(call: LiveCall): () => void {
    return this.#authentication?.watch(call) ?? (() => {});
  }

  /**
   * Throws `permission_denied` for a call of this kind because of where it comes from; `access` = clients that may make
   * this control call, whatever others are open to.
   */
  check(kind: CallKind, caller: Caller, access = this.#control): void {
    this.#assertHere(kind);
    if (kind === "control") assertControl(caller, access, this.#isOwnPage(caller));
    else if (kind === "inference") this.#checkOrigin(caller);
  }

  /** True if pages of some origins have permission, so that answers depend on the request's origin. */
  get dependsOnOrigin(): boolean {
    return this.#origins.isSome;
  }

  /** Value of `Access-Control-Allow-Origin` for pages of an origin; undefined if they have no permission. */
  allowedOrigin(origin: string): string | undefined {
    return this.#origins.allowed(origin);
  }

  /** The same permissions at a port that does not answer some kinds of calls. */
  refusing(refused: RefusedKinds): AccessPolicy {
    const { refused: earlier = [] } = this.#options;
    return new AccessPolicy({ ...this.#options, refused: [...earlier, refused] });
  }

  /**
   * True for a call of the server's own page. A page of a name that its owner points at
   * this server (DNS rebinding) can read the token too: if no caller needs credentials,
   * which it lacks, the page has to be that of an address or of this machine's name.
   */
  #isOwnPage(caller: Caller): boolean {
    const { pageToken } = this.#options;
    const { host = "", headers } = caller;
    const { "sec-fetch-site": site = "same-origin" } = headers;
    if (pageToken?.isIn(headers) !== true || site !== "same-origin") return false;
    return this.#authentication !== undefined || isOwnHost(host) || isAddress(host);
  }

  /** True for the address of a connection that a trusted proxy has made: what it says of its client is believed. */
  isProxy(address: string): boolean {
    return this.#options.proxies?.trusts(address) === true;
  }

  #assertHere(kind: CallKind): void {
    const refused = this.#options.refused?.find(({ kinds }) => kinds.includes(kind));
    if (refused !== undefined) throw new ServingError(refused.code, refused.message);
  }

  /** A browser lets any page post plain text anywhere, and hides only the answer. */
  #checkOrigin(caller: Caller): void {
    if (pageOf(caller) === undefined) return;
    const { origin, "sec-fetch-site": site } = caller.headers;
    // Browsers say so of pages that came over TLS, or from this machine.
    if (site === "same-origin" || this.#isOwnPage(caller)) return;
    if (origin !== undefined) {
      if (this.allowedOrigin(String(origin)) !== undefined) return;
      if (isSameOrigin(String(origin), caller.host) && !this.#isRebound(caller)) return;
    }
    const page = String(origin ?? "unknown").slice(0, MAX_TEXT);
    const name = origin === undefined || origin === "null" ? "*" : page;
    throw new ServingError(
      "permission_denied",
      `Web pages of another origin (${page}) may not run models here; start the server with --cors-origin ${name} to let them, or with --trusted-proxies where a proxy passes on its own pages.`,
    );
  }

  /**
   * True if a page's own name leads to this machine without being one of its names (DNS rebinding), unless a proxy
   * stands between: one that is known by its address, since a page may send what proxies send.
   */
  #isRebound({ address, host = "" }: Caller): boolean {
    return isLoopback(address) && !isOwnHost(host) && !this.isProxy(address);
  }
}

const MAX_TEXT = 100;

/** True for `1.2.3.4:80` or `[::1]:80`, which no name can pretend to be. */
function isAddress(host: string): boolean {
  return isIP(host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")) !== 0;
}

/** True for a page that was served under the very name and port that its request is for. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: page } = new URL(origin);
  return (
    /^https?:$/.test(protocol) && page === host.toLowerCase().replace(protocol === "https:" ? /:443$/ : /:80$/, "")
  );
}

/** Origins whose web pages may run models. */
class CorsOrigins {
  readonly #isAny: boolean;
  readonly #origins: ReadonlySet<string>;

  /** `*`, `null` or `SCHEME://HOST[:PORT]`; throws `invalid_argument` for anything else. */
  constructor(origins: readonly string[]) {
    for (const origin of origins) assertOrigin(origin);
    this.#isAny = origins.includes("*");
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()));
  }

  /** True if an answer may depend on the origin of the page that asks. */
  get isSome(): boolean {
    return this.#origins.size > 0;
  }

  /** Value of `Access-Control-Allow-Origin` for pages of an origin; undefined if they have no permission. */
  allowed(origin: string): string | undefined {
    if (this.#isAny) return "*";
    return this.#origins.has(origin.toLowerCase()) ? origin : undefined;
  }
}

function assertOrigin(text: string): void {
  if (text === "*" || text === "null") return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An origin as browsers send it has no path, and no port that is its scheme's own.
  if (url !== undefined && text.toLowerCase() === `${url.protocol}//${url.host}`) return;
  throw invalidArgument(
    `The origin "${text}" (--cors-origin) is not one that browsers send; expected * or SCHEME://HOST[:PORT], for example https://app.example.com.`,
  );
}
