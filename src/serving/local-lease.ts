import { type ErrorCode, ServingError } from "../errors.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { convertedBytes, copyPayload, payloadBytes } from "../pipeline/payload.ts";
import type { SentRequest } from "../pipeline/poison/poison-guard.ts";
import type { PoisonWatch } from "../pipeline/poison/poison-watch.ts";
import { type CancelSignal, followSignal } from "../platform/async/cancel-source.ts";
import { limitTime } from "../platform/limits/call-limits.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { LoadedVersion } from "./catalog.ts";
import type { CallOptions, InferRequest, InferResponse, Lease, PartSink } from "./inference-service.ts";
import type { ModelPlaces } from "./model-places.ts";
import { type RequestNames, requestNames } from "./request-names.ts";
import type { Servable } from "./servable.ts";
import type { ServableDescription } from "./servable-description.ts";
import type { RequestCounter, StreamEnd } from "./servable-statistics.ts";

/** Limits that all requests of a server share. */
export interface ServiceLimits {
  readonly admission: Admission;
  readonly memory: MemoryBudget;
  /** Requests that are not to be run again. */
  readonly poison: PoisonWatch;
  /** Time after which a request fails whose client sets no earlier deadline, in milliseconds; 0 = never. */
  readonly requestTimeoutMs: number;
  readonly partTimes: PartTimes;
}

/** Times that an answer in parts may take, in milliseconds; 0 = any. */
interface PartTimes {
  /** From the admission of a request until the first part. */
  readonly firstPartTimeoutMs: number;
  /** From the moment that a client could take another part until that comes. */
  readonly partTimeoutMs: number;
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

  infer(request: InferRequest): Promise<InferResponse> {
    const { parts, raw } = request;
    // Whether a function that gets bytes answers in parts shows with the first one.
    const mayBeInParts = parts !== undefined && (raw !== undefined || this.description.decoupled === true);
    return mayBeInParts ? this.#inferInParts(request, parts) : this.#infer(request);
  }

  #inferInParts(request: InferRequest, sink: PartSink): Promise<InferResponse> {
    const { call } = request;
    const requests = call.limits?.warmUp === undefined ? this.#servable.requests : undefined;
    const { record, signal, memory } = call;
    const { hooksShareTensors } = this.#servable;
    const { partTimes } = this.#limits;
    const watch = new PartWatch(sink, { requests, record, signal, memory, hooksShareTensors, ...partTimes });
    const own = watch.signal === call.signal ? call : { ...call, signal: watch.signal };
    return this.#infer({ ...request, call: own, parts: watch }, watch);
  }

  /**
   * One function on purpose: a further await would cost a small request as much as all its checks, and an answer in
   * parts half a kilobyte for as long as it takes.
   */
  async #infer(request: InferRequest, watch?: PartWatch): Promise<InferResponse> {
    const { admission, memory: budget, requestTimeoutMs, poison } = this.#limits;
    const { model, version, signatures } = this.#describedFor(request);
    const { signature, inputs, call: given } = request;
    const { record, memory = budget.open() } = given;
    const limited = requestTimeoutMs === 0 ? undefined : limitTime(given, requestTimeoutMs);
    const usesGiven = limited === undefined && memory === given.memory;
    const { limits, signal } = limited ?? given;
    const call = usesGiven ? given : { ...given, limits, signal, memory };
    const isFromModel = limits?.depth !== undefined && limits.depth > 0;
    // The request is another model's, which does not know that hooks of this thread may keep what they get or give.
    const isShared = isFromModel && this.#servable.hooksShareTensors;
    let admitted: Admitted | undefined;
    let sent: SentRequest | undefined;
    let [isSuccess, queuedBytes, started] = [false, -1, -1];
    record?.servedBy(model, version);
    record?.beginInference();
    try {
      const inputBytes = payloadBytes(inputs);
      memory.growTo(inputBytes + convertedBytes(inputs, signature.spec?.inputs));
      const { bytes, client } = memory;
      this.#places.enter(bytes, client);
      queuedBytes = bytes;
      // Another model's call was admitted with its request, so it must end even while no new request may begin.
      if (!isFromModel) admitted = admission.enter({ id: call.id, model }, { places: this.#places, client });
      started = performance.now();
      if (record !== undefined) record.isAdmitted = true;
      if (request.raw === undefined) watch?.begin();
      const names = requestNames(signature, signatures);
      const own = usesGiven && names === undefined && !isShared ? request : toOwn(request, call, { names, isShared });
      sent = { model, request: own, bytes: inputBytes, client };
      const answer = await (poison.isCalm ? this.#servable.run(own) : this.#runGuarded(sent));
      sent = undefined;
      memory.growTo(payloadBytes(answer.outputs));
      // A hook may answer by itself that it failed.
      isSuccess = (answer.status ?? 200) < 400;
      memory.isWireOnly = !this.#servable.hooksShareTensors;
      watch?.end();
      const isAsked = (names === undefined && !isShared) || answer.parts !== undefined;
      return isAsked ? answer : toAsked(answer, { names, isShared });
    } catch (reason) {
      if (sent !== undefined) poison.look(reason, sent);
      watch?.end(reason);
      throw reason;
    } finally {
      record?.endInference();
      limited?.clear();
      if (queuedBytes >= 0) this.#places.leave(queuedBytes);
      if (admitted !== undefined) admission.leave(admitted);
      if (started >= 0 && limits?.warmUp === undefined) this.#servable.requests.add(started, isSuccess);
      if (given.memory === undefined) memory.release();
    }
  }

  #describedFor({ targets }: InferRequest): ServableDescription {
    const { graphRefusal } = this.description;
    if (targets === undefined || graphRefusal === "") return this.description;
    throw new ServingError("unimplemented", `Its graph cannot be run: ${graphRefusal}.`);
  }

  #runGuarded(sent: SentRequest): Promise<InferResponse> {
    return this.#limits.poison.run(sent, () => this.#servable.run(sent.request));
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#servable.leases.release();
  }
}

