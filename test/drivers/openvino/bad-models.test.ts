import { execFileSync } from "node:child_process";
import { cpSync, linkSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { openModel } from "./open-model.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("The openvino driver's refusals", openvinoRuntime);

/** A copy of a model that a test may damage; its folder. */
function copyOf(name: string): string {
  const folder = tempFolder();
  cpSync(dirname(openvinoModel(name)), folder, { recursive: true });
  return folder;
}

function expectRefusal(path: string, message: RegExp, options: RawOptions = {}): Promise<void> {
  return expect(openModel(path, options)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(message),
  });
}

// Told before OpenVINO is looked for.
describe("the openvino driver refuses", () => {
  it("a path where nothing is", () =>
    expectRefusal("no/model.xml", /The model "no\/model.xml" does not exist; expected/));

  it("an .xml that is cut short", async () => {
    const folder = copyOf("convolutions");
    truncateSync(`${folder}/model.xml`, 3000);
    await expectRefusal(`${folder}/model.xml`, /model.xml" is cut short: it has 3000 characters/);
  });

  it.each([
    ["another XML file", "<?xml version='1.0'?><svg/>", /is not an OpenVINO model: it has no <net version/],
    ["a web page", "<!doctype html><html></html>", /is not an OpenVINO model: it looks like a web page/],
    ["a Git LFS pointer", "version https://git-lfs.github.com/spec/v1", /git lfs pull/],
    [
      "a model of a version that is too old",
      '<?xml version="1.0"?><net name="a" version="7"></net>',
      /of version 7; OpenVINO reads 10 and 11/,
    ],
    ["an empty file", "", /is empty/],
  ])("%s", async (_what, text, message) => {
    await expectRefusal(`${tempFolder({ "model.xml": text })}/model.xml`, message);
  });

  it("a model whose weights are missing", async () => {
    const folder = copyOf("dense");
    rmSync(`${folder}/model.bin`);
    await expectRefusal(
      `${folder}/model.xml`,
      /The weights ".*model.bin" of ".*model.xml" does not exist; put it next to/,
    );
    await expectRefusal(`${folder}/model.xml`, /name the file with -o model_weights/, { model_weights: "none.bin" });
    await expectRefusal(`${folder}/model.xml`, /are a folder/, { model_weights: folder });
  });

  it("weights that are cut short, or of another model", async () => {
    const folder = copyOf("convolutions");
    truncateSync(`${folder}/model.bin`, 100);
    await expectRefusal(
      `${folder}/model.xml`,
      /are cut short or of another model: .* needs \d+ bytes, the file has 100/,
    );
  });

  it("a folder that has several models, or none", async () => {
    const folder = tempFolder({ "a.xml": "", "b.xml": "" });
    await expectRefusal(folder, /has several models; give one/);
    await expectRefusal(tempFolder(), /has no model; expected/);
  });

  it("an ending that it does not know, and weights for a model that has its own", async () => {
    await expectRefusal(`${tempFolder({ "model.pt": "x" })}/model.pt`, /has the ending ".pt"; expected/);
    await expectRefusal(openvinoModel("onnx_matmul"), /model_weights is for .xml models/, { model_weights: "a.bin" });
  });
});

describe.skipIf(missing !== undefined)("OpenVINO refuses, and the driver says why:", () => {
  it("an unknown operation", async () => {
    const folder = copyOf("dense");
    const text = readFileSync(`${folder}/model.xml`, "utf8");
    writeFileSync(`${folder}/model.xml`, text.replace('type="MatMul"', 'type="NobodyKnowsThis"'));
    await expectRefusal(`${folder}/model.xml`, /^OpenVINO [\d.]+ cannot load .*NobodyKnowsThis.* -o extension=\.$/);
    await expectRefusal("test/fixtures/models/unknown-op.onnx", /operations: Levitate-17\. .*-o extension=/);
  });

  it("files of other formats that are damaged", async () => {
    await expectRefusal("test/fixtures/models/truncated.onnx", /Model can't be parsed/);
    await expectRefusal(
      "test/fixtures/models/not-a-model.onnx",
      /cannot load ".*not-a-model.onnx" on CPU: Unable to read/,
    );
  });

  it("element types that no request can carry", () =>
    expectRefusal(
      openvinoModel("half_byte"),
      /^Input "x" is of element type u4, which is smaller than a byte; convert it/,
    ));

  it("an input of any rank, which the CPU does not take", () =>
    expectRefusal(openvinoModel("any_rank"), /dynamic rank\. Operation name: x\.$/));

  it("a model that has nothing but variables to give", () =>
    expectRefusal("test/fixtures/tensorflow/counter", /^The model has no outputs for OpenVINO/));

  it("what there is no memory for", async () => {
    await expect(openModel("add_multiply", { batch_size: "4000000000000" })).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringMatching(/^There is not enough memory to load ".*model.xml" on CPU\.$/),
    });
  });
});

describe.skipIf(missing !== undefined)("the openvino driver takes", () => {
  it("the one model of a folder, and that of the highest version", async () => {
    const folder = tempFolder();
    for (const version of ["2", "10"])
      cpSync(dirname(openvinoModel("dense")), join(folder, version), { recursive: true });
    rmSync(join(folder, "2", "model.xml"));
    await (await openModel(folder)).close();
  });
});

describe.skipIf(missing !== undefined)("the openvino driver says what is wrong with", () => {
  it("a library that is none, or is not there", async () => {
    const folder = tempFolder({ "libopenvino_c.so.1": "no library" });
    await expectRefusal(openvinoModel("dense"), /cannot be loaded on \w+ \w+: /, {
      openvino_lib: `${folder}/libopenvino_c.so.1`,
    });
    await expectRefusal(openvinoModel("dense"), /-o openvino_lib is ".*", where OpenVINO is not/, {
      openvino_lib: folder,
    });
  });

  it.runIf(process.platform === "linux")("a library of 32 bits", async () => {
    const elf = Buffer.alloc(64);
    elf.set([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1]);
    const folder = tempFolder({ "libopenvino_c.so.1": elf });
    await expectRefusal(openvinoModel("dense"), /cannot be loaded on \w+ \w+: /, {
      openvino_lib: `${folder}/libopenvino_c.so.1`,
    });
  });

  it.runIf(process.platform === "linux")("a library of something else", async () => {
    const { sharedObjects } = process.report.getReport() as { sharedObjects: string[] };
    const mathematics = sharedObjects.find((path) => path.includes("libm.so")) as string;
    await expectRefusal(
      openvinoModel("dense"),
      /lacks functions that are needed: ov_get_openvino_version, .* and \d+ more/,
      {
        openvino_lib: mathematics,
      },
    );
  });

  it.runIf(process.platform === "linux")("a runtime whose files were deleted while it runs", async () => {
    const library = await openvinoRuntime();
    const folder = tempFolder();
    for (const name of readdirSync(dirname(library))) linkOrCopy(join(dirname(library), name), join(folder, name));
    // In a process of its own: this one has OpenVINO loaded from elsewhere.
    const program = fileURLToPath(new URL("delete-runtime.ts", import.meta.url));
    const args = ["--import", "tsx", program, folder, openvinoModel("dense")];
    const printed = execFileSync(process.execPath, args, { encoding: "utf8", timeout: 50_000 });
    expect(printed).toMatch(
      /^answered\nOpenVINO has no device: .* install it again: kserving runtimes install openvino\.\nanswered\n$/i,
    );
  });
});

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to, { recursive: true });
  }
}
