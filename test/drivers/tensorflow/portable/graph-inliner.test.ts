import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseEdge } from "../../../../src/drivers/tensorflow/portable/graph.ts";
import { createFunctionLibrary, GraphInliner } from "../../../../src/drivers/tensorflow/portable/graph-inliner.ts";
import { loadFrozenGraph } from "../../../../src/drivers/tensorflow/saved-model/load-saved-model.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { floats } from "../native/open-native.ts";
import { placeholder, type, writeGraph } from "./graph-writer.ts";

const FLOATS = { list: { type: ["DT_FLOAT"] } };

describe("GraphInliner", () => {
  it("refuses functions that call each other a hundred thousand times", () => {
    const call = (name: string, input: string, callee: string) => ({
      name,
      op: "PartitionedCall",
      input: [input],
      attr: { f: { func: { name: callee } }, Tin: FLOATS, Tout: FLOATS },
    });
    const functions = Array.from({ length: 25 }, (_, depth) => ({
      signature: {
        name: `f${depth}`,
        inputArg: [{ name: "a", type: "DT_FLOAT" }],
        outputArg: [{ name: "r", type: "DT_FLOAT" }],
      },
      nodeDef:
        depth === 24
          ? [{ name: "m", op: "Neg", input: ["a"], attr: { T: type("float32") } }]
          : [call("n", "a", `f${depth + 1}`), call("m", "n:output:0", `f${depth + 1}`)],
      ret: { r: depth === 24 ? "m:y:0" : "m:output:0" },
    }));
    const graph = writeGraph([placeholder("x", floats([1], 1)), call("y", "x", "f0")], functions);
    const path = join(tempFolder({ "frozen.pb": graph }), "frozen.pb");
    const parsed = loadFrozenGraph(path);
    const inliner = new GraphInliner(createFunctionLibrary(parsed), 100_000);
    inliner.addGraph(parsed);
    expect(() => inliner.reach(parseEdge("y"))).toThrow("more than 100000 operations with those of functions");
  });
});
