import { MessageChannel, Worker } from "node:worker_threads";
import type { Logger } from "../../observability/logger.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { RpcClient } from "../../platform/threads/rpc-client.ts";
import { threadEntry } from "../../platform/threads/thread-entry.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { type ImageCall, isImage } from "./image-input.ts";
import type { ImageChoices } from "./image-options.ts";
import { type ImageThreadData, PREPROCESS, type PreprocessMeta } from "./image-thread.ts";

/**
 * Preprocesses the images of a model that runs inline, in a thread: the resampling would
 * keep the main thread from its clients. The thread is started with the first image, and
 * again after it has ended; it runs only JavaScript and sharp, which may be terminated.
 */
export class ImagePreprocessor {
  readonly #log: Logger;
  #thread: ImageThread | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Runs decodeImageInputs in the thread; throws what that throws, and `unavailable` when the thread ended meanwhile.
   */
  async preprocess(
    inputs: Tensors,
    specs: readonly TensorSpec[],
    choices: ImageChoices,
    { limits, signal }: ImageCall = {},
  ): Promise<Tensors> {
    const asked = specs.filter((spec) => isImage(inputs[spec.name], spec, limits));
    const images = createTensors(Object.entries(inputs).filter(([key]) => asked.some(({ name }) => name === key)));
    const meta = { specs: asked.map(toPlainSpec), choices, limits } satisfies PreprocessMeta;
    const { tensors } = await this.#open().client.ask({ kind: PREPROCESS, meta, tensors: images }, signal);
    return createTensors([...Object.entries(inputs), ...Object.entries(tensors)]);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#thread?.client.close();
    await this.#thread?.worker.terminate();
  }

  #open(): ImageThread {
    if (this.#thread?.client.isOpen) return this.#thread;
    this.#thread = startThread(this.#log);
    return this.#thread;
  }
}

interface ImageThread {
  readonly worker: Worker;
  readonly client: RpcClient;
}

function startThread(log: Logger): ImageThread {
  const { port1, port2 } = new MessageChannel();
  const workerData = { port: port2 } satisfies ImageThreadData;
  const entry = threadEntry("models/images/image-thread-entry");
  const worker = new Worker(entry, { workerData, transferList: [port2], name: "images" });
  worker.once("error", (reason) => log.error("the thread that decodes images failed", { err: reason }));
  const client = new RpcClient(toHostPort(port1), "the thread that decodes images");
  return { worker, client };
}

/** Defaults are tensors, which a record's plain data cannot carry; an image that came needs none. */
function toPlainSpec({ name, dtype, shape, imageLayout }: TensorSpec): TensorSpec {
  return { name, dtype, ...(shape && { shape }), ...(imageLayout && { imageLayout }) };
}
