import type { Pointer } from "../../../native/bind-functions.ts";
import type { TensorflowApi } from "./c-api.ts";

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
