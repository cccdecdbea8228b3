import { MessageChannel, Worker } from "node:worker_threads";
import type { CancelSignal } from "../../async/cancel-source.ts";
import type { Logger } from "../../observability/logger.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { Exchange } from "../../threads/exchange.ts";
import { toHostPort } from "../../threads/host-port.ts";
import { threadEntry } from "../../threads/thread-entry.ts";
import { DRAW, type DrawingThreadData, type DrawMeta } from "./drawing-thread.ts";
import { isImage } from "./image-input.ts";
import type { ImageChoices } from "./image-options.ts";

/**
 * Draws the pictures of a model that runs inline, in a thread: the resampling would keep the main thread from its clients.
 * The thread is started with the first picture, and anew after it has ended; it runs JavaScript and sharp only, which may be terminated.
 */
export class ImageDrawer {
  readonly #log: Logger;
  #thread: DrawingThread | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Runs decodeImageInputs in the thread; throws what that throws, and `unavailable` when the thread ended meanwhile.
   */
  async draw(
    inputs: Tensors,
    specs: readonly TensorSpec[],
    choices: ImageChoices,
    signal?: CancelSignal,
  ): Promise<Tensors> {
    const asked = specs.filter((spec) => isImage(inputs[spec.name], spec, choices));
    const pictures = createTensors(Object.entries(inputs).filter(([key]) => asked.some(({ name }) => name === key)));
    const meta = { specs: asked.map(toPlainSpec), choices } satisfies DrawMeta;
    const question = { kind: DRAW, meta, tensors: pictures, signal, give: false };
    const { tensors } = await this.#open().exchange.ask(question);
    return createTensors([...Object.entries(inputs), ...Object.entries(tensors)]);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#thread?.exchange.close();
    await this.#thread?.worker.terminate();
  }

  #open(): DrawingThread {
    if (this.#thread?.exchange.isOpen) return this.#thread;
    this.#thread = startThread(this.#log);
    return this.#thread;
  }
}

interface DrawingThread {
  readonly worker: Worker;
  readonly exchange: Exchange;
}

function startThread(log: Logger): DrawingThread {
  const { port1, port2 } = new MessageChannel();
  const workerData = { port: port2 } satisfies DrawingThreadData;
  const entry = threadEntry("model-host/images/drawing-thread-entry");
  const worker = new Worker(entry, { workerData, transferList: [port2], name: "images" });
  worker.once("error", (reason) => log.error("the thread that decodes images failed", { err: reason }));
  const exchange = new Exchange(toHostPort(port1), "the thread that decodes images");
  return { worker, exchange };
}

/** Defaults are tensors, which a record's plain data cannot carry; a picture that came needs none. */
function toPlainSpec({ name, dtype, shape, imageLayout }: TensorSpec): TensorSpec {
  return { name, dtype, ...(shape && { shape }), ...(imageLayout && { imageLayout }) };
}
