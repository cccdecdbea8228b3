import { reasonText } from "../errors.ts";
import { ClientLimits, type ClientRules } from "../platform/limits/client-account.ts";
import { ConnectionLimit, type ConnectionProblem } from "../platform/limits/connection-limit.ts";
import type { ThreadCounts } from "../platform/limits/thread-counts.ts";
import type { Caller } from "./caller.ts";
import { type ClientKey, readClientKey } from "./client-key.ts";
import { networkOf, plainAddress } from "./network-address.ts";
import { onceInAWhile } from "./once-in-a-while.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Limits of clients, and the property that distinguishes clients. */
export interface ClientGateOptions extends ClientRules {
  readonly key: ClientKey;
  /** Called for each refusal with the client and the reason. */
  readonly onRefused?: (client: string, why: string) => void;
}

/** Lets clients in as far as their limits go. */
export interface ClientGate {
  /**
   * Begins a call; returns its end, which may be called again. Throws, or rejects with, `resource_exhausted` for a
   * client that has reached a limit.
   */
  enter(caller: Caller): (() => void) | Promise<() => void>;
  /** The messages of a stream whose call has {@link enter}ed, at the rate that its client may send. */
  pace(caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** The gate of this thread, which all transports share. */
export class LocalGate implements ClientGate {
  readonly #key: ClientKey;
  readonly #limits: ClientLimits;
  readonly #onRefused: ClientGateOptions["onRefused"];

  constructor({ key, onRefused, ...rules }: ClientGateOptions) {
    this.#key = key;
    this.#limits = new ClientLimits(rules);
    this.#onRefused = onRefused;
  }

  enter(caller: Caller): () => void {
    return this.enterAs(this.#key(caller));
  }

  /** Begins a call of the client with this key. */
  enterAs(client: string): () => void {
    try {
      return this.#limits.begin(client);
    } catch (reason) {
      this.#onRefused?.(client, reasonText(reason));
      throw reason;
    }
  }

  async *pace(caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const client = this.#key(caller);
    let isFirst = true;
    for await (const message of messages) {
      const waitMs = isFirst ? 0 : this.#limits.reserve(client);
      isFirst = false;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      yield message;
    }
  }
}

/** Settings of clients' limits. */
export interface ClientOptions {
  readonly clientKey: string;
  readonly clientRate: number;
  readonly clientBurst?: number | undefined;
  readonly clientMaxInFlight: number;
  readonly proxies: TrustedProxies;
  readonly log: WarningLog;
}

interface WarningLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * The limits of clients as the settings say; undefined if there are none. Throws
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

/** The limit of a server's connections, and its exceptions. */
interface ConnectionOptions {
  /** 0 = no limit. */
  readonly max: number;
  /** Their connections make no room for those of other clients. */
  readonly proxies: TrustedProxies;
  /** Those of several threads together. */
  readonly counts?: ThreadCounts | undefined;
  readonly log: WarningLog;
}

/** The limit of connections; each kind of problem is logged once a minute. */
export function openConnectionLimit({ max, proxies, counts, log }: ConnectionOptions): ConnectionLimit {
  const warn = (problem: ConnectionProblem) => log.warn(textOf(problem));
  const warnOf: Record<ConnectionProblem["kind"], typeof warn> = {
    full: onceInAWhile(warn),
    shared: onceInAWhile(warn),
    quiet: onceInAWhile(warn),
    side: onceInAWhile(warn),
    descriptors: onceInAWhile(warn),
    accept: onceInAWhile(warn),
  };
  return new ConnectionLimit({
    max,
    onProblem: (problem) => warnOf[problem.kind](problem),
    clientOf: (address) => (proxies.trusts(address) ? undefined : networkOf(plainAddress(address) ?? address)),
    counts,
  });
}

const DEEDS = {
  full: "connections are refused",
  shared: "the client that has most loses idle connections",
  quiet: "the client that has most loses connections on which next to nothing moves",
};

function textOf(problem: ConnectionProblem): string {
  if (problem.kind === "accept") return `a connection cannot be accepted: ${problem.error.message}`;
  if (problem.kind === "full" || problem.kind === "shared" || problem.kind === "quiet")
    return `${DEEDS[problem.kind]}: there are ${problem.open}, the most that the server may have (--max-connections)`;
  if (problem.kind === "side")
    return `connections of the port for administration, of that for metrics or of the Unix socket are refused: ${problem.open} are busy, the most that it may have`;
  const { max, hasEnded } = problem;
  const deed = hasEnded ? "connections are ended on which little or nothing moves" : "connections are refused";
  return `${deed}: of ${max} descriptors that the process may have (ulimit -n), only those are left that files and models need`;
}
