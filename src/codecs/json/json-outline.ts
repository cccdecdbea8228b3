import type { DType } from "../../tensor/dtype.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { NumberStyle } from "./floats-writer.ts";
import { JsonWriter } from "./json-writer.ts";

/** Values that an outline lacks: what writeItems writes of a tensor. */
export interface LeftOut {
  /** Numbers or booleans, of rank 1 at least. */
  readonly items: Tensor;
  readonly style: NumberStyle;
}

/** Elements of a list that is left out: writing fewer takes no longer than to have them written elsewhere. */
const MIN_ELEMENTS = 1024;

/** Checks if an outline lacks a list of so many elements. */
export function isLeftOut(dtype: DType, elements: number): boolean {
  return dtype !== "bytes" && elements > MIN_ELEMENTS;
}

/** JSON text without its long lists of numbers, which others write, in parts and at the same time. */
export class JsonOutline extends JsonWriter {
  readonly #gaps: { readonly at: number; readonly leftOut: LeftOut }[] = [];

  /** Notes values that stand here in the text. */
  leaveOut({ items, style: { separator, nonFinite } }: LeftOut): void {
    this.#gaps.push({ at: this.length, leftOut: { items, style: { separator, nonFinite } } });
  }

  /** The text so far, in order; bytes are views of it. */
  parts(): readonly (Uint8Array | LeftOut)[] {
    const text = this.finish();
    const parts: (Uint8Array | LeftOut)[] = [];
    let from = 0;
    for (const { at, leftOut } of this.#gaps) {
      parts.push(text.subarray(from, at), leftOut);
      from = at;
    }
    return [...parts, text.subarray(from)];
  }
}
