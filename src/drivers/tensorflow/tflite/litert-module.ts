/** LiteRT's WebAssembly module, as far as it is used; everything that it hands out is freed by `delete`. */
export interface LiteRtModule {
  readonly HEAPU8: Uint8Array;
  readonly LiteRtEnvironment: { create(gpu: null): Freeable };
  readonly LiteRtTensorBuffer: {
    createManaged(environment: Freeable, kind: EnumValue, type: TensorType, bytes: number): TensorBuffer;
  };
  readonly LiteRtTensorBufferType: { readonly HOST_MEMORY: EnumValue };
  readonly LiteRtTensorBufferLockMode: { readonly READ: EnumValue; readonly WRITE: EnumValue };
  _malloc(bytes: number): number;
  _free(address: number): void;
  loadModel(environment: Freeable, address: number, bytes: number): LoadedModel;
  compileModel(
    environment: Freeable,
    model: LoadedModel,
    options: { accelerator: "wasm" },
  ): CompiledModel | Promise<CompiledModel>;
}

/** An object that must be freed by hand. */
export interface Freeable {
  delete(): void;
}

interface EnumValue {
  readonly value: number;
}

/** A list in LiteRT's memory. */
export interface NativeList<T> extends Freeable {
  size(): number;
  get(index: number): T;
}

/** Element type and dimensions. */
export interface TensorType extends Freeable {
  elementType(): EnumValue;
  layout(): Freeable & { dimensions(): NativeList<number> };
}

/** A tensor's memory; `lock` gives its address. */
export interface TensorBuffer extends Freeable {
  lock(mode: EnumValue): number;
  unlock(): void;
  packedSize(): number;
}

/** A model whose signatures can be asked for. */
export interface LoadedModel extends Freeable {
  getNumSignatures(): number;
  getSignature(index: number): Freeable & {
    key(): string;
    inputNames(): NativeList<string>;
    outputNames(): NativeList<string>;
  };
  getInputTensorType(signature: number, index: number): TensorType;
  getOutputTensorType(signature: number, index: number): TensorType;
}

/** A model that can run. */
export interface CompiledModel extends Freeable {
  run(signature: number, inputs: readonly TensorBuffer[]): TensorBuffer[] | Promise<TensorBuffer[]>;
}
