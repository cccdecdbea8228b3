import { expect, it } from "vitest";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { openModel } from "../open-model.ts";

const OTHERWISE = "or leave -o engine= out and run: kserving runtimes install openvino.";

function packageWith(node: string, files: Record<string, string> = {}): string {
  return tempFolder({
    "package.json": JSON.stringify({ version: "2026.9.0", main: "./main.cjs", engines: { node } }),
    ...files,
  });
}

/** Files of a package whose installer has run, but whose addon is not one. */
const BROKEN = {
  "main.cjs": 'exports.addon = require("./bin/ov_node_addon.node");',
  "bin/ov_node_addon.node": "no addon",
};

it.each([
  ["not installed", () => tempFolder(), "openvino-node is not installed. Run: npm install openvino-node, "],
  [
    "made for a later Node",
    () => packageWith(">=99.0.0"),
    `openvino-node 2026.9.0 needs Node 99 or later, this is ${process.version}; take another Node, `,
  ],
  [
    "not completed by its installer",
    () => packageWith(">=18"),
    "openvino-node 2026.9.0 has no addon: its installer has not run, or failed. Run: npm rebuild openvino-node, ",
  ],
  [
    "broken",
    () => packageWith(">=18", BROKEN),
    "The addon of openvino-node 2026.9.0 does not load. Run: npm rebuild openvino-node, ",
  ],
])("engine=node says what to do where openvino-node is %s", async (_what, folder, message) => {
  await expect(openModel("dense", { engine: "node", openvino_lib: folder() })).rejects.toMatchObject({
    code: "failed_precondition",
    message: message + OTHERWISE,
  });
});
