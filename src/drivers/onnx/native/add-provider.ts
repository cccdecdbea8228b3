import type { Pointer } from "../../../native/bind-functions.ts";
import { toCTexts } from "../../../native/c-texts.ts";
import type { OnnxApi } from "./c-api.ts";
import type { NativeContext } from "./open-onnx.ts";
import type { WantedProvider } from "./providers-wanted.ts";
import { check, takePointer } from "./status.ts";

/** The functions for a provider's options. */
interface ProviderFunctions {
  create(at: BigUint64Array): Pointer | null;
  update(options: Pointer, keys: BigUint64Array, values: BigUint64Array, count: number): Pointer | null;
  append(settings: Pointer, options: Pointer): Pointer | null;
  release(options: Pointer): void;
}

/** Gives a session's options an execution provider, whose library ONNX Runtime loads for it. */
export function addProvider({ api }: NativeContext, settings: Pointer, { name, options }: WantedProvider): void {
  const functions = functionsOf(api, name);
  const texts = (list: readonly string[]) => toCTexts(list.map((text) => Buffer.from(text)));
  const chosen = takePointer(api, functions.create);
  try {
    const [keys, values] = [texts(Object.keys(options)), texts(Object.values(options))];
    check(api, functions.update(chosen, keys, values, keys.length));
    check(api, functions.append(settings, chosen));
  } finally {
    functions.release(chosen);
  }
}

function functionsOf(api: OnnxApi, name: WantedProvider["name"]): ProviderFunctions {
  if (name === "cuda") {
    return {
      create: api.CreateCUDAProviderOptions,
      update: api.UpdateCUDAProviderOptions,
      append: api.SessionOptionsAppendExecutionProvider_CUDA_V2,
      release: api.ReleaseCUDAProviderOptions,
    };
  }
  return {
    create: api.CreateTensorRTProviderOptions,
    update: api.UpdateTensorRTProviderOptions,
    append: api.SessionOptionsAppendExecutionProvider_TensorRT_V2,
    release: api.ReleaseTensorRTProviderOptions,
  };
}
