import { failedPrecondition } from "../../../errors.ts";
import type { Signature, TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors, toBytes, viewBytes } from "../../../tensor/tensor.ts";
import type {
  CompiledModel,
  Freeable,
  LoadedModel,
  NativeList,
  StartedLiteRt,
  TensorBuffer,
  TensorType,
} from "./litert.ts";
import { dtypeOfElementType, nameOfElementType } from "./litert.ts";
import { failing } from "./litert-error.ts";

/** Inputs and outputs of one signature, in LiteRT's order. */
export type FullSignature = Required<Pick<Signature, "inputs" | "outputs">>;

/** A model that LiteRT has compiled; all its sizes are known. */
export class LiteRtModel {
  /** In the order of the file. */
  readonly signatures: ReadonlyMap<string, FullSignature>;
  readonly #runtime: StartedLiteRt;
  readonly #model: LoadedModel;
  readonly #compiled: CompiledModel;
  readonly #address: number;
  /** The signatures whose outputs LiteRT is known to write. */
  readonly #proven = new Set<string>();

  /** Takes over the model at an address of LiteRT's memory. */
  constructor(runtime: StartedLiteRt, parts: { model: LoadedModel; compiled: CompiledModel; address: number }) {
    this.#runtime = runtime;
    this.#model = parts.model;
    this.#compiled = parts.compiled;
    this.#address = parts.address;
    this.signatures = readSignatures(parts.model);
  }

