import { cpSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  loadFrozenGraph,
  loadSavedModel,
  parseTags,
} from "../../../../src/drivers/tensorflow/saved-model/load-saved-model.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";

const SERVE = ["serve"];

describe("loadSavedModel", () => {
  it("reads the graph that has the tags", () => {
    const { graphDef, signatureDef } = loadSavedModel(tensorflowModel("keras_dense"), SERVE);
    expect(graphDef?.node.length).toBeGreaterThan(0);
    expect(Object.keys(signatureDef)).toContain("serving_default");
  });

  it("lists the tags that exist where none has those asked for", () => {
    const load = () => loadSavedModel(tensorflowModel("keras_dense"), ["serve", "gpu"]);
    expect(load).toThrow('no graph with the tags "serve,gpu"; it has: serve');
  });

  it("refuses a file that is cut short", () => {
    const folder = tempFolder();
    cpSync(tensorflowModel("keras_dense"), folder, { recursive: true });
    truncateSync(join(folder, "saved_model.pb"), 1000);
    expect(() => loadSavedModel(folder, SERVE)).toThrow(/not a SavedModel, or it is cut short \(1000 bytes\)/);
  });

  it.each([
    [{ "saved_model.pbtxt": "saved_model_schema_version: 1" }, "as text"],
    [{ "saved_model.pb": "" }, "is empty"],
    [{ "saved_model.pb": Uint8Array.of(8, 1) }, "has no graph"],
    [{ "saved_model.pb": "<html>" }, "not a SavedModel"],
    [{}, "has no saved_model.pb"],
  ])("refuses a folder with %j", (files, message) => {
    expect(() => loadSavedModel(tempFolder(files), SERVE)).toThrow(message);
  });
});

describe("loadFrozenGraph", () => {
  it("reads a graph's nodes", () => {
    const { node } = loadFrozenGraph(tensorflowModel("frozen_graph"));
    expect(node.map(({ op }) => op)).toContain("Placeholder");
  });

  it("refuses a file that is no graph, or of no nodes", () => {
    const folder = tempFolder({ "a.pb": "no protobuf", "b.pb": Uint8Array.of(0x22, 0) });
    expect(() => loadFrozenGraph(join(folder, "a.pb"))).toThrow("not a frozen graph");
    expect(() => loadFrozenGraph(join(folder, "b.pb"))).toThrow("without a single node");
  });
});

describe("parseTags", () => {
  it("takes tags apart at commas and leaves white space out", () => {
    expect(parseTags(" serve, gpu,,")).toEqual(["serve", "gpu"]);
  });
});
