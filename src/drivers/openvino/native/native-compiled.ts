import type { Pointer } from "../../../native/bind-functions.ts";
import { NativeObject } from "../../../native/native-object.ts";
import { QuickRuns } from "../../../native/quick-runs.ts";
import type { CompiledNetwork, InferRequest, Port } from "../engine.ts";
import type { NativeContext } from "./native-context.ts";
import { NativeRequest } from "./native-request.ts";
import { takePointer, takeText } from "./status.ts";

/** Duration of a run that may block the model thread: to wait for the runtime's threads takes about 25 µs itself. */
const QUICK_MS = 0.3;

/** ov_compiled_model_t. */
export class NativeCompiled implements CompiledNetwork {
  readonly #context: NativeContext;
  readonly #compiled: NativeObject;
  readonly #outputs: readonly Port[];
  readonly #quickRuns: QuickRuns | undefined;
  readonly #reportsFailures: boolean;

  /** Takes ownership of the compiled model, whose outputs are those of its network. */
  constructor(
    context: NativeContext,
    compiled: Pointer,
    { outputs, hasBoundedRuns }: { readonly outputs: readonly Port[]; readonly hasBoundedRuns: boolean },
  ) {
    this.#quickRuns = hasBoundedRuns ? new QuickRuns(QUICK_MS) : undefined;
    this.#context = context;
    this.#compiled = new NativeObject(compiled, context.api.ov_compiled_model_free);
    this.#outputs = outputs;
    this.#reportsFailures = this.#hasThreads();
  }

  property(key: string): string {
    const { api } = this.#context;
    return takeText(api, (at) => api.ov_compiled_model_get_property(this.#compiled.pointer, key, at));
  }

  createRequest(): InferRequest {
    const { api } = this.#context;
    const request = takePointer(api, (at) => api.ov_compiled_model_create_infer_request(this.#compiled.pointer, at));
    const [outputs, quickRuns, reportsFailures] = [this.#outputs, this.#quickRuns, this.#reportsFailures];
    return new NativeRequest(this.#context, request, { outputs, quickRuns, reportsFailures });
  }

  /**
   * The CPU plugin drops the exception of a synchronous run where it has a single thread: the run seems to succeed, and
   * its outputs are an earlier run's.
   */
  #hasThreads(): boolean {
    try {
      return Number(this.property("INFERENCE_NUM_THREADS")) > 1;
    } catch {
      return false;
    }
  }

  release(): void {
    this.#compiled.release();
  }
}
