import { type ErrorDetail, ServingError } from "../../errors.ts";
import { LOST_MODEL_THREAD, LOST_THREAD } from "../../lost-process.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import { fromMethodTree } from "../../platform/threads/method-tree.ts";
import { PartReader } from "../../platform/threads/part-reader.ts";
import {
  RpcClient,
  type RpcResponse,
  tellLoss,
  type UnsentRecord,
  wasNeverStarted,
} from "../../platform/threads/rpc-client.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import { copyInTurns } from "../../tensor/copy-in-turns.ts";
import { type Tensors, tensorBytes } from "../../tensor/tensor.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { ModelCall, ModelHandle, ModelParts } from "../model-handle.ts";
import { type RunStatistics, sumStatistics } from "../queue/run-statistics.ts";
import { CALL, PREDICT, PREDICT_PARTS, STATISTICS, toSentCall } from "./model-protocol.ts";

const ASK_STATISTICS = { kind: STATISTICS, meta: undefined, tensors: undefined } as const;
/**
 * Time that a model's thread has to report its statistics, in milliseconds; the last
 * known ones of a busy or stuck thread are used.
 */
const REPORT_MS = 500;
/** Inputs from this size on, in bytes, are copied in turns with other work. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** A model that is reached by message. */
export interface ModelAddress {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
  /** One connection per instance of the model. */
  readonly ports: readonly HostPort[];
}

/** A handle of a model in another thread. */
export interface ModelClient extends ModelHandle {
  /**
   * Goes on with a new connection to an instance that was replaced. Predicts sent on the old one are sent again with
   * `resend`, and fail without.
   */
  reconnect(instance: number, port: HostPort, resend: boolean): void;
}

/** Creates a handle whose calls go to the living instance with the fewest open calls. */
export function createModelClient({ facts, hookArgs, ports }: ModelAddress): ModelClient {
  let closed = false;
  const copies = new CopyClients(ports, facts);
  const call = (method: string, args: readonly unknown[]) => callMethod(copies.leastLoaded(), method, args);
  return {
    ...facts,
    hookArgs: fromMethodTree(hookArgs, call) as Readonly<Record<string, unknown>>,
    predict: async (inputs, call) => {
      if (closed) throw new ServingError("unavailable", "The model is closed.");
      const isPlainEcho = facts.echoes && call.outputs === undefined && Object.hasOwn(facts.signatures, call.signature);
      if (isPlainEcho) return inputs;
      const meta = toSentCall(call, facts.defaultSignature);
      const kind = call.parts === undefined ? PREDICT : PREDICT_PARTS;
      const answer = await copies.ask({ kind, meta, tensors: inputs }, call);
      if (call.timeline !== undefined) openTimedAnswer(answer.meta, call.timeline);
      return answer.tensors;
    },
    statistics: () => copies.statistics(),
    reconnect: (instance, port, resend) => copies.reconnect(instance, port, resend),
    close: async () => {
      closed = true;
      await copies.close();
    },
  };
}

/** Calls a function of the model that it gives to hooks. */
async function callMethod(copy: RpcClient, method: string, args: readonly unknown[]): Promise<unknown> {
  const { json, tensors } = packValues(args);
  const answer = await copy
    .ask({ kind: CALL, meta: { method, args: json }, tensors })
    .catch((reason) => Promise.reject(blameCaller(reason, method)));
  return unpackValues({ json: answer.meta, tensors: answer.tensors });
}

/** Makes an error in a method's arguments the hook's fault: they never come from the client. */
function blameCaller(reason: unknown, method: string): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `A hook gave ${method} what it does not take: ${reason.message}`, {
    cause: reason,
  });
}

/** A connection to each copy of a model. */
class CopyClients {
  readonly #host: string;
  readonly #keepsInputs: boolean;
  readonly #clients: RpcClient[];
  readonly #statistics: ReportedStatistics[];
  #turn = 0;
  #isClosing = false;

  constructor(ports: readonly HostPort[], { isolated, sharesThread }: ModelFacts) {
    this.#host = isolated ? "the model's process" : "the model's thread";
    // Inputs that may have to be sent again are kept.
    this.#keepsInputs = sharesThread === true;
    this.#clients = ports.map((port) => this.#connect(port));
    this.#statistics = this.#clients.map((client) => new ReportedStatistics(() => askStatistics(client)));
  }

  /** Those who have given up are told of a loss together with those who wait, so that they are judged together. */
  #connect(port: HostPort): RpcClient {
    const client = new RpcClient(port, this.#host);
    client.onClose(() => {
      if (!this.#isClosing) client.tellGivenUp(this.#loss);
    });
    return client;
  }

  /** The loss of a request: a thread that models share ends by any of them, so that its only client is no suspect. */
  get #loss(): ErrorDetail {
    return this.#keepsInputs ? LOST_THREAD : LOST_MODEL_THREAD;
  }

