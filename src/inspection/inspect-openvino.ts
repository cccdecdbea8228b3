import { readFileSync } from "node:fs";
import { dtypeOf } from "../drivers/openvino/element-types.ts";
import { constantsOf, readIrFile } from "../drivers/openvino/ir-file.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

const LAYER = /<layer [^<>]{0,4096}?\stype="([^"<>]{0,256})"/g;
const NOTE = /<(\w+) value="([^"]*)"\s*\/>/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** Facts about an IR's .xml file; throws `failed_precondition` for a damaged one. */
export function inspectOpenvino(path: string): FileFacts {
  readIrFile(path);
  const text = readFileSync(path, "utf8");
  const operators = new Map<string, number>();
  for (const [, type = ""] of text.matchAll(LAYER)) countOne(operators, type);
  const weights = new Map<string, WeightCount>();
  for (const { type, shape, size } of constantsOf(text)) {
    const sizes = shape.split(",").filter((each) => each.trim() !== "");
    const elements = sizes.reduce((product, each) => product * Number(each), 1);
    countWeight(weights, dtypeOf(type) ?? type, { elements, bytes: size });
  }
  const notes = text.slice(Math.max(0, text.lastIndexOf("</edges>")));
  const metadata = Object.fromEntries([...notes.matchAll(NOTE)].map(([, name, value = ""]) => [name, plain(value)]));
  const writer = metadata.Runtime_version ?? metadata.MO_version;
  const name = /<net name="([^"]*)"/.exec(text)?.[1];
  return {
    format: `OpenVINO IR, version ${/<net [^>]*?\bversion="(\d+)"/.exec(text)?.[1]}`,
    ...(writer !== undefined && { producer: `OpenVINO ${writer}` }),
    operators,
    weights,
    metadata: { ...(name !== undefined && { name: plain(name) }), ...metadata },
  };
}

function plain(text: string): string {
  return text.replace(/&(\w+);/g, (all, name: string) => ENTITIES[name] ?? all);
}
