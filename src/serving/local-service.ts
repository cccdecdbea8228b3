import { ServingError } from "../errors.ts";
import { MemoryBudget } from "../limits/memory-budget.ts";
import { limitTime } from "../limits/time-limit.ts";
import type { Logger } from "../observability/logger.ts";
import { convertedBytes, payloadBytes } from "../pipeline/payload.ts";
import { defaultSignatureName } from "../signature/signature.ts";
import { Admission } from "./admission.ts";
import type { Catalog } from "./catalog.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  ModelRef,
  NamedStatistics,
  ServableDescription,
  ServableState,
} from "./inference-service.ts";
import { Readiness } from "./readiness.ts";
import type { ServableSlot } from "./servable-slot.ts";
import { servedNames } from "./served-names.ts";

/** What requests are held to. */
export interface LocalServiceOptions {
  /** Requests under way at most, waiting or running. */
  readonly maxCount: number;
  /** Bytes that they hold together at most. */
  readonly maxBytes: number;
  /** After which a request fails, in milliseconds, where its client sets no earlier deadline; 0 = never. */
  readonly requestTimeoutMs: number;
  readonly log: Logger;
}

/** The service over this process's own servables. */
export class LocalService implements InferenceService {
  /** Who is in, and whether anyone may still come. */
  readonly admission: Admission;
  /** What the requests hold, on whatever wire they come. */
  readonly memory: MemoryBudget;
  readonly #catalog: Catalog;
  readonly #requestTimeoutMs: number;
  readonly #log: Logger;
  readonly #readiness: Readiness;

  constructor(catalog: Catalog, { requestTimeoutMs, maxCount, maxBytes, log }: LocalServiceOptions) {
    this.#log = log;
    this.#catalog = catalog;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.admission = new Admission(maxCount);
    this.memory = new MemoryBudget(maxBytes);
    this.#readiness = new Readiness(() => this.isReady());
    this.admission.onClose(() => this.#readiness.look());
  }

  async describe(ref: ModelRef): Promise<ServableDescription> {
    const { name, version, drivers, signatures, maxBatchSize } = this.#catalog.resolve(ref);
    return { model: name, version, drivers, signatures, maxBatchSize };
  }

  index(): readonly ServableState[] {
    return this.#catalog.slots().map(({ name, version, unavailableReason }) => {
      return { model: name, version, isReady: unavailableReason === "", unavailableReason };
    });
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    const named = this.#catalog.slots().flatMap(({ name, version, servable }) => {
      if (servable === undefined) return [];
      return [servable.statistics().then((statistics) => ({ model: name, version, ...statistics }))];
    });
    return Promise.all(named);
  }

  async load(model: string): Promise<void> {
    await Promise.all(this.#slotsOf(model).map((slot) => slot.load()));
    this.#log.info("a client loaded the model", { model });
    this.#readiness.look();
  }

  async unload(model: string): Promise<void> {
    await Promise.all(this.#slotsOf(model).map((slot) => slot.unload()));
    this.#log.info("a client unloaded the model", { model });
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const { name, version, signatures, hooksShareTensors, run } = this.#catalog.resolve(request);
    const { record } = request;
    record?.beginInference(name, version);
    const signature = resolveSignature(request.signature, signatures);
    const info = { id: request.id, model: name, version, signature };
    const { inputs, outputs, metadata, priority, queueTimeoutMs } = request;
    const { clear, signal, deadline } = limitTime(request, this.#requestTimeoutMs);
    const memory = request.memory ?? this.memory.open();
    try {
      memory.growTo(payloadBytes(inputs) + convertedBytes(inputs, signatures[signature]?.inputs));
      const task = () => run({ info, inputs, outputs, metadata, memory, signal, deadline, priority, queueTimeoutMs });
      const result = await this.admission.admit(info, task);
      memory.growTo(payloadBytes(result.outputs));
      memory.isWireOnly = !hooksShareTensors;
      return { model: name, version, signature, ...result };
    } finally {
      record?.endInference();
      clear();
      if (request.memory === undefined) memory.release();
    }
  }

  isReady(): boolean {
    const slots = this.#catalog.slots();
    return this.admission.isOpen && slots.every(({ servable }) => servable === undefined || servable.isReady());
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    return this.#readiness.listen(listener);
  }

  #slotsOf(model: string): readonly ServableSlot[] {
    const slots = this.#catalog.slots().filter(({ name }) => name === model);
    if (slots.length > 0) return slots;
    const names = this.#catalog.slots().map(({ name }) => name);
    throw new ServingError("not_found", `There is no model "${model}".${servedNames(model, names)}`);
  }
}

/** The default signature goes by its own name, so that an answer can say which one ran. */
function resolveSignature(name: string, signatures: ServableDescription["signatures"]): string {
  if (name !== "" && Object.hasOwn(signatures, name)) return name;
  if (name === "") return defaultSignatureName(signatures);
  throw new ServingError(
    "failed_precondition",
    `Serving signature key "${name}" not found. There is ${Object.keys(signatures).join(", ")}.`,
  );
}
