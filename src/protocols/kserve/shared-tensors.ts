import { invalidArgument } from "../../errors.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import {
  isLargeBytes,
  LARGE_COPY_BYTES,
  LARGE_MESSAGE_BYTES,
  MANY_ELEMENTS,
} from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { borrowMemory, returnMemory } from "../../platform/limits/memory/memory-pool.ts";
import type { HeldMemory, SharedMemory } from "../../platform/shared-memory/shared-memory.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type AnsweredOutput, type KserveAnswer, sentTensors } from "./kserve-answer.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { fromRaw, type InputHead, rawSize, toRaw } from "./raw-tensor.ts";
import { fromRawJob, toRawJob } from "./raw-tensor-jobs.ts";
import { readPlace } from "./shared-memory-places.ts";

/** The request that the tensors are of, and the most that its inputs may take in memory, in bytes. */
interface SharedTensorsOptions {
  readonly call: CallOptions;
  readonly maxBytes: number;
}

/** The inputs and outputs of one request that are in shared memory, in regions that stay until they are released. */
export class SharedTensors {
  readonly #request: KserveRequest;
  readonly #options: SharedTensorsOptions;
  readonly #inputs: (readonly [InputHead, HeldMemory])[] = [];
  readonly #outputs = new Map<string, HeldMemory>();

  /** Throws, with Triton's texts, if the regions do not have the places that the request names. */
  constructor(request: KserveRequest, regions: SharedMemory, options: SharedTensorsOptions) {
    this.#request = request;
    this.#options = options;
    try {
      for (const { head, place } of request.shared ?? []) this.#inputs.push([head, regions.hold(place)]);
      for (const { name, parameters } of request.outputs) {
        const place = readPlace(parameters, name);
        if (place === undefined) continue;
        const alien = ["binary_data", "classification"].find((other) => Boolean(parameters.get(other)));
        if (alien !== undefined) throw invalidArgument(`Output can't set both 'shared_memory_region' and '${alien}'`);
        this.#outputs.set(name, regions.hold(place));
      }
    } catch (reason) {
      this.release();
      throw reason;
    }
  }

  /** The values of the inputs as they are now. */
  async readInputs(): Promise<(readonly [string, Tensor])[]> {
    const budget = new DecodeBudget(this.#options.maxBytes);
    for (const [{ name }, { byteSize }] of this.#inputs) budget.spend(byteSize, () => `input '${name}'`);
    const tensors: (readonly [string, Tensor])[] = [];
    for (const [head, held] of this.#inputs) tensors.push([head.name, await this.#readInput(head, held, budget)]);
    return tensors;
  }

  /** Writes outputs to the places that the client named for them; gives the answer without these tensors. */
  async writeOutputs(answer: KserveAnswer): Promise<KserveAnswer> {
    const outputs: AnsweredOutput[] = [];
    for (const output of answer.outputs) {
      const held = this.#outputs.get(output.name);
      outputs.push(held === undefined ? output : await this.#write(output, held));
    }
    if (outputs.every(({ tensor }) => tensor === undefined)) this.#recycle(answer);
    return { ...answer, outputs };
  }

  /** Lets go of the regions; to be called once. */
  release(): void {
    for (const [, held] of this.#inputs) held.release();
    for (const held of this.#outputs.values()) held.release();
  }

  async #readInput(head: InputHead, held: HeldMemory, budget: DecodeBudget): Promise<Tensor> {
    const { model, id } = this.#request;
    const { call } = this.#options;
    const { byteSize } = held;
    call.memory?.grow(byteSize);
    const raw = new Uint8Array(borrowMemory(byteSize));
    await held.read(raw);
    // Booleans are in the budget already.
    const own = head.datatype === "BOOL" ? new DecodeBudget(byteSize) : budget;
    if (!hasManyElements(head, byteSize)) return fromRaw(head, raw, { model, id, budget: own });
    const maxBytes = own.leftBytes;
    const scratchBytes = Math.min(ELEMENT_BYTES * byteSize, maxBytes);
    const { signal, memory } = call;
    return codecs.run(fromRawJob, [head, raw, { model, id, maxBytes }], {
      transfer: new Set([raw.buffer]),
      signal,
      memory,
      scratchBytes,
    });
  }

  async #write(output: AnsweredOutput, held: HeldMemory): Promise<AnsweredOutput> {
    const { name } = output;
    const tensor = output.tensor as Tensor;
    const size = rawSize(tensor);
    if (size > held.byteSize) {
      throw invalidArgument(
        `shared memory size specified with the request for output '${name}' (${held.byteSize} bytes) should be at least ${size} bytes to hold the results`,
      );
    }
    await held.write(await this.#toBytes(tensor, size));
    return { ...output, tensor: undefined };
  }

  /** Returns the memory of tensors that are not read any more, as they are all in shared memory now. */
  #recycle(answer: KserveAnswer): void {
    if (this.#options.call.memory?.isWireOnly !== true) return;
    for (const { dtype, data } of sentTensors(answer)) if (dtype !== "bytes") returnMemory(data.buffer);
  }

  #toBytes(tensor: Tensor, scratchBytes: number): Uint8Array | Promise<Uint8Array> {
    if (!isLargeBytes(tensor)) return toRaw(tensor);
    const { signal, memory } = this.#options.call;
    return codecs.run(toRawJob, [tensor], { signal, memory, scratchBytes });
  }
}

/** Checks if finding the elements is work for a codec thread. */
function hasManyElements({ datatype, shape }: InputHead, bytes: number): boolean {
  if (datatype === "BOOL") return bytes > LARGE_COPY_BYTES;
  const count = shape.reduce((product, size) => product * size, 1);
  return datatype === "BYTES" && bytes > LARGE_MESSAGE_BYTES && count > MANY_ELEMENTS;
}
