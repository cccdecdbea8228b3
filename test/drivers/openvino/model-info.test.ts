import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readModelInfo } from "../../../src/drivers/openvino/ir-file.ts";
import { startServer } from "../../helpers/start-server.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("Notes of OpenVINO models", openvinoRuntime);
const END = "</net>\n";
const NOTES = `<model_info>
  <labels value="cat sea_lion"/>
  <info name="odd key" value="&lt;a&gt; &amp; &quot;b&quot;&#10;&#xe9; &nbsp;"/>
  <resize><type value="standard"/><info name="per axis"><x value="1"/></info></resize>
  <empty/>
</model_info>`;
const INFO = {
  labels: "cat sea_lion",
  "odd key": '<a> & "b"\né &nbsp;',
  resize: { type: "standard", "per axis": { x: "1" } },
  empty: {},
};
const xml = (section: string) =>
  `<net><layer><rt_info><attribute name="x" value="1"/></rt_info></layer>${section}${END}`;

describe("the notes in an IR's file", () => {
  test("are texts and trees, by names that XML does and does not allow", () => {
    expect(readModelInfo(xml(`<rt_info><info name="Runtime" value="2026"/>${NOTES}</rt_info>`))).toEqual(INFO);
  });

  test.each<[string, string]>([
    ["a file without a section", ""],
    ["a section without them", '<rt_info><info name="Runtime" value="2026"/></rt_info>'],
    ["a text in their place", '<rt_info><model_info value="none"/></rt_info>'],
    ["one in a layer", `<layers>${`<layer><rt_info>${NOTES}</rt_info></layer>`}</layers>`],
  ])("are not there in %s", (_, section) => {
    expect(readModelInfo(xml(section))).toBeUndefined();
  });

  test("may have any names, and end where they nest deeper than any exporter's", () => {
    const info = readModelInfo(xml(`<rt_info><model_info><__proto__ value="1"/></model_info></rt_info>`));
    expect(Object.entries(info ?? {})).toEqual([["__proto__", "1"]]);
    expect(readModelInfo(xml(`<rt_info><model_info>${"<a>".repeat(100_000)}</rt_info>`))).toHaveProperty("a.a.a");
  });
});

/** A model with the notes, until the test ends. */
function withNotes(): string {
  const folder = mkdtempSync(join(tmpdir(), "kserving-notes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(openvinoModel("dense"), ".."), folder, { recursive: true });
  const path = join(folder, "model.xml");
  writeFileSync(path, readFileSync(path, "utf8").replace(/<rt_info>(?![\s\S]*<rt_info>)/, `$&${NOTES}`));
  return path;
}

describe.skipIf(missing !== undefined)("clients of OpenVINO Model Server read a model's notes over HTTP", () => {
  async function metadataOf(options: object): Promise<Record<string, unknown>> {
    const { httpUrl } = await startServer({ stages: [{ driver: "openvino", path: withNotes() }], ...options });
    const answer = await fetch(`${httpUrl}/v2/models/default`);
    return (await answer.json()) as Record<string, unknown>;
  }

  test.each<[string, object]>([
    ["in a thread", {}],
    ["in a process of its own", { isolate: true }],
  ])("of a model %s", async (_, options) => {
    expect(await metadataOf(options)).toMatchObject({ platform: "OpenVINO", rt_info: { model_info: INFO } });
  });

  test("but not where hooks change what clients see", async () => {
    const hooks = { postprocess: (outputs: object) => outputs };
    expect(await metadataOf({ hooks })).not.toHaveProperty("rt_info");
  });
});
