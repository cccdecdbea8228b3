import { publicText, shortText } from "../../../errors.ts";

/** Lines of the Python program that made a node: useful to the people who trained the model only. */
const ORIGIN = /^(Detected at node|File ".*?", line \d+|Stack trace for op definition:|<stack traces unavailable>)/;
const NODE = /\{\{node ([^}]+)\}\}/g;
/** Marks of a node, of a function's call and of what else failed then. */
const MARKS = /\s*\[\[.*?\]\]|\s*\[Op:\w+\]|\{\{function_node [^}]*\}\}\s*/g;

/** TensorFlow's message about a failure, for clients: one line, without traces and paths. */
export function failureText(reason: unknown): string {
  const lines = shortText(reason)
    .split("\n")
    .map((line) => line.replace(MARKS, "").replace(NODE, "$1").trim())
    .filter((line) => line !== "" && !ORIGIN.test(line) && !/^\d+ root error/.test(line));
  return publicText((lines[0] ?? "no reason given").replace(/^\(\d+\) \w+: /, "")).replace(/\.$/, "");
}

/** The name of the node that failed, by the function's body where it is in one; undefined where the text has none. */
export function failedNode(reason: unknown): string | undefined {
  return [...shortText(reason).matchAll(NODE)].at(-1)?.[1];
}
