import { ServingError } from "../errors.ts";
import { payloadBytes } from "../pipeline/payload.ts";
import { Admission, type AdmissionLimits } from "./admission.ts";
import type { Catalog } from "./catalog.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  ModelRef,
  ServableDescription,
} from "./inference-service.ts";
import { Readiness } from "./readiness.ts";
import { limitTime } from "./time-limit.ts";

/** What requests are held to. */
export interface LocalServiceOptions extends AdmissionLimits {
  /** After which a request fails, in milliseconds, where its client sets no earlier deadline; 0 = never. */
  readonly requestTimeoutMs: number;
}

/** The service over this process's own servables. */
export class LocalService implements InferenceService {
  /** Who is in, and whether anyone may still come. */
  readonly admission: Admission;
  readonly #catalog: Catalog;
  readonly #requestTimeoutMs: number;
  readonly #readiness: Readiness;

  constructor(catalog: Catalog, { requestTimeoutMs, ...limits }: LocalServiceOptions) {
    this.#catalog = catalog;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.admission = new Admission(limits);
    this.#readiness = new Readiness(() => this.isReady());
    this.admission.onClose(() => this.#readiness.look());
  }

  async describe(ref: ModelRef): Promise<ServableDescription> {
    const { name, version, signatures } = this.#catalog.resolve(ref);
    return { model: name, version, signatures };
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const { name, version, signatures, run } = this.#catalog.resolve(request);
    const signature = resolveSignature(request.signature, signatures);
    const info = { id: request.id, model: name, version, signature };
    const { inputs, outputs, metadata } = request;
    const { clear, signal, deadline } = limitTime(request, this.#requestTimeoutMs);
    const { priority = 0, queueTimeoutMs = 0 } = request;
    const limits = { signal, priority, queueTimeoutMs, ...(deadline !== undefined && { deadline }) };
    try {
      const task = () => run({ info, inputs, metadata, ...limits, ...(outputs && { outputs }) });
      const result = await this.admission.admit(info, payloadBytes(inputs), task);
      return { model: name, version, signature, ...result };
    } finally {
      clear();
    }
  }

  isReady(): boolean {
    const servables = this.#catalog.list();
    return this.admission.isOpen && servables.length > 0 && servables.every((servable) => servable.isReady());
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    return this.#readiness.listen(listener);
  }
}

/** The default signature goes by its own name, so that an answer can say which one ran. */
function resolveSignature(name: string, signatures: ServableDescription["signatures"]): string {
  if (name !== "" && Object.hasOwn(signatures, name)) return name;
  const known = Object.keys(signatures);
  if (name === "") return known.includes("serving_default") ? "serving_default" : (known[0] ?? "serving_default");
  throw new ServingError(
    "failed_precondition",
    `Serving signature key "${name}" not found. There is ${known.join(", ")}.`,
  );
}