/** Ends of answers in parts by the codes of their errors; all others are errors of the server or its models. */
const END_OF: Readonly<Partial<Record<ErrorCode, StreamEnd>>> = { cancelled: "client", deadline_exceeded: "deadline" };

/** The surroundings of an answer in parts. */
interface PartWatchOptions extends PartTimes {
  /** Undefined = it does not count. */
  readonly requests: Pick<RequestCounter, "parts"> | undefined;
  readonly record: RequestRecord | undefined;
  /** The request's own. */
  readonly signal: CancelSignal;
  readonly memory: Pick<MemoryShare, "isWireOnly" | "endHeldPlace"> | undefined;
  readonly hooksShareTensors: boolean;
}

/** Counts the parts of one answer on their way, and ends an answer that takes too long for one. */
class PartWatch implements PartSink {
  /** Aborts with the request's own, and when a part takes too long. */
  readonly signal: CancelSignal;
  readonly #sink: PartSink;
  readonly #options: PartWatchOptions;
  readonly #leave: () => void;
  readonly #expire: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** Number of parts that were sent. */
  #place = 0;
  #takenMs = 0;
  /** Time at which the last of them was, on the clock of performance.now(). */
  #since = performance.now();
  #state: "new" | "open" | "sending" | "over" = "new";

  constructor(sink: PartSink, options: PartWatchOptions) {
    const { signal, firstPartTimeoutMs, partTimeoutMs } = options;
    this.#sink = sink;
    this.#options = options;
    const isLimited = firstPartTimeoutMs > 0 || partTimeoutMs > 0;
    const { source, leave } = isLimited ? followSignal(signal) : { source: undefined, leave: () => {} };
    this.signal = source ?? signal;
    this.#leave = leave;
    this.#expire = () => {
      if (this.#state === "open") source?.abort(lateAfter(this.#place, options));
    };
  }

  /** To be called once the request has been admitted; one that is not does not count. Else it begins with a part. */
  begin(): void {
    const { requests, record, firstPartTimeoutMs } = this.#options;
    this.#state = "open";
    if (firstPartTimeoutMs > 0) this.#timer = setTimeout(this.#expire, firstPartTimeoutMs);
    requests?.parts.begin();
    record?.beginParts();
  }

  async write(part: InferResponse): Promise<void> {
    if (this.#state === "over") throw new ServingError("cancelled", "The answer is over; no part follows.");
    if (this.#state === "new") this.begin();
    const { requests, record, memory, hooksShareTensors } = this.#options;
    if (memory !== undefined) memory.isWireOnly = !hooksShareTensors;
    const came = performance.now();
    const waitMs = came - this.#since;
    this.#since = came;
    this.#state = "sending";
    requests?.parts.came(this.#place, waitMs);
    record?.gavePart(came);
    await this.#sink.write(part);
    if (this.#state !== "sending") return;
    this.#state = "open";
    this.#since = performance.now();
    requests?.parts.sent(this.#place, waitMs, this.#since - came);
    this.#takenMs += this.#since - came;
    this.#place++;
    this.#limitNext();
  }

  /** A part of another answer holds that one's place. */
  crowded(): void {
    const { memory } = this.#options;
    if (this.#sink.crowded !== undefined) this.#sink.crowded();
    else memory?.endHeldPlace();
  }

  /** To be called once no more parts come, with the error if there was one. */
  end(reason?: unknown): void {
    clearTimeout(this.#timer);
    this.#leave();
    const by = reason === undefined ? "server" : (END_OF[ServingError.from(reason).code] ?? "error");
    const [place, takenMs] = [this.#place, this.#takenMs];
    const waitMs = performance.now() - this.#since;
    if (this.#state !== "new") this.#options.requests?.parts.end({ place, takenMs }, by, waitMs);
    this.#state = "over";
  }

  /** One timer for all of an answer's parts but the first, which costs a part nearly nothing. */
  #limitNext(): void {
    const { partTimeoutMs } = this.#options;
    if (this.#place > 1) this.#timer?.refresh();
    else {
      clearTimeout(this.#timer);
      this.#timer = partTimeoutMs > 0 ? setTimeout(this.#expire, partTimeoutMs) : undefined;
    }
  }
}

function lateAfter(parts: number, { firstPartTimeoutMs, partTimeoutMs }: PartTimes): ServingError {
  const first = `The first part of the answer did not come within ${firstPartTimeoutMs} ms (--first-part-timeout).`;
  const next = `Part ${parts + 1} of the answer did not come within ${partTimeoutMs} ms (--part-timeout).`;
  return new ServingError("deadline_exceeded", parts === 0 ? first : next);
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
  return { write: (part) => parts.write(toAsked(part, difference)), crowded: () => parts.crowded?.() };
}

function toAsked(answer: InferResponse, { names, isShared }: Difference): InferResponse {
  const outputs = names?.toAsked(answer.outputs) ?? answer.outputs;
  return { ...answer, outputs: isShared ? copyPayload(outputs) : outputs };
}