  /**
   * Runs a signature on its inputs and gives all its outputs; blocks the thread. Throws {@link LiteRtFailure}.
   * The first run is made twice: LiteRT does not write an output whose memory it has
   * moved, and says so only when that output is used again.
   */
  async run(key: string, inputs: Tensors): Promise<Tensors> {
    if (!this.#proven.has(key)) await this.#run(key, inputs);
    const outputs = await this.#run(key, inputs);
    this.#proven.add(key);
    return outputs;
  }

  /**
   * The numbers of bytes that a signature's outputs have after a run on those inputs, as LiteRT then says: of a
   * model compiled for larger outputs than it computes, those that it computes. Runs as {@link run} does.
   */
  async measure(key: string, inputs: Tensors): Promise<number[]> {
    const sizesOf = (results: readonly TensorBuffer[]) => results.map((buffer) => buffer.packedSize());
    await this.#use(key, inputs, sizesOf);
    return this.#use(key, inputs, sizesOf);
  }

  /** True once {@link run} makes one run of the signature. */
  isProven(key: string): boolean {
    return this.#proven.has(key);
  }

  /** Takes over the facts about another copy of the model: its runs are made once from the first on. */
  trust(key: string): void {
    this.#proven.add(key);
  }

  #run(key: string, inputs: Tensors): Promise<Tensors> {
    const { outputs } = this.signatures.get(key)!;
    const read = (results: readonly TensorBuffer[]) =>
      createTensors(outputs.map((spec, place) => [spec.name, this.#fromBuffer(spec, results[place]!)]));
    return this.#use(key, inputs, read);
  }

  async #use<T>(key: string, inputs: Tensors, read: (results: readonly TensorBuffer[]) => T): Promise<T> {
    const signature = this.signatures.get(key)!;
    const index = [...this.signatures.keys()].indexOf(key);
    const buffers: TensorBuffer[] = [];
    try {
      for (const [place, { name }] of signature.inputs.entries()) {
        buffers.push(this.#toBuffer(this.#model.getInputTensorType(index, place), inputs[name]!));
      }
      const results = await failing(this.#runtime, () => this.#compiled.run(index, buffers));
      buffers.push(...results);
      return read(results);
    } finally {
      for (const buffer of buffers) this.#free(buffer);
    }
  }

  /** Frees the model. */
  close(): void {
    this.#compiled.delete();
    this.#model.delete();
    this.#runtime.module._free(this.#address);
  }

  #toBuffer(type: TensorType, tensor: Tensor): TensorBuffer {
    const { module, environment } = this.#runtime;
    const bytes = toBytes(tensor.data as Uint8Array);
    const { HOST_MEMORY } = module.LiteRtTensorBufferType;
    return freeing(type, () => {
      const buffer = module.LiteRtTensorBuffer.createManaged(environment, HOST_MEMORY, type, bytes.byteLength);
      const address = buffer.lock(module.LiteRtTensorBufferLockMode.WRITE);
      module.HEAPU8.set(bytes, address);
      buffer.unlock();
      return buffer;
    });
  }

  /** Cleared, so that bytes that are never written show nothing of another request. */
  #free(buffer: TensorBuffer): void {
    const { module } = this.#runtime;
    const address = buffer.lock(module.LiteRtTensorBufferLockMode.WRITE);
    module.HEAPU8.fill(0, address, address + buffer.packedSize());
    buffer.unlock();
    buffer.delete();
  }

  #fromBuffer({ dtype, shape }: TensorSpec, buffer: TensorBuffer): Tensor {
    const { module } = this.#runtime;
    const address = buffer.lock(module.LiteRtTensorBufferLockMode.READ);
    const bytes = module.HEAPU8.slice(address, address + buffer.packedSize());
    buffer.unlock();
    return createTensor(dtype, shape as number[], viewBytes(dtype as "uint8", bytes) as never);
  }
}

/** The signatures of a model that is not compiled: -1 if a size is open. Throws as {@link compileModel} does. */
export async function readModelSignatures(
  runtime: StartedLiteRt,
  bytes: Uint8Array,
): Promise<ReadonlyMap<string, FullSignature>> {
  const { module, environment } = runtime;
  const address = module._malloc(bytes.byteLength);
  try {
    module.HEAPU8.set(bytes, address);
    const model = await failing(runtime, () => module.loadModel(environment, address, bytes.byteLength));
    return freeing(model, () => readSignatures(model));
  } finally {
    module._free(address);
  }
}

/** Compiles a model. Throws {@link LiteRtFailure}, and `failed_precondition` for a tensor that cannot be carried. */
export async function compileModel(runtime: StartedLiteRt, bytes: Uint8Array): Promise<LiteRtModel> {
  const { module, environment } = runtime;
  const address = module._malloc(bytes.byteLength);
  const freed: Freeable[] = [{ delete: () => module._free(address) }];
  try {
    module.HEAPU8.set(bytes, address);
    const model = await failing(runtime, () => module.loadModel(environment, address, bytes.byteLength));
    freed.unshift(model);
    const compiled = await failing(runtime, () => module.compileModel(environment, model, { accelerator: "wasm" }));
    freed.unshift(compiled);
    return new LiteRtModel(runtime, { model, compiled, address });
  } catch (reason) {
    for (const one of freed) one.delete();
    throw reason;
  }
}

function readSignatures(model: LoadedModel): ReadonlyMap<string, FullSignature> {
  const signatures = Array.from({ length: model.getNumSignatures() }, (_, index) => {
    const signature = model.getSignature(index);
    return freeing(signature, (): [string, FullSignature] => {
      const inputs = toArray(signature.inputNames()).map((name, place) =>
        toSpec("Input", name, model.getInputTensorType(index, place)),
      );
      const outputs = toArray(signature.outputNames()).map((name, place) =>
        toSpec("Output", name, model.getOutputTensorType(index, place)),
      );
      return [signature.key(), { inputs, outputs }];
    });
  });
  return new Map(signatures);
}

function toSpec(role: "Input" | "Output", name: string, type: TensorType): TensorSpec {
  return freeing(type, () => {
    const elementType = type.elementType().value;
    const dtype = dtypeOfElementType(elementType);
    if (dtype === undefined) {
      const message = `${role} "${name}" of the .tflite model is ${nameOfElementType(elementType)}, which LiteRT's JavaScript API does not carry.`;
      throw failedPrecondition(message);
    }
    const layout = type.layout();
    return { name, dtype, shape: freeing(layout, () => toArray(layout.dimensions())) };
  });
}

function toArray<T>(list: NativeList<T>): T[] {
  return freeing(list, () => Array.from({ length: list.size() }, (_, index) => list.get(index)));
}

function freeing<T>(native: Freeable, use: () => T): T {
  try {
    return use();
  } finally {
    native.delete();
  }
}
