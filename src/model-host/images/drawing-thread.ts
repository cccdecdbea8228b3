import type { MessagePort } from "node:worker_threads";
import type { TensorSpec } from "../../signature/signature.ts";
import { FIRST_QUESTION } from "../../threads/exchange.ts";
import { toHostPort } from "../../threads/host-port.ts";
import { Responder } from "../../threads/responder.ts";
import { decodeImageInputs } from "./image-input.ts";
import type { ImageChoices } from "./image-options.ts";

/** Asks for pictures to be drawn; they are the record's tensors, and the answer's are what became of them. */
export const DRAW = FIRST_QUESTION;

/** The meta of {@link DRAW}. */
export interface DrawMeta {
  readonly specs: readonly TensorSpec[];
  readonly choices: ImageChoices;
}

/** Data that a drawing thread is started with. */
export interface DrawingThreadData {
  /** Port for requests; once that is closed, the thread ends. */
  readonly port: MessagePort;
}

/** Draws what is asked for on the port, until that is closed. */
export function runDrawingThread({ port }: DrawingThreadData): void {
  new Responder(toHostPort(port), {
    give: true,
    answer: async ({ meta, tensors = {} }, signal) => {
      const { specs, choices } = meta as DrawMeta;
      return { meta: undefined, tensors: await decodeImageInputs(tensors, specs, choices, signal) };
    },
  });
}
