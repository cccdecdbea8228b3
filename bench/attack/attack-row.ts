/** Addresses of the attacked server. */
export interface Target {
  /** `host:port` of gRPC, or `grpcs://host:port`. */
  readonly grpc: string;
  /** `http://host:port`, or `https://host:port`. */
  readonly http: string;
  /** `Authorization` of a client that it knows; undefined where it asks for none. */
  readonly authorization?: string | undefined;
  /** Process id of the server. */
  readonly pid: number;
}

/** Outcome of an attack. */
export interface AttackResult {
  /** Statuses that the attacker received. */
  readonly got: string;
  /** Another failure of the server, in addition to waits and memory. */
  readonly problem?: string;
}

/**
 * Servers to attack: `null` is the null driver alone, `shared` the same with one port for gRPC and HTTP, `defaults` the
 * same without the users that log in for the first time beside every other attack, `proxy` is `kserving proxy` before
 * such a one.
 */
export type ServerKind =
  | "null"
  | "defaults"
  | "shared"
  | "send-timeout"
  | "few-connections"
  | "client-limits"
  | "few-descriptors"
  | "log-file"
  | "inline-images"
  | "thread-images"
  | "hook-images"
  | "hostile-hooks"
  | "hooks"
  | "known-users"
  | "rules"
  | "repository"
  | "stored"
  | "proxy"
  | "mortal"
  | "lane"
  | "isolated"
  | "spied"
  | "queued"
  | "streams"
  | "texts";

/** One hostile client. */
export interface AttackRow {
  /** Family, wire and content, separated by hyphens. */
  readonly name: string;
  readonly server: ServerKind;
  /** True where the server's ports are encrypted. Default false. */
  readonly isEncrypted?: boolean;
  /** True where the attack cannot encrypt its connections, or their number would take minutes. Default false. */
  readonly isPlain?: boolean;
  /** True where threads have to listen, false where none may. Default: both will do. */
  readonly hasListeners?: boolean;
  /** Longest wait of others, in milliseconds, where they have to wait longer than anywhere else. Default 50. */
  readonly maxWaitMs?: number;
  /**
   * Requests of others that may fail, as those in a process that dies; {@link maxWaitMs} is then for the whole of a
   * wait. Default 0.
   */
  readonly mayLose?: number;
  /** True where the server has to keep room for others: none of their requests may be refused. Default false. */
  readonly neverRefusesOthers?: boolean;
  /** Makes what is sent, before anything is measured; the function that it returns attacks. */
  readonly prepare: () => Attack | Promise<Attack>;
}

/** Sends what was prepared and resolves once the server has answered, or the attack has lasted long enough. */
type Attack = (target: Target) => Promise<AttackResult>;

/** Counts equal texts: `200 ×3, 503`. */
export function tally(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => (count === 1 ? text : `${text} ×${count}`)).join(", ");
}
