import type { AddonValue } from "./addon-api.ts";

/** A property as OpenVINO writes it; throws for one that the addon gives nothing for. */
export function toText(value: AddonValue): string {
  if (value === undefined) throw new Error("openvino-node cannot read it");
  if (typeof value === "boolean") return value ? "YES" : "NO";
  if (Array.isArray(value)) return value.map(toText).join(" ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
