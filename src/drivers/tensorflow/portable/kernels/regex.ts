import * as tf from "@tensorflow/tfjs-core";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { toPattern } from "../re2-pattern.ts";
import { asStrings } from "../values.ts";
import { mapStrings } from "./string.ts";

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();

function decodeText(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    throw new Error("a string is not valid UTF-8, as the pattern needs");
  }
}

const regexReplace: KernelFactory = (node) => {
  const isGlobal = node.flag("replace_global", true);
  const pattern = patternOf(node, isGlobal ? "gu" : "u");
  if (isGlobal && new RegExp(pattern.source, "u").test(""))
    return node.refuse(`of a pattern that matches nothing, "${node.text("pattern")}"`);
  const rewrite = node.text("rewrite");
  if (/\\[^\d\\]|\\$/.test(rewrite)) return node.refuse(`with the rewrite "${rewrite}"`);
  const replace = (...groups: (string | undefined)[]) =>
    rewrite.replace(/\\(.)/g, (_, which: string) => (which === "\\" ? "\\" : (groups[Number(which)] ?? "")));
  return (x) => mapStrings(x, (bytes) => ENCODER.encode(decodeText(bytes).replace(pattern, replace)));
};

const regexFullMatch: KernelFactory = (node) => {
  const { source } = patternOf(node, "u");
  const whole = new RegExp(`^(?:${source})$`, "u");
  return (x) => {
    const { elements, shape } = asStrings(x);
    return tf.tensor(
      elements.map((bytes) => Number(whole.test(decodeText(bytes)))),
      [...shape],
      "bool",
    );
  };
};

function patternOf(node: OpNode, flags: string): RegExp {
  const text = node.text("pattern");
  return toPattern(text, flags) ?? node.refuse(`of the pattern "${text}"`);
}

/** Patterns on strings. */
export const REGEX_KERNELS: KernelTable = { StaticRegexReplace: regexReplace, StaticRegexFullMatch: regexFullMatch };
