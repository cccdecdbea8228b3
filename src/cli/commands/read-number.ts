import { readSetting } from "../settings/read-setting.ts";

/** Reads a flag's whole number; throws `invalid_argument` for anything else, and below `min`. */
export function readCount(source: string, text: string, min: number): number {
  return Number(readSetting({ type: "count", min, help: "", commands: [] }, { source, text }));
}

/** Reads a flag's number of seconds; throws `invalid_argument` for anything else. */
export function readSeconds(source: string, text: string): number {
  return Number(readSetting({ type: "seconds", default: 0, help: "", commands: [] }, { source, text }));
}
