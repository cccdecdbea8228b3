import type { MessagePort } from "node:worker_threads";
import type { OptionTable, RawOptions } from "../../drivers/option-table.ts";
import type { ModelFacts } from "../../models/model-facts.ts";
import type { Logged } from "../../observability/log-filter.ts";
import { type PlainCall, toPlainCall } from "../../pipeline/call-options.ts";
import type { HookFacts } from "../../pipeline/hook-places.ts";
import type { InferRequest, RawHead, ServedVersion } from "../../pipeline/infer-request.ts";
import { type Payload, payloadToTensors } from "../../pipeline/payload.ts";
import type { RemoteTlsPaths } from "../../pipeline/remote.ts";
import type { HookEdges } from "../../pipeline/signatures.ts";
import type { OverloadRules } from "../../platform/limits/overload-manager.ts";
import type { HookSettings } from "../../platform/limits/settings/server-settings.ts";
import { FIRST_REQUEST, type UnsentRecord } from "../../platform/threads/rpc-client.ts";
import type { LogEvent } from "../../platform/threads/thread-logger.ts";
import type { TimedAnswer } from "../../platform/threads/timed-answer.ts";
import type { WireError } from "../../platform/threads/wire-error.ts";
import type { InitParams } from "../hooks.ts";

/** Kind of the request to run a pipeline; its payload is the record's tensors. */
const RUN = FIRST_REQUEST;

/** {@link RUN} of a request that takes an answer in parts: records of PART come before the last one, which is empty. */
export const RUN_PARTS = FIRST_REQUEST + 1;

/** The meta of {@link RUN} and {@link RUN_PARTS}. */
export interface RunMeta {
  readonly call: PlainCall;
  readonly signature: string;
  readonly kind: Payload["kind"];
  readonly outputs?: readonly string[] | undefined;
  readonly raw?: RawHead | undefined;
}

/** {@link RUN} of a request, or {@link RUN_PARTS}. */
export function toRunRecord({ signature, inputs, outputs, raw, call }: InferRequest, isParted: boolean): UnsentRecord {
  const meta: RunMeta = { call: toPlainCall(call), signature: signature.name, kind: inputs.kind, outputs, raw };
  return { kind: isParted ? RUN_PARTS : RUN, meta, tensors: payloadToTensors(inputs) };
}

/** The meta of its answer, or of a part of it; absent if hooks set nothing. */
export interface RanMeta {
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly status?: number;
  /** Present if the parts of the request were asked for. */
  readonly timed?: TimedAnswer;
}

/** A model's connections for a hook thread; the ports are in the transfer list. */
export interface ModelConnection {
  readonly facts: ModelFacts;
  readonly hookArgs: unknown;
  readonly ports: readonly MessagePort[];
}

/** Start data of a hook thread. */
export interface HookThreadData extends Omit<HookSettings, "workers"> {
  /** The compiled hook module, or a copy of the Python file. */
  readonly url: string;
  /** The hook file as the user gave it, for messages. */
  readonly file: string;
  readonly stageCount: number;
  readonly logged: Logged;
  /** The `-o` options for all drivers and the hooks: for Python hooks those of their process. */
  readonly options?: RawOptions;
  /** Files for encrypted connections to other servers. */
  readonly remoteTls?: RemoteTlsPaths | undefined;
  /** File of the credentials at other servers. */
  readonly remoteAuthFile?: string | undefined;
  /** At which rate other servers send their answers at least. Default: the server's. */
  readonly overload?: OverloadRules | undefined;
  /** Port between the thread and the main thread; unlike `parentPort`, user code cannot reach it. */
  readonly control: MessagePort;
  /** One 32-bit integer that counts the turns of the thread's event loop. */
  readonly heartbeat: SharedArrayBuffer;
  /** Memory in which the thread marks the last request that it started: see StartMark. */
  readonly started: SharedArrayBuffer;
  /** Memory in which the thread counts the times of its hooks: see HookClock. */
  readonly times: SharedArrayBuffer;
}

/** Messages from the main thread to a hook thread. */
export type HookCommand =
  | {
      readonly start: {
        readonly models: readonly ModelConnection[];
        readonly params: InitParams;
        readonly served: ServedVersion;
        readonly requests: MessagePort;
      };
    }
  | {
      readonly loadedModel: { readonly id: number; readonly connection?: ModelConnection; readonly failed?: WireError };
    }
  | { readonly reconnect: ReplacedInstance }
  | { readonly close: true };

/** A new connection to an instance of a stage's model. */
interface ReplacedInstance {
  readonly stage: number;
  readonly instance: number;
  readonly port: MessagePort;
  /** True if requests on the old connection have not run, and are to be sent again. */
  readonly resend: boolean;
}

/** A model that hooks request; they choose the id, for the answer and for returning it. */
export interface LeaseRequest {
  readonly id: number;
  readonly driver: string;
  readonly path: string;
  readonly options: RawOptions;
}

/** Declarations of a hook file, known before any model is loaded. */
export interface DeclaredHooks {
  readonly options?: OptionTable;
  /** The `-o` keys of the process that runs the hooks. */
  readonly hostOptions?: readonly string[];
  /** The files that the hooks come from, if only the thread knows them. */
  readonly sources?: readonly string[];
}

/** The declarations, and what the pipeline's signatures need. */
export interface HookDeclaration extends DeclaredHooks {
  readonly facts: HookFacts;
  readonly edges: HookEdges;
  /** Number of the process that runs the hooks; absent = the thread does. */
  readonly pid?: number;
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
