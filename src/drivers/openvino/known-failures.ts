import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Dimension } from "../../tensor/signature/signature.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tellsOfMemory } from "../run-failure.ts";
import type { Network } from "./engine.ts";
import type { ModelSource } from "./model-source.ts";
import { OpenvinoFailure } from "./openvino-failure.ts";

/** Combinations of shapes that are remembered. */
const MAX_SHAPES = 4096;
/** Failed inputs that are remembered by their content. */
const MAX_CONTENTS = 256;

/** A model of which a run has failed. */
export interface FailingModel {
  /** True if a run leaves nothing behind, so that the same inputs fail again. */
  readonly isPure: boolean;
  readonly source: ModelSource;
}

/**
 * Inputs on which a network fails, so that it does not fail on them again: by their shapes, if the network's own
 * shape inference refuses those, else by their content.
 */
export class KnownFailures {
  readonly #network: Network;
  /** The network's own shapes; undefined if its shape inference does not decide. */
  readonly #shapes: ReadonlyMap<number, readonly Dimension[]> | undefined;
  readonly #isPure: boolean;
  /** Undefined = they are taken. */
  readonly #byShapes = new Map<string, OpenvinoFailure | undefined>();
  readonly #byContent = new Map<string, OpenvinoFailure>();
  /** Shapes of which some contents failed. */
  readonly #uncertain = new Set<string>();

  /** Must not be used while the network is compiled. */
  constructor(network: Network, { isPure, source }: FailingModel) {
    this.#network = network;
    this.#isPure = isPure;
    this.#shapes = mayBranch(source) ? undefined : openShapes(network);
  }

  /** Notes a run that failed. */
  add(inputs: readonly Tensor[], failure: OpenvinoFailure): void {
    const key = keyOf(inputs);
    const isRefused = this.#refusal(key, inputs) !== undefined;
    const refused = new OpenvinoFailure("refused", failure.message);
    if (isRefused) this.#byShapes.set(key, refused);
    if (isRefused || !this.#isPure || tellsOfMemory(failure.message)) return;
    this.#uncertain.add(key);
    this.#byContent.set(contentOf(key, inputs), failure);
    dropOldest(this.#uncertain, MAX_CONTENTS);
    dropOldest(this.#byContent, MAX_CONTENTS);
  }

  /** The failure that a run on these inputs would have; undefined if none is known. */
  find(inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    const key = keyOf(inputs);
    const refusal = this.#refusal(key, inputs);
    if (refusal !== undefined || !this.#uncertain.has(key)) return refusal;
    return this.#byContent.get(contentOf(key, inputs));
  }

  #refusal(key: string, inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    if (this.#byShapes.has(key)) return this.#byShapes.get(key);
    const refusal = this.#infer(inputs);
    this.#byShapes.set(key, refusal);
    dropOldest(this.#byShapes, MAX_SHAPES);
    return refusal;
  }

  /** Lets the network infer its shapes from those of the inputs, which runs nothing. */
  #infer(inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    if (this.#shapes === undefined) return undefined;
    try {
      this.#network.reshape(new Map(inputs.map(({ shape }, place) => [place, shape])));
    } catch (reason) {
      return reason instanceof OpenvinoFailure ? new OpenvinoFailure("refused", reason.message) : undefined;
    }
    this.#network.reshape(this.#shapes);
    return undefined;
  }
}

/** Operators of ONNX with parts that need not run, as the file has them. */
const ONNX_BRANCHES = ["\x22\x02If", "\x22\x04Loop", "\x22\x04Scan"];
/** Larger files are not looked through. */
const MAX_BYTES = 1 << 30;

/** False for a model in which everything runs, so that what its shape inference refuses cannot run. */
function mayBranch({ path, ir }: ModelSource): boolean {
  if (ir !== undefined) return ir.hasLoops;
  if (!/\.onnx$/i.test(path)) return true;
  try {
    if (statSync(path).size > MAX_BYTES) return true;
    const bytes = readFileSync(path);
    return ONNX_BRANCHES.some((text) => bytes.includes(text, 0, "latin1"));
  } catch {
    // The file may be gone by now.
    return true;
  }
}

/** The declared shapes; undefined if none is open, or one is of any rank. */
function openShapes({ inputs }: Network): ReadonlyMap<number, readonly Dimension[]> | undefined {
  const shapes = inputs.flatMap(({ shape }) => (shape === undefined ? [] : [shape]));
  const isOpen = shapes.some((shape) => shape.some((size) => typeof size !== "number" || size < 0));
  return isOpen && shapes.length === inputs.length ? new Map(shapes.entries()) : undefined;
}

function keyOf(inputs: readonly Tensor[]): string {
  return inputs.map(({ shape }) => shape.join()).join(";");
}

function contentOf(key: string, inputs: readonly Tensor[]): string {
  const hash = createHash("sha1").update(key);
  for (const { dtype, data } of inputs) {
    if (dtype !== "bytes") hash.update(data as NodeJS.TypedArray);
    else for (const text of data as readonly Uint8Array[]) hash.update(`${text.length}:`).update(text);
  }
  return hash.digest("base64");
}

function dropOldest(entries: Map<string, unknown> | Set<string>, limit: number): void {
  const [oldest] = entries.keys();
  if (entries.size > limit && oldest !== undefined) entries.delete(oldest);
}
