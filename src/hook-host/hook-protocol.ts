import type { MessagePort } from "node:worker_threads";
import type { OptionTable, RawOptions } from "../drivers/option-table.ts";
import type { InitParams } from "../hooks/hooks.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import type { Logged } from "../observability/log-filter.ts";
import type { PlainCall } from "../pipeline/call-options.ts";
import type { Payload } from "../pipeline/payload.ts";
import type { HookEdges } from "../pipeline/signatures.ts";
import { createTensor, createTensors, type Tensors } from "../tensor/tensor.ts";
import { FIRST_REQUEST } from "../threads/rpc-client.ts";
import type { LogEvent } from "../threads/thread-logger.ts";
import type { TimedAnswer } from "../threads/timed-answer.ts";
import type { WireError } from "../threads/wire-error.ts";

/** Asks a hook thread to run a request; its payload is the record's tensors. */
export const RUN = FIRST_REQUEST;

/** The meta of {@link RUN}. */
export interface RunMeta {
  readonly call: PlainCall;
  readonly model: string;
  readonly version: string;
  readonly signature: string;
  readonly kind: Payload["kind"];
  readonly outputs?: readonly string[] | undefined;
}

/** The meta of its answer; absent where hooks set nothing. */
export interface RanMeta {
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
  /** Present where the parts of the request were asked for. */
  readonly timed?: TimedAnswer;
}

/** A model as a hook thread reaches it; the ports travel in the transfer list. */
export interface ModelLines {
  readonly facts: ModelFacts;
  readonly hookArgs: unknown;
  readonly ports: readonly MessagePort[];
}

/** Data that a hook thread is started with. */
export interface HookThreadData {
  /** The compiled hook module. */
  readonly url: string;
  /** The hook file as the user gave it, for messages. */
  readonly file: string;
  readonly stageCount: number;
  readonly logged: Logged;
  /** Milliseconds after which a hook's pending promise fails its request; 0 = never. */
  readonly hookTimeoutMs: number;
  /** Memory that the thread may hold, in megabytes: in its JavaScript heap, and as much again in buffers. */
  readonly memoryMb: number;
  /** Lets a debugger attach; a thread that stands still, or a promise that stays pending, is then left alone. */
  readonly inspect: boolean;
  /** Port between the thread and the main thread; user code does not get it, unlike `parentPort`. */
  readonly control: MessagePort;
  /** One 32-bit integer that counts the turns of the thread's event loop. */
  readonly heartbeat: SharedArrayBuffer;
  /** Memory in which the thread marks the last request that it began: see StartMark. */
  readonly started: SharedArrayBuffer;
  /** Memory in which the thread counts the times of its hooks: see HookClock. */
  readonly times: SharedArrayBuffer;
}

/** Messages from the main thread to a hook thread. */
export type HookCommand =
  | {
      readonly start: {
        readonly models: readonly ModelLines[];
        readonly params: InitParams;
        readonly requests: MessagePort;
      };
    }
  | { readonly loadedModel: { readonly id: number; readonly lines?: ModelLines; readonly failed?: WireError } }
  | { readonly reconnect: ReplacedInstance }
  | { readonly close: true };

/** A new line to an instance of a stage's model. */
interface ReplacedInstance {
  readonly stage: number;
  readonly instance: number;
  readonly port: MessagePort;
  /** True where what was asked on the old line has not run, and is to be asked again. */
  readonly resend: boolean;
}

/** A model that hooks want to load themselves; the id is their own, for the answer and to give it back. */
export interface LeaseRequest {
  readonly id: number;
  readonly driver: string;
  readonly path: string;
  readonly options: RawOptions;
}

/** Declarations of a hook file, known before any model is loaded. */
export interface DeclaredHooks {
  readonly options?: OptionTable;
}

/** The same, and what the pipeline's signatures need. */
export interface HookDeclaration extends DeclaredHooks {
  readonly edges: HookEdges;
}

/** Messages from a hook thread to the main thread. */
export type HookEvent =
  | { readonly declared: HookDeclaration }
  | { readonly ready: true }
  | { readonly failed: WireError }
  | { readonly exhausted: true }
  | { readonly log: LogEvent }
  | { readonly loadModel: LeaseRequest }
  | { readonly closeModel: number }
  | { readonly closed: true };

const JSON_NAME = "json";

/** A payload as a record's tensors. */
export function payloadToTensors(payload: Payload): Tensors {
  if (payload.kind === "tensors") return payload.tensors;
  return createTensors([[JSON_NAME, createTensor("uint8", [payload.json.length], payload.json)]]);
}

/** The payload that the tensors stand for. */
export function payloadFromTensors(kind: Payload["kind"], tensors: Tensors): Payload {
  if (kind === "tensors") return { kind, tensors };
  return { kind, json: tensors[JSON_NAME]?.data as Uint8Array };
}
