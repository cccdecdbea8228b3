import type { TensorSpec } from "../signature/signature.ts";

/** PNGs of one pixel, with one channel and with three. */
const GREY = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const COLOUR = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNoaGgAAAMEAYFL09IQAAAAAElFTkSuQmCC";

/** A PNG of one pixel in base64, for an input of images; channels come last, or before height and width. */
export function exampleImage({ shape: [, second, , last] = [] }: Pick<TensorSpec, "shape">): string {
  return last === 1 || (second === 1 && last !== 3) ? GREY : COLOUR;
}
