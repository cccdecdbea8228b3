import { ServingError } from "../errors.ts";
import { convertedBytes, copyPayload, payloadBytes } from "../pipeline/payload.ts";
import { limitTime } from "../platform/limits/call-limits.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { LoadedVersion } from "./catalog.ts";
import type { CallOptions, InferRequest, InferResponse, Lease, PartSink } from "./inference-service.ts";
import type { ModelPlaces } from "./model-places.ts";
import type { SentRequest } from "./poison/poison-guard.ts";
import type { PoisonWatch } from "./poison/poison-watch.ts";
import { type RequestNames, requestNames } from "./request-names.ts";
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
  async infer(request: InferRequest): Promise<InferResponse> {
    const { admission, memory: budget, requestTimeoutMs } = this.#limits;
    const { model, version, graphRefusal, signatures } = this.description;
    const { signature, inputs, call: given } = request;
    if (request.targets !== undefined && graphRefusal !== "") {
      throw new ServingError("unimplemented", `Its graph cannot be run: ${graphRefusal}.`);
    }
    const { record, memory = budget.open() } = given;
    const limited = requestTimeoutMs === 0 ? undefined : limitTime(given, requestTimeoutMs);
    const usesGiven = limited === undefined && memory === given.memory;
    const { limits, signal } = limited ?? given;
    const call = usesGiven ? given : { ...given, limits, signal, memory };
    const isFromModel = limits?.depth !== undefined && limits.depth > 0;
    // The request is another model's, which does not know that hooks of this thread may keep what they get or give.
    const isShared = isFromModel && this.#servable.hooksShareTensors;
    let admitted: Admitted | undefined;
    let isSuccess = false;
    let queuedBytes = -1;
    let started = -1;
    record?.servedBy(model, version);
    record?.beginInference();
    try {
      const inputBytes = payloadBytes(inputs);
      memory.growTo(inputBytes + convertedBytes(inputs, signature.spec?.inputs));
      const { bytes, client } = memory;
      this.#places.enter(bytes, client);
      queuedBytes = bytes;
      // A call from another model was admitted with that model's request, so it must end even while no new request may
      // begin.
      if (!isFromModel) admitted = admission.enter({ id: call.id, model }, { places: this.#places, client });
      started = performance.now();
      if (record !== undefined) record.isAdmitted = true;
      const names = requestNames(signature, signatures);
      const own = usesGiven && names === undefined && !isShared ? request : toOwn(request, call, { names, isShared });
      const answer = await this.#run({ model, request: own, bytes: inputBytes, client });
      memory.growTo(payloadBytes(answer.outputs));
      // A hook may answer by itself that it failed.
      isSuccess = (answer.status ?? 200) < 400;
      memory.isWireOnly = !this.#servable.hooksShareTensors;
      const isAsked = (names === undefined && !isShared) || answer.parts !== undefined;
      return isAsked ? answer : toAsked(answer, { names, isShared });
    } finally {
      record?.endInference();
      limited?.clear();
      if (queuedBytes >= 0) this.#places.leave(queuedBytes);
      if (admitted !== undefined) admission.leave(admitted);
      if (started >= 0 && limits?.warmUp === undefined) this.#servable.requests.add(started, isSuccess);
      if (given.memory === undefined) memory.release();
    }
  }

  async #run(sent: SentRequest): Promise<InferResponse> {
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

/** The difference of a request from the one that its servable gets. */
interface Difference {
  readonly names: RequestNames | undefined;
  /** True if its tensors are copied. */
  readonly isShared: boolean;
}

function toOwn(request: InferRequest, call: CallOptions, { names, isShared }: Difference): InferRequest {
  const { signature, targets, raw, parts } = request;
  const { inputs, outputs } = names?.toDeclared(request) ?? request;
  const own = { signature, inputs: isShared ? copyPayload(inputs) : inputs, outputs, targets, raw, call };
  return parts === undefined ? own : { ...own, parts: toAskedParts(parts, { names, isShared }) };
}

function toAskedParts(parts: PartSink, difference: Difference): PartSink {
  const { names, isShared } = difference;
  if (names === undefined && !isShared) return parts;
  return { write: (part) => parts.write(toAsked(part, difference)) };
}

function toAsked(answer: InferResponse, { names, isShared }: Difference): InferResponse {
  const outputs = names?.toAsked(answer.outputs) ?? answer.outputs;
  return { ...answer, outputs: isShared ? copyPayload(outputs) : outputs };
}
