import { failedPrecondition, ServingError } from "../../errors.ts";
import { datatypeNamed } from "../../protocols/kserve/datatype.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { openGrpcCaller } from "./grpc-caller.ts";
import { openHttpCaller } from "./http-caller.ts";
import type { DescribedTensor } from "./kserve-caller.ts";
import type { ModelAddress } from "./model-address.ts";

/** A client of one model of another server, this one, Triton or any other that answers KServe V2. */
export interface KserveClient {
  readonly inputs: readonly TensorSpec[];
  /** Runs the model; rejects with the server's error. */
  predict(inputs: Tensors): Promise<Tensors>;
  close(): void;
}

/** Connects to a model, with an `Authorization` where its server asks for one; throws `failed_precondition` where it is not there. */
export async function openKserveClient(address: ModelAddress, authorization?: string): Promise<KserveClient> {
  const open = address.protocol === "grpc" ? openGrpcCaller : openHttpCaller;
  const caller = open(address, authorization);
  try {
    const inputs = (await caller.inputs()).map(toSpec);
    return { inputs, predict: (values) => caller.predict(values), close: () => caller.close() };
  } catch (reason) {
    caller.close();
    const { code, message } = ServingError.from(reason);
    throw code === "failed_precondition" ? reason : failedPrecondition(`${address.text}: ${message}`, reason);
  }
}

function toSpec({ name, datatype, shape }: DescribedTensor): TensorSpec {
  const dtype = datatypeNamed(datatype)?.dtype;
  if (dtype === undefined) throw failedPrecondition(`The input "${name}" is ${datatype}, which is not known.`);
  return { name, dtype, shape: shape.map(Number) };
}
