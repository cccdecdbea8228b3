import type { MessagePort } from "node:worker_threads";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { Responder } from "../../platform/threads/responder.ts";
import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { decodeImageInputs, type ImageCall } from "./image-input.ts";
import type { ImageChoices } from "./image-options.ts";

/** Asks for images to be preprocessed; they are the record's tensors, and the answer's are what became of them. */
export const PREPROCESS = FIRST_REQUEST;

/** The meta of {@link PREPROCESS}. */
export interface PreprocessMeta {
  readonly specs: readonly TensorSpec[];
  readonly choices: ImageChoices;
  readonly limits: ImageCall["limits"];
}

/** Data that a preprocessing thread is started with. */
export interface ImageThreadData {
  /** Port for requests; once that is closed, the thread ends. */
  readonly port: MessagePort;
}

/** Preprocesses images on request, until the port is closed. */
export function runImageThread({ port }: ImageThreadData): void {
  new Responder(toHostPort(port), {
    transfer: true,
    answer: async ({ meta, tensors = {} }, signal) => {
      const { specs, choices, limits } = meta as PreprocessMeta;
      return { meta: undefined, tensors: await decodeImageInputs(tensors, specs, choices, { limits, signal }) };
    },
  });
}
