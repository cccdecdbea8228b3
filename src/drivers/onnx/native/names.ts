import { toCTexts } from "../../../native/c-texts.ts";

/** Names of inputs or outputs, also as OrtApi.Run takes them. */
export interface Names {
  readonly names: readonly string[];
  readonly texts: BigUint64Array;
}

/** Makes names fit to be passed, for as long as the result is referenced. */
export function toNames(names: readonly string[]): Names {
  return { names, texts: toCTexts(names.map((name) => Buffer.from(name))) };
}
