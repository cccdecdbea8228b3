import { ServingError } from "../../errors.ts";
import { ClientTurns, clientOf, rankOf, type Turned } from "../../models/queue/client-turns.ts";
import type { InferRequest, InferResponse } from "../../pipeline/infer-request.ts";

type RunRequest = (request: InferRequest, kind: string) => Promise<InferResponse>;

/** A request that waits for a thread. */
interface Waiting {
  readonly request: InferRequest;
  readonly kind: string;
  readonly resolve: (result: Promise<InferResponse>) => void;
  readonly reject: (reason: unknown) => void;
  /** Stops listening to the request's signal, to which its thread listens from then on. */
  readonly stopWatching: () => void;
}

/**
 * Requests that wait for a thread: clients take turns, and each client's go by priority, fair to each kind. One whose
 * client has left is removed before it causes any work.
 */
export class RequestQueue {
  readonly #queue = new FairQueue<Waiting>();

  /**
   * Resolves with what {@link runNext} gets for the request; rejects if its client
   * leaves before, or with the reason of {@link clear}.
   */
  wait(request: InferRequest): Promise<InferResponse> {
    const { limits, signal } = request.call;
    // It would call no listener any more.
    if (signal.aborted) return Promise.reject(ServingError.from(signal.reason));
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#queue.remove(waiting);
        reject(ServingError.from(signal.reason));
      };
      const stopWatching = () => signal.removeEventListener("abort", abort);
      const kind = kindOfRequest(request);
      const waiting = { request, kind, resolve, reject, stopWatching };
      signal.addEventListener("abort", abort, { once: true });
      this.#queue.push(waiting, { limits, kind });
    });
  }

  /** Runs the next request, of certain kinds if only these may run; false if none waits. */
  runNext(run: RunRequest, mayRun?: (kind: string) => boolean): boolean {
    const next = this.#queue.shift(mayRun);
    if (next === undefined) return false;
    next.stopWatching();
    next.resolve(run(next.request, next.kind));
    return true;
  }

  /** Rejects all requests. */
  clear(reason: ServingError): void {
    for (const { reject, stopWatching } of this.#queue.clear()) {
      stopWatching();
      reject(reason);
    }
  }
}

/** Characters of names that tell kinds apart: a kind is kept for as long as its requests wait and run. */
const MAX_KIND = 256;

/** The kind of a request, by its inputs: requests with other inputs are often for another model. */
export function kindOfRequest({ signature, inputs }: InferRequest): string {
  if (inputs.kind === "json") return "json";
  const names = [signature.name, ...Object.keys(inputs.tensors)];
  let length = 0;
  for (const name of names) length += name.length;
  if (length <= MAX_KIND) return JSON.stringify(names);
  let start = "";
  for (const name of names) {
    start += `${name.slice(0, MAX_KIND - start.length)},`;
    if (start.length >= MAX_KIND) break;
  }
  return JSON.stringify([names.length, length, start]);
}

/** Attributes of an item in a {@link FairQueue}. */
interface Standing {
  /** Its client, and its priority among those of its client; absent = none. */
  readonly limits?: Turned["limits"] | undefined;
  /** A client's items of the same kind share turns. */
  readonly kind: string;
}

interface Entry<Item> extends Turned {
  item: Item;
  readonly kind: string;
  /** Turn of its kind among those of its client. */
  readonly kindTurn: number;
}

/** Turns of a client's kinds. */
interface KindTurns {
  now: number;
  /** The next turn of each kind. */
  readonly next: Map<string, number>;
}

/**
 * A queue that serves clients in turn ({@link ClientTurns}), and of each client priorities first, then its kinds
 * round-robin: however many items of one kind wait, the first of another comes next. Each item gets the turn after its
 * kind's last one, or the current turn if its kind has none waiting (start-time fair queueing).
 */
export class FairQueue<Item> {
  readonly #entries: Entry<Item>[] = [];
  readonly #clients = new ClientTurns<Entry<Item>>(isBefore);
  readonly #kinds = new Map<number, KindTurns>();

  push(item: Item, { limits = {}, kind }: Standing): void {
    const client = clientOf({ limits });
    const kinds = this.#kinds.get(client) ?? { now: 0, next: new Map() };
    this.#kinds.set(client, kinds);
    const kindTurn = kinds.next.get(kind) ?? kinds.now;
    kinds.next.set(kind, kindTurn + 1);
    const since = performance.now();
    this.#clients.insert(this.#entries, { item, kind, limits, kindTurn, since, rows: 1, turn: 0 });
  }

  /** Removes and returns the first item; of certain kinds, if only these may be taken. */
  shift(mayTake?: (kind: string) => boolean): Item | undefined {
    const index = mayTake === undefined ? 0 : this.#firstOf(mayTake);
    const entry = index === 0 ? this.#entries.shift() : this.#entries.splice(index, 1)[0];
    if (entry === undefined) return undefined;
    // What overtakes others takes no turn from them.
    if (index === 0) {
      this.#clients.took(entry, this.#entries);
      const kinds = this.#kinds.get(clientOf(entry))!;
      kinds.now = Math.max(kinds.now, entry.kindTurn);
    }
    this.#forget(entry);
    return entry.item;
  }

  /** Removes an item, if it is present; those of its kind that came after it move up. */
  remove(item: Item): void {
    let last = this.#entries.findIndex((entry) => entry.item === item);
    if (last < 0) return;
    const { kind } = this.#entries[last]!;
    const [rank, client] = [rankOf(this.#entries[last]!), clientOf(this.#entries[last]!)];
    for (let index = last + 1; index < this.#entries.length; index++) {
      const next = this.#entries[index]!;
      if (next.kind !== kind || rankOf(next) !== rank || clientOf(next) !== client) continue;
      this.#entries[last]!.item = next.item;
      last = index;
    }
    const entry = this.#entries[last]!;
    this.#clients.remove(this.#entries, entry);
    const { next } = this.#kinds.get(client)!;
    if (next.get(kind) === entry.kindTurn + 1) next.set(kind, entry.kindTurn);
    this.#forget(entry);
  }

  /** Removes all items. */
  clear(): Item[] {
    this.#kinds.clear();
    return this.#entries.splice(0).map(({ item }) => item);
  }

  /** The place of the first item whose kind may be taken; the length if there is none. */
  #firstOf(mayTake: (kind: string) => boolean): number {
    const known = new Map<string, boolean>();
    const index = this.#entries.findIndex(({ kind }) => {
      const may = known.get(kind) ?? mayTake(kind);
      known.set(kind, may);
      return may;
    });
    return index < 0 ? this.#entries.length : index;
  }

  /** Clients choose the kinds, so unused ones must not accumulate. */
  #forget(gone: Entry<Item>): void {
    const [kind, client] = [gone.kind, clientOf(gone)];
    const isOwn = (entry: Entry<Item>) => clientOf(entry) === client;
    if (this.#entries.some((entry) => isOwn(entry) && entry.kind === kind)) return;
    if (this.#entries.some(isOwn)) this.#kinds.get(client)?.next.delete(kind);
    else this.#kinds.delete(client);
  }
}

function isBefore<Item>(one: Entry<Item>, other: Entry<Item>): boolean {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  return rank < otherRank || (rank === otherRank && one.kindTurn < other.kindTurn);
}
