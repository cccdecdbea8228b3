import { failedPrecondition, ServingError } from "../../../errors.ts";
import { findExampleInputs } from "../../../models/find-example-inputs.ts";
import { type ModelCall, type ModelHandle, tryModel } from "../../../models/model-handle.ts";
import type { ModelHost } from "../../../models/model-host.ts";
import type { Logger } from "../../../observability/logger.ts";
import { endOfParts, type PartSink, type ServedVersion } from "../../../pipeline/infer-request.ts";
import { openPayload } from "../../../pipeline/payload.ts";
import type { WarmedThread } from "../../../pipeline/runner.ts";
import { CancelSource } from "../../../platform/async/cancel-source.ts";
import { filledTensor } from "../../../tensor/signature/example-inputs.ts";
import { createTensors, type Tensors } from "../../../tensor/tensor.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests } from "../../recorded-request.ts";
import { type Named, type ReadRequest, runRequestFile, runSavedModelRequests, sampleTensor } from "./request-files.ts";
import type { WarmUpEntry } from "./warm-up-entry.ts";

/** Parts that a warm-up needs. */
export interface WarmUpParts {
  readonly name: string;
  readonly version: bigint;
  readonly entries: readonly WarmUpEntry[];
  /** Number of copies of each model, and of threads that run its hooks. */
  readonly instances: number;
  readonly workers: number;
  /** Reads requests from files; absent = none are run. */
  readonly recorded?: RecordedRequests | undefined;
  /** Runs of each request in a SavedModel; absent = 1. */
  readonly savedModelWarmup?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly log: Logger;
}

/** A model's inputs and their signature. */
interface ModelInputs extends Pick<ModelCall, "signature" | "outputs"> {
  readonly inputs: Tensors;
}

/**
 * Runs requests in a version before clients' requests reach it, each on every copy. Throws the error of a failed
 * request, after which the version should not be served.
 */
export class WarmUp {
  readonly #parts: WarmUpParts;
  readonly #signal = new CancelSource();
  readonly #started = performance.now();
  #requests = 0;

  constructor(parts: WarmUpParts) {
    this.#parts = parts;
  }

  /** Runs the requests for the models themselves, before their hooks start. */
  models(hosts: readonly Pick<ModelHost, "handle">[]): Promise<void> {
    const handles = hosts.map(({ handle }) => handle);
    return this.#untilAborted(() => this.#models(handles));
  }

  /** Runs requests from files, like clients' requests, through the whole pipeline. */
  pipeline(runner: WarmedThread): Promise<void> {
    return this.#untilAborted(() => this.#pipeline(runner));
  }

