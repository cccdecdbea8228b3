import { ServingError } from "../errors.ts";
import { Admission } from "./admission.ts";
import type { Catalog } from "./catalog.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  ModelRef,
  ServableDescription,
} from "./inference-service.ts";

/** The service over this process's own servables. */
export class LocalService implements InferenceService {
  /** Who is in, and whether anyone may still come. */
  readonly admission = new Admission();
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  async describe(ref: ModelRef): Promise<ServableDescription> {
    const { name, version, signatures } = this.#catalog.resolve(ref);
    return { model: name, version, signatures };
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const { name, version, signatures, run } = this.#catalog.resolve(request);
    const signature = resolveSignature(request.signature, signatures);
    const info = { id: request.id, model: name, version, signature };
    const { inputs, outputs, metadata, signal, deadline } = request;
    const result = await this.admission.admit(info, () =>
      run({ info, inputs, metadata, signal, ...(outputs && { outputs }), ...(deadline !== undefined && { deadline }) }),
    );
    return { model: name, version, signature, ...result };
  }

  isReady(): boolean {
    return this.admission.isOpen && this.#catalog.list().length > 0;
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    listener(this.isReady());
    return this.admission.onClose(() => listener(false));
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
