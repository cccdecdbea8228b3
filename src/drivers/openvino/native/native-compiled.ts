import { NativeObject, type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { QuickRuns } from "../../../platform/native/pool-calls.ts";
import { byteSize, type Tensor } from "../../../tensor/tensor.ts";
import type { CompiledNetwork, InferRequest, Port } from "../engine.ts";
import { check, type NativeContext, takePointer, takeText } from "./c-api.ts";
import { fromNativeTensor, toNativeTensor } from "./ports.ts";

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
   * The CPU plugin drops the exception of a synchronous run if it has a single thread: the run seems to succeed, and
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

/** Traits that all requests of a compiled network share. */
interface RequestTraits {
  readonly outputs: readonly Port[];
  readonly quickRuns: QuickRuns | undefined;
  /** False if a synchronous run that fails returns as if it had succeeded. */
  readonly reportsFailures: boolean;
}

/** ov_infer_request_t. */
class NativeRequest implements InferRequest {
  readonly #context: NativeContext;
  readonly #request: NativeObject;
  readonly #outputs: readonly Port[];
  readonly #quickRuns: QuickRuns | undefined;
  readonly #reportsFailures: boolean;

  /** Takes over the request. */
  constructor(context: NativeContext, request: Pointer, { outputs, quickRuns, reportsFailures }: RequestTraits) {
    this.#reportsFailures = reportsFailures;
    this.#context = context;
    this.#request = new NativeObject(request, context.api.ov_infer_request_free);
    this.#outputs = outputs;
    this.#quickRuns = quickRuns;
  }

  async infer(inputs: readonly Tensor[], outputs: readonly number[]): Promise<Tensor[]> {
    for (const [index, tensor] of inputs.entries()) this.#setInput(index, tensor);
    await this.#run(inputs.reduce((sum, tensor) => sum + byteSize(tensor), 0));
    return outputs.map((index) => this.#takeOutput(index));
  }

  cancel(): void {
    // It refuses when nothing runs, which is as well.
    this.#context.api.ov_infer_request_cancel(this.#request.pointer);
  }

  release(): void {
    this.#request.release();
  }

  /** The tensor refers to the caller's memory until the next run sets another. */
  #setInput(index: number, tensor: Tensor): void {
    const { api } = this.#context;
    const pointer = toNativeTensor(this.#context, tensor);
    try {
      const status = api.ov_infer_request_set_input_tensor_by_index(this.#request.pointer, index, pointer);
      check(api, status, "refused");
    } finally {
      api.ov_tensor_free(pointer);
    }
  }

  async #run(bytes: number): Promise<void> {
    const started = performance.now();
    const status = this.#quickRuns?.isQuick(bytes) ? this.#runHere() : await this.#runElsewhere();
    this.#quickRuns?.note(bytes, performance.now() - started);
    check(this.#context.api, status);
  }

  #runHere(): number {
    const { api } = this.#context;
    if (this.#reportsFailures) return api.ov_infer_request_infer(this.#request.pointer);
    check(api, api.ov_infer_request_start_async(this.#request.pointer));
    return api.ov_infer_request_wait(this.#request.pointer);
  }

  /** In the runtime's own threads: what runs there can be cancelled, which `infer` in a thread of the pool cannot. */
  #runElsewhere(): Promise<number> {
    const { api } = this.#context;
    check(api, api.ov_infer_request_start_async(this.#request.pointer));
    return runAsync(api.ov_infer_request_wait, this.#request.pointer);
  }

  #takeOutput(index: number): Tensor {
    const { api } = this.#context;
    const pointer = takePointer(api, (at) =>
      api.ov_infer_request_get_output_tensor_by_index(this.#request.pointer, index, at),
    );
    try {
      return fromNativeTensor(this.#context, pointer, this.#outputs[index]!);
    } finally {
      api.ov_tensor_free(pointer);
    }
  }
}
