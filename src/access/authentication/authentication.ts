import { ServingError } from "../../errors.ts";
import { AccessError } from "../access-error.ts";
import { CallScope } from "../call-scope.ts";
import type { Caller, CallKind } from "../caller.ts";
import type { AccessRules } from "../rules/access-rules.ts";
import type { Identity } from "./identity.ts";
import { certificateIdentity } from "./identity.ts";
import { KnownCredentials, type Verified } from "./known-credentials.ts";
import { type LiveCall, LiveCalls } from "./live-calls.ts";
import type { Passwords } from "./passwords.ts";

/** Finds who has a token; undefined for one that it does not know. */
export type BearerCheck = (token: string) => Promise<Verified | undefined>;

/** Something that is read again when it has changed. */
export interface Refreshable {
  /** A path or an address, for the log. */
  readonly path: string;
  /** Resolves with true if it has changed; rejects, and stays as it was, if the new one does not work. */
  refresh(): Promise<boolean>;
}

/** Ways to show who one is, and the permissions of those that are known. */
export interface AuthenticationParts {
  /** Absent = there are no passwords. */
  readonly passwords?: Passwords | undefined;
  /** Asked one after another. */
  readonly bearers: readonly BearerCheck[];
  /** True if certificates of clients are names too. */
  readonly hasCertificates: boolean;
  /** The rules as they are now. */
  readonly rules: () => AccessRules;
  readonly sources: readonly Refreshable[];
  /** The address of a caller, whatever proxies stand between. */
  readonly addressOf: (caller: Caller) => string;
}

/** Finds out who calls, and lets in who may. */
export class Authentication {
  readonly #parts: AuthenticationParts;
  readonly #known = new KnownCredentials();
  readonly #live = new LiveCalls((kind, caller) => this.#enter(kind, caller, true));

  constructor(parts: AuthenticationParts) {
    this.#parts = parts;
  }

  /**
   * Lets a call in, at once if its credentials are known. Throws, or rejects with, `unauthenticated` for a caller
   * that is unknown, `permission_denied` for one that may not make calls of this kind.
   */
  enter(kind: CallKind, caller: Caller): CallScope | Promise<CallScope> {
    return this.#enter(kind, caller, false);
  }

  /** `isAgain`: of a call that was let in before, by the server's own wish. */
  #enter(kind: CallKind, caller: Caller, isAgain: boolean): CallScope | Promise<CallScope> {
    const rules = this.#parts.rules();
    if (rules.isOpen(kind)) return new CallScope(kind, rules, undefined);
    const verified = this.#identify(caller, isAgain);
    if (verified instanceof Promise) return verified.then((found) => admit(kind, this.#parts.rules(), found));
    return admit(kind, rules, verified);
  }

  /**
   * Asks about a call again as long as it lasts, when what says who may call has changed, and when its credentials
   * expire; ends it if it may go on no longer. Returns how to stop.
   */
  watch(call: LiveCall): () => void {
    return this.#live.add(call);
  }

  /**
   * Reads again what has changed, and resolves with the paths of that. Rejects with the
   * first problem; what was read before counts on there.
   */
  async refresh(): Promise<readonly string[]> {
    const refreshes = await Promise.allSettled(
      this.#parts.sources.map(async (source) => ((await source.refresh()) ? [source.path] : [])),
    );
    const changed = refreshes.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    if (changed.length > 0) this.#known.forgetChanged();
    this.#live.askAgain(changed.length > 0);
    const failed = refreshes.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return changed;
  }

  /** Gives up the logins that wait; to be called as the server ends. */
  close(): void {
    this.#parts.passwords?.close();
  }

  #identify(caller: Caller, isAgain: boolean): Found | Promise<Found> {
    const { authorization } = caller.headers;
    const certificate = this.#parts.hasCertificates ? certificateIdentity(caller.connection) : undefined;
    const isGiven = typeof authorization === "string" && authorization !== "" && this.#takesHeaders;
    if (!isGiven && certificate !== undefined) return { identity: certificate };
    if (!isGiven) throw this.#refuse(`This server answers callers that it knows alone; send ${this.#expected()}.`);
    const verify = () => this.#verify(authorization, isAgain ? undefined : this.#parts.addressOf(caller));
    const verified = this.#known.identify(authorization, verify, isAgain);
    if (certificate === undefined) return verified;
    return verified instanceof Promise
      ? verified.then((found) => join(found, certificate))
      : join(verified, certificate);
  }

