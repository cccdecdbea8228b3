import {
  defineStruct,
  type NativeFunctions,
  type Pointer,
  type SignatureTable,
} from "../../../platform/native/bind-functions.ts";
import { copyFromNative } from "../../../platform/native/memory.ts";

/** One output of an operation; C functions that take one take it by value. */
const TF_OUTPUT = defineStruct<{ oper: bigint; index: number }>({ oper: "void *", index: "int" });

/**
 * The functions of TensorFlow's C API that we call: https://github.com/tensorflow/tensorflow/tree/master/tensorflow/c.
 * Every pointer belongs to the caller, but for names and texts.
 */
export const C_API = {
  TF_Version: ["str"],

  TF_NewStatus: ["void *"],
  TF_DeleteStatus: ["void", "void *"],
  TF_GetCode: ["int", "void *"],
  TF_Message: ["str", "void *"],

  TF_NewBuffer: ["void *"],
  TF_NewBufferFromString: ["void *", "void *", "size_t"],
  TF_DeleteBuffer: ["void", "void *"],

  TF_AllocateTensor: ["void *", "int", "void *", "int", "size_t"],
  TF_DeleteTensor: ["void", "void *"],
  TF_TensorType: ["int", "void *"],
  TF_NumDims: ["int", "void *"],
  TF_Dim: ["int64_t", "void *", "int"],
  TF_TensorData: ["void *", "void *"],
  TF_TensorFromProto: ["void", "void *", "void *", "void *"],
  TF_StringGetDataPointer: ["void *", "void *"],
  TF_StringGetSize: ["size_t", "void *"],

  TF_NewSessionOptions: ["void *"],
  TF_DeleteSessionOptions: ["void", "void *"],
  TF_SetConfig: ["void", "void *", "void *", "size_t", "void *"],

  TF_NewGraph: ["void *"],
  TF_DeleteGraph: ["void", "void *"],
  TF_NewImportGraphDefOptions: ["void *"],
  TF_DeleteImportGraphDefOptions: ["void", "void *"],
  TF_GraphImportGraphDef: ["void", "void *", "void *", "void *", "void *"],
  TF_GraphOperationByName: ["void *", "void *", "str"],
  TF_GraphNextOperation: ["void *", "void *", "void *"],
  TF_OperationName: ["str", "void *"],
  TF_OperationOpType: ["str", "void *"],
  TF_OperationNumOutputs: ["int", "void *"],
  TF_OperationNumInputs: ["int", "void *"],
  TF_OperationAllInputs: ["void", "void *", "void *", "int"],
  TF_OperationNumControlInputs: ["int", "void *"],
  TF_OperationGetControlInputs: ["int", "void *", "void *", "int"],
  TF_OperationOutputType: ["int", TF_OUTPUT],
  TF_OperationOutputNumConsumers: ["int", TF_OUTPUT],
  TF_GraphGetTensorNumDims: ["int", "void *", TF_OUTPUT, "void *"],
  TF_GraphGetTensorShape: ["void", "void *", TF_OUTPUT, "void *", "int", "void *"],

  TF_LoadSessionFromSavedModel: [
    "void *",
    "void *",
    "void *",
    "str",
    "const char **",
    "int",
    "void *",
    "void *",
    "void *",
  ],
  TF_NewSession: ["void *", "void *", "void *", "void *"],
  TF_CloseSession: ["void", "void *", "void *"],
  TF_DeleteSession: ["void", "void *", "void *"],
  TF_SessionRun: [
    "void",
    "void *",
    "void *",
    "void *",
    "void *",
    "int",
    "void *",
    "void *",
    "int",
    "void *",
    "int",
    "void *",
    "void *",
  ],

  TF_LoadLibrary: ["void *", "str", "void *"],
} as const satisfies SignatureTable;

/** libtensorflow, opened. */
export type TensorflowApi = NativeFunctions<typeof C_API>;

/** Error of a call of TensorFlow that failed. */
export class TensorflowFailure extends Error {
  override readonly name = "TensorflowFailure";
  /** gRPC's number. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Makes a call with a status; throws {@link TensorflowFailure} for an error in it. */
export function withStatus<Returned>(api: TensorflowApi, call: (status: Pointer) => Returned): Returned {
  const status = api.TF_NewStatus() as Pointer;
  try {
    const returned = call(status);
    throwIfFailed(api, status);
    return returned;
  } finally {
    api.TF_DeleteStatus(status);
  }
}

/** The same for a call in another thread. */
export async function withStatusAsync<Returned>(
  api: TensorflowApi,
  call: (status: Pointer) => Promise<Returned>,
): Promise<Returned> {
  const status = api.TF_NewStatus() as Pointer;
  try {
    const returned = await call(status);
    throwIfFailed(api, status);
    return returned;
  } finally {
    api.TF_DeleteStatus(status);
  }
}

function throwIfFailed(api: TensorflowApi, status: Pointer): void {
  const code = api.TF_GetCode(status);
  if (code !== 0) throw new TensorflowFailure(code, api.TF_Message(status) ?? "");
}

/** Calls with a TF_Buffer that holds a copy of the bytes. */
export function withBuffer<Returned>(
  api: TensorflowApi,
  bytes: Uint8Array,
  call: (buffer: Pointer) => Returned,
): Returned {
  const buffer = api.TF_NewBufferFromString(bytes, bytes.byteLength) as Pointer;
  try {
    return call(buffer);
  } finally {
    api.TF_DeleteBuffer(buffer);
  }
}

/** The bytes of a TF_Buffer, which begins with their address and their number. */
export function readBuffer(buffer: Pointer): Uint8Array {
  const [data, length] = copyFromNative(new BigUint64Array(2), buffer) as unknown as [bigint, bigint];
  return copyFromNative(new Uint8Array(Number(length)), data);
}
