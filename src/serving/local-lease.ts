import { ServingError } from "../errors.ts";
import { limitTime } from "../limits/call-limits.ts";
import type { MemoryBudget } from "../limits/memory/memory-budget.ts";
import { copyPayload } from "../pipeline/copy-payload.ts";
import { convertedBytes, payloadBytes } from "../pipeline/payload.ts";
import type { PipelineResult } from "../pipeline/pipeline-request.ts";
import type { ExampleInputs } from "../signature/example-inputs.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { LoadedVersion } from "./catalog.ts";
import type { InferRequest, InferResponse, Lease } from "./inference-service.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { SentRequest } from "./poison/poison-guard.ts";
import type { PoisonWatch } from "./poison/poison-watch.ts";
import { requestNames } from "./request-names.ts";
import type { Servable } from "./servable.ts";
import type { ServableDescription } from "./servable-description.ts";

/** Limits that all requests of a server share. */
export interface ServiceLimits {
  readonly admission: Admission;
  readonly memory: MemoryBudget;
  /** Requests that are not to be run again. */
  readonly poison: PoisonWatch;
  /** Time after which a request fails whose client sets no earlier deadline, in milliseconds; 0 = never. */
  readonly requestTimeoutMs: number;
}

/** A lease of a servable of this process. */
export class LocalLease implements Lease {
  readonly description: ServableDescription;
  readonly #servable: Servable;
  readonly #places: ModelPlaces;
  readonly #limits: ServiceLimits;
  #isReleased = false;

  constructor({ servable, places }: Pick<LoadedVersion, "servable" | "places">, limits: ServiceLimits) {
    this.description = servable.description;
    this.#servable = servable;
    this.#places = places;
    this.#limits = limits;
    servable.leases.take();
  }

  exampleInputs(): Promise<ExampleInputs | undefined> {
    return this.#servable.exampleInputs();
  }

  /** One function on purpose: a further await would cost a small request as much as all its checks. */
  async infer({ signature, inputs, outputs, targets, raw, call: given }: InferRequest): Promise<InferResponse> {
    const { admission, memory: budget, requestTimeoutMs } = this.#limits;
    const { model, version } = this.description;
    if (targets !== undefined && this.description.graphRefusal !== "") {
      throw new ServingError("unimplemented", `Its graph cannot be run: ${this.description.graphRefusal}.`);
    }
    const { record, memory = budget.open() } = given;
    const limited = requestTimeoutMs === 0 ? undefined : limitTime(given, requestTimeoutMs);
    const usesGiven = limited === undefined && memory === given.memory;
    const { signal, deadline } = limited ?? given;
    const call = usesGiven ? given : { ...given, signal, deadline, memory };
    const info = { id: call.id, model, version, signature: signature.name };
    // The request is another model's, which does not know that hooks of this thread may keep what they get or give.
    const isShared = call.depth !== undefined && call.depth > 0 && this.#servable.hooksShareTensors;
    let admitted: Admitted | undefined;
    let isSuccess = false;
    let queuedBytes = -1;
    let started = -1;
    record?.servedBy(model, version);
    record?.beginInference();
    try {
      const inputBytes = payloadBytes(inputs);
      memory.growTo(inputBytes + convertedBytes(inputs, signature.spec?.inputs));
      const { bytes } = memory;
      this.#places.enter(bytes, memory.client);
      queuedBytes = bytes;
      // A call from another model was admitted with that model's request, so it must end even while no new request may
      // begin.
      if (!call.depth) admitted = admission.enter(info, { places: this.#places, client: memory.client });
      started = performance.now();
      const names = requestNames(signature, this.description.signatures);
      const declared = names?.toDeclared({ inputs, outputs }) ?? { inputs, outputs };
      const own = isShared ? copyPayload(declared.inputs) : declared.inputs;
      const request = { info, inputs: own, outputs: declared.outputs, targets, raw, call };
      const result = await this.#run({ request, bytes: inputBytes, client: memory.client });
      memory.growTo(payloadBytes(result.outputs));
      // A hook may answer by itself that it failed.
      isSuccess = (result.status ?? 200) < 400;
      memory.isWireOnly = !this.#servable.hooksShareTensors;
      const { outputs: made, metadata, contentType, status } = result;
      const asked = names?.toAsked(made) ?? made;
      const answer = isShared ? copyPayload(asked) : asked;
      return { model, version, signature: info.signature, outputs: answer, metadata, contentType, status };
    } finally {
      record?.endInference();
      limited?.clear();
      if (queuedBytes >= 0) this.#places.leave(queuedBytes);
      if (admitted !== undefined) admission.leave(admitted);
      if (started >= 0 && given.warmUp === undefined) this.#servable.requests.add(started, isSuccess);
      if (given.memory === undefined) memory.release();
    }
  }

  async #run(sent: SentRequest): Promise<PipelineResult> {
    const { poison } = this.#limits;
    const run = () => this.#servable.run(sent.request);
    try {
      return await (poison.isCalm ? run() : poison.run(sent, run));
    } catch (reason) {
      poison.look(reason, sent);
      throw reason;
    }
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#servable.leases.release();
  }
}
