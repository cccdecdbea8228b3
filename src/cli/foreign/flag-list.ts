import { effectText, type ForeignFlag, type ForeignFlags } from "./foreign-flag.ts";

const FLAG_WIDTH = 40;

/** Help on flags: each with its meaning, its default, and what stands for it here. */
export function flagList(flags: ForeignFlags): string {
  return Object.entries(flags).map(toLine).join("");
}

function toLine([name, flag]: [string, ForeignFlag]): string {
  const { type, short, default: value = "", help } = flag;
  const head = `${short === undefined ? "    " : `-${short}, `}--${name}${type === "boolean" ? "" : ` ${name.toUpperCase()}`}`;
  const fallback = value === "" || type === "boolean" ? "" : ` (default: ${value})`;
  return `  ${head.padEnd(FLAG_WIDTH)} ${help}${fallback} [${effectText(flag).replaceAll("`", "")}]\n`;
}
