import type { ForeignFlag } from "./foreign-flag.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";

const TYPES = { integer: "int32", number: "float", boolean: "bool", text: "string" } as const;
const FLAG_WIDTH = 33;

/** Help of `tensorflow_model_server`, in the form that the original has. */
export function tensorflowUsage(): string {
  const lines = Object.entries<ForeignFlag>(TENSORFLOW_FLAGS).map(([name, { type, default: value = "", help }]) => {
    const flag = `--${name}=${type === "text" ? `"${value}"` : value}`;
    return `\t${flag.padEnd(FLAG_WIDTH)}\t${TYPES[type]}\t${help}\n`;
  });
  return `usage: tensorflow_model_server\nFlags:\n${lines.join("")}`;
}
