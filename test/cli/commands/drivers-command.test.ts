import { expect, test } from "vitest";
import { DRIVER_NAMES, findDriver } from "../../../src/drivers/registry.ts";
import { HOST_OPTIONS } from "../../../src/models/host-options.ts";
import { writeTestFile } from "../start-kserving.ts";
import { runCommand } from "./run-command.ts";

test("drivers lists every driver with the endings of its models", async () => {
  const { code, stdout } = await runCommand(["drivers"]);
  expect(code).toBe(0);
  for (const name of DRIVER_NAMES) expect(stdout).toMatch(new RegExp(`^${name} `, "m"));
  expect(stdout).toMatch(/^onnx +\.onnx, \.ort +\d+$/m);
  expect(stdout).toMatch(/^tensorflow +\.pb, \.tflite, .*model\.json/m);
});

test.each(DRIVER_NAMES)("drivers %s has each of its options, and those of every driver", async (name) => {
  const { stdout } = await runCommand(["drivers", name, "--json"]);
  const { options, hostOptions } = JSON.parse(stdout);
  const named = (list: readonly { name: string }[]) => list.map((option) => option.name.replace(".KEY", ""));
  expect(named(options)).toEqual(Object.keys((await findDriver(name)).driver.options));
  expect(named(hostOptions)).toEqual(Object.keys(HOST_OPTIONS));
});

test("drivers shows the values, defaults and meaning of options", async () => {
  const { stdout } = await runCommand(["drivers", "onnx"]);
  expect(stdout).toMatch(/^ {2}execution_mode +choice +sequential +sequential, parallel\. Whether/m);
  expect(stdout).toMatch(/^ {2}session\.KEY +text +- /m);
  expect(stdout).toContain("Options of every driver:");
  expect((await runCommand(["drivers", "null"])).stdout).toMatch(/^The driver null has no options of its own\./);
});

test("drivers shows a user's own driver", async () => {
  const text = `export default { name: "mine", options: { digits: { type: "integer", min: 0, default: 6, help: "Places." } }, load() {} };`;
  const path = await writeTestFile("mine.mjs", text);
  expect((await runCommand(["drivers", path])).stdout).toMatch(/digits +integer, 0 or more +6 +Places\./);
});

test.each([
  [["drivers", "onx"], 'There is no driver "onx". Did you mean "onnx"?'],
  [["drivers", "onnx", "null"], "too many arguments"],
  [["drivers", "--all"], "unknown option '--all'; kserving drivers --help lists its arguments."],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await runCommand(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