  /** Without an address it is the server's own look. */
  async #verify(authorization: string, address: string | undefined): Promise<Verified> {
    const [, scheme = "", value = ""] = /^([\w-]+) +([\w~+/.=-]+) *$/.exec(authorization) ?? [];
    if (scheme.toLowerCase() === "basic" && this.#parts.passwords !== undefined)
      return this.#verifyPassword(value, address);
    if (scheme.toLowerCase() === "bearer" && this.#parts.bearers.length > 0) return this.#verifyToken(value);
    throw this.#refuse(`The Authorization header is not one that this server takes; send ${this.#expected()}.`);
  }

  async #verifyPassword(value: string, address: string | undefined): Promise<Verified> {
    const [name, password] = readBasic(value);
    const passwords = this.#parts.passwords as Passwords;
    const holds = await (address === undefined
      ? passwords.verifyAgain({ name, password })
      : passwords.verify({ name, password, address }));
    if (holds === undefined) throw this.#refuse("The user or the password is wrong.");
    return { identity: { names: [name] }, holds };
  }

  async #verifyToken(token: string): Promise<Verified> {
    for (const check of this.#parts.bearers) {
      const found = await check(token).catch((reason) => {
        throw reason instanceof ServingError && reason.code === "unauthenticated"
          ? this.#refuse(reason.message, true)
          : reason;
      });
      if (found !== undefined) return found;
    }
    throw this.#refuse("The token is not known.", true);
  }

  get #takesHeaders(): boolean {
    return this.#parts.passwords !== undefined || this.#parts.bearers.length > 0;
  }

  #expected(): string {
    const basic = this.#parts.passwords === undefined ? [] : ["a user's name and password (Authorization: Basic)"];
    const bearer = this.#parts.bearers.length === 0 ? [] : ["a token (Authorization: Bearer)"];
    return [...basic, ...bearer].join(" or ") || "a certificate";
  }

  /** With a challenge for each way in (RFC 7617 §2, RFC 6750 §3). */
  #refuse(message: string, isTokenWrong = false): AccessError {
    const basic = this.#parts.passwords === undefined ? [] : ['Basic realm="kserving", charset="UTF-8"'];
    const error = isTokenWrong ? `, error="invalid_token", error_description="${message.replaceAll('"', "'")}"` : "";
    const bearer = this.#parts.bearers.length === 0 ? [] : [`Bearer realm="kserving"${error}`];
    const challenges = [...basic, ...bearer];
    return new AccessError("unauthenticated", message, {
      headers: challenges.length === 0 ? {} : { "www-authenticate": challenges },
    });
  }
}

type Found = Pick<Verified, "identity" | "until">;

function admit(kind: CallKind, rules: AccessRules, { identity, until }: Found): CallScope {
  const scope = new CallScope(kind, rules, identity, until);
  scope.assertKind(kind);
  return scope;
}

/** The names of a caller that has a certificate too. */
function join({ identity: { names }, until }: Found, certificate: Identity): Found {
  return { identity: { names: [...names, ...certificate.names] }, until };
}

/** Name and password; both empty, which no user has, for a text without them. */
function readBasic(value: string): readonly [name: string, password: string] {
  const text = Buffer.from(value, "base64").toString();
  const at = text.indexOf(":");
  return at <= 0 ? ["", ""] : [text.slice(0, at), text.slice(at + 1)];
}