  /**
   * Warms up one copy of a stage's model, counted from 0; with random values if only the whole pipeline takes the
   * requests.
   */
  copy(handle: ModelHandle, stage: number, isAlone: boolean): Promise<void> {
    return this.#untilAborted(async () => {
      await this.#models([handle], stage);
      const hasFiles = this.#parts.entries.some(({ kind }) => kind === "file");
      const { name: model, version } = this.#parts;
      if (isAlone) await this.#pipeline(toRunner(handle, { model, version }));
      // Its hooks, or the stage before it, may give it other values than these.
      else if (hasFiles) await this.#runRandom(handle, 1).catch(() => this.#signal.throwIfAborted());
    });
  }

  /** Logs how long it took, if there were requests to run. */
  end(): void {
    if (this.#requests === 0) return;
    const { name: model, version, log } = this.#parts;
    const ms = Math.round(performance.now() - this.#started);
    log.info("model warmed up", { model, version: String(version), requests: this.#requests, ms });
  }

  /** Samples are for the first stage only. */
  async #models(handles: readonly ModelHandle[], first = 0): Promise<void> {
    for (const handle of handles) await this.#savedModel(handle);
    for (const entry of this.#parts.entries) {
      if (entry.kind === "random") for (const handle of handles) await this.#random(handle, entry.count);
      if (entry.kind === "sample" && first === 0) {
        const run = () => this.#sample(handles[0], entry.inputs, entry.count);
        await this.#named(`The warm-up sample "${entry.name}"`, run);
      }
    }
  }

  async #pipeline(runner: WarmedThread): Promise<void> {
    const { recorded, log } = this.#parts;
    const target = this.#target(runner.signatures);
    const named: Named = (title, run) => this.#named(title, run);
    for (const entry of this.#parts.entries) {
      if (entry.kind !== "file") continue;
      if (recorded === undefined) throw failedPrecondition("This server has no protocol that reads warm-up requests.");
      const run = (read: ReadRequest) => this.#request(runner, read, entry.count);
      await runRequestFile(entry.path, { recorded, target, log, named }, run);
    }
  }

  async #savedModel(handle: ModelHandle): Promise<void> {
    const { recorded, savedModelWarmup: runs = 1, log } = this.#parts;
    if (recorded === undefined || runs === 0 || handle.path === "") return;
    const target = this.#target(handle.signatures);
    await runSavedModelRequests(handle.path, log, (record, title) =>
      this.#named(title, async () => {
        const requests = await recorded.readLog(record, target);
        if (requests === undefined || "kind" in requests) return requests;
        for (let run = 0; run < runs; run++)
          for (const request of requests) await this.#model(handle, toModelInputs(request));
        return undefined;
      }),
    );
  }

  async #random(handle: ModelHandle, count: number): Promise<void> {
    try {
      await this.#runRandom(handle, count);
    } catch (reason) {
      this.#signal.throwIfAborted();
      // These values do not come from a user.
      const { message } = ServingError.from(reason);
      this.#parts.log.warn(
        `No random inputs were found on which ${handle.path || handle.driver} runs, so that it is not warmed up: ${message} Give it a request file for its warm-up.`,
      );
    }
  }

  async #runRandom(handle: ModelHandle, count: number): Promise<void> {
    const signature = handle.signatures[handle.defaultSignature] ?? {};
    const example = await findExampleInputs(handle, signature);
    const inputs = () => createTensors(example.inputs.map((input) => [input.name, filledTensor(input)]));
    const call = { signature: handle.defaultSignature };
    for (let run = 0; run < count; run++) await this.#model(handle, { inputs: inputs(), ...call });
  }

  async #sample(handle: ModelHandle | undefined, described: readonly SampleInputs[], count: number): Promise<void> {
    if (handle === undefined) return;
    const tensors: [string, Awaited<ReturnType<typeof sampleTensor>>][] = [];
    for (const input of described) tensors.push([input.name, await sampleTensor(input)]);
    const inputs = createTensors(tensors);
    for (let run = 0; run < count; run++) await this.#model(handle, { inputs, signature: handle.defaultSignature });
  }

  /**
   * Runs a request on each copy and in each hook thread; it is read again for each,
   * since a run may transfer its inputs.
   */
  async #request(runner: WarmedThread, read: ReadRequest, count: number): Promise<void> {
    const { instances, workers } = this.#parts;
    for (let run = 0; run < count; run++) {
      await this.#onEachCopy(Math.max(instances, workers, 1), async (copy) => {
        const { signature, inputs, outputs } = await read();
        const call = { id: "warm-up", metadata: {}, ...copy };
        const payload = { kind: "tensors", tensors: inputs } as const;
        await untilFirstPart((parts) => runner.run({ signature, inputs: payload, outputs, parts, call }));
      });
    }
  }

  #model(handle: ModelHandle, { inputs, ...call }: ModelInputs): Promise<void> {
    return this.#onEachCopy(this.#parts.instances, (copy) => tryModel(handle, inputs, { ...call, ...copy }));
  }

  async #onEachCopy(copies: number, run: (copy: CopyCall) => Promise<unknown>): Promise<void> {
    const signal = this.#signal;
    signal.throwIfAborted();
    await Promise.all(Array.from({ length: copies }, (_, warmUp) => run({ limits: { warmUp }, signal })));
    this.#requests++;
  }

  /** Aborts the requests when the load is aborted. */
  async #untilAborted(run: () => Promise<void>): Promise<void> {
    const { signal } = this.#parts;
    const abort = () => this.#signal.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      await run();
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Names the request in an error. */
  async #named<Result>(title: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (reason) {
      this.#signal.throwIfAborted();
      const { code, message } = ServingError.from(reason);
      throw new ServingError(code, `${title} failed: ${message}`, { cause: reason });
    }
  }

  #target(signatures: RecordedFor["signatures"]): RecordedFor {
    return { model: this.#parts.name, signatures, signal: this.#signal };
  }
}

/** Ends a request with the first part of its answer if that comes in parts, which may go on for ever. */
async function untilFirstPart(run: (parts: PartSink) => Promise<unknown>): Promise<void> {
  const enough = new ServingError("cancelled", "A warm-up takes the first part of an answer.");
  await run({ write: () => Promise.reject(enough) }).catch((reason) => {
    if (reason !== enough) throw reason;
  });
}

type SampleInputs = Parameters<typeof sampleTensor>[0];
type CopyCall = Pick<ModelCall, "limits" | "signal">;

function toModelInputs({ signature, inputs, outputs }: RecordedRequest): ModelInputs {
  return { signature: signature.name, inputs, outputs };
}

/** A single model as the pipeline of its version. */
function toRunner(handle: ModelHandle, version: ServedVersion): WarmedThread {
  const { signatures, defaultSignature } = handle;
  return {
    signatures,
    run: async (request) => {
      const { inputs, outputs, call } = request;
      const signature = request.signature.name || defaultSignature;
      const { limits, signal } = call;
      await tryModel(handle, openPayload(inputs) as Tensors, { signature, outputs, limits, signal });
      return endOfParts(version, request, 1);
    },
  };
}
