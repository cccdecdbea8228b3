import { encodeInferRequest, methodPath } from "../client/grpc/infer-message.ts";
import { inferBody, modelPath } from "../client/http/infer-body.ts";
import type { ModelAddress } from "../client/model-address.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { LoadTarget } from "./load/load-job.ts";

/** Form of a load's requests. */
export interface RequestForm {
  /** Form of the values over HTTP. */
  readonly encoding: "binary" | "json";
  readonly connections: number;
  /** `Authorization` header, where the server asks for one. */
  readonly authorization?: string | undefined;
}

/** The request that a load sends to a model. */
export function toLoadTarget(address: ModelAddress, inputs: Tensors, form: RequestForm): LoadTarget {
  const { encoding, connections, authorization } = form;
  const own = authorization === undefined ? {} : { authorization };
  if (address.protocol === "grpc") {
    const origin = address.server.replace(/^grpc/, "http");
    const body = encodeInferRequest({ ...address, inputs });
    return { protocol: "grpc", origin, path: methodPath("ModelInfer"), headers: own, body, connections };
  }
  const url = new URL(`${address.server}/${modelPath(address)}/infer`);
  const { headers, body } = inferBody({ inputs }, encoding === "binary");
  return {
    protocol: "http",
    ...{
      origin: url.origin,
      path: url.pathname,
      headers: { ...headers, ...own },
      body: Buffer.from(body.buffer),
      connections,
    },
  };
}