  /**
   * The living copy with the fewest open calls. Other threads' calls are not seen here: equals are chosen round-robin,
   * so that not all begin with the first.
   */
  leastLoaded(): RpcClient {
    const clients = this.#clients;
    this.#turn = (this.#turn + 1) % clients.length;
    let best = clients[this.#turn]!;
    for (let step = 1; step < clients.length; step++) {
      const next = clients[(this.#turn + step) % clients.length]!;
      if (loadOf(next) < loadOf(best)) best = next;
    }
    return best;
  }

  /**
   * Asks the copy that a warm-up request is for, if it lives, else the least loaded one; asks another if that ended
   * before it had started.
   */
  async ask(request: UnsentRecord & { readonly tensors: Tensors }, call: ModelCall): Promise<RpcResponse> {
    const isOurs = call.transfer === true;
    const isCopied = isOurs && this.#keepsInputs && tensorBytes(request.tensors) >= LARGE_BYTES;
    const isGiven = isCopied || (isOurs && !this.#keepsInputs);
    for (;;) {
      const sent = isCopied ? { ...request, tensors: await copyInTurns(request.tensors) } : request;
      const client = this.#copyFor(call.limits?.warmUp);
      const parts = call.parts && readerOf(call, call.parts, client);
      try {
        if (parts === undefined) return await client.ask(sent, call.signal, isGiven);
        return await parts.settle(client.ask(sent, parts.source, isGiven, parts));
      } catch (reason) {
        // Its next run would begin with the parts that were taken.
        const isBegun = parts !== undefined && parts.count > 0;
        if (isBegun || !wasNeverStarted(reason)) throw tellLoss(reason, this.#loss);
      }
    }
  }

  /** Goes on with a new connection to a copy; `resend` = the old one's open calls are sent again. */
  reconnect(instance: number, port: HostPort, resend: boolean): void {
    const old = this.#clients[instance];
    const client = this.#connect(port);
    this.#clients[instance] = client;
    const known = this.#statistics[instance]?.known;
    this.#statistics[instance] = new ReportedStatistics(() => askStatistics(client), known);
    old?.close(resend);
    old?.tellGivenUp(this.#loss);
  }

  /** Statistics of all copies together. */
  async statistics(): Promise<RunStatistics> {
    return sumStatistics(await Promise.all(this.#statistics.map((copy) => copy.read())));
  }

  /** Closes the connections once their calls are over. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.idle()));
    this.#isClosing = true;
    for (const client of this.#clients) client.close();
  }

  #copyFor(warmUp: number | undefined): RpcClient {
    const copy = warmUp === undefined ? undefined : this.#clients[warmUp % this.#clients.length];
    return copy?.isOpen ? copy : this.leastLoaded();
  }
}

function readerOf({ signal, limits, memory }: ModelCall, parts: ModelParts, client: RpcClient): PartReader<Tensors> {
  const read = ({ tensors }: RpcResponse) => tensors;
  const write = (part: Tensors) => parts.write(part);
  const crowded = () => parts.crowded?.();
  return new PartReader({ signal, limits, memory, client, read, bytesOf: tensorBytes, write, crowded });
}

async function askStatistics(client: RpcClient): Promise<RunStatistics> {
  const { meta } = await client.ask(ASK_STATISTICS);
  return meta as RunStatistics;
}

function loadOf({ isOpen, pending }: RpcClient): number {
  return isOpen ? pending : Number.POSITIVE_INFINITY;
}

/** Statistics of one copy of a model, as its thread reports them. */
export class ReportedStatistics {
  readonly #ask: () => Promise<RunStatistics>;
  /** Those of threads that this one has replaced. */
  readonly #before: RunStatistics;
  #last = sumStatistics([]);
  #asked: Promise<void> | undefined;

  constructor(ask: () => Promise<RunStatistics>, before = sumStatistics([])) {
    this.#ask = ask;
    this.#before = before;
  }

  /** As of the last report. */
  get known(): RunStatistics {
    return sumStatistics([this.#before, this.#last]);
  }

  /** As they are now, or as of the last report. */
  async read(): Promise<RunStatistics> {
    this.#asked ??= this.#update();
    await settlesWithin(this.#asked, REPORT_MS);
    return this.known;
  }

  /** The last report of a lost thread stays valid. */
  async #update(): Promise<void> {
    try {
      this.#last = await this.#ask();
    } catch {
    } finally {
      this.#asked = undefined;
    }
  }
}
