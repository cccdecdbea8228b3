import { onTestFinished } from "vitest";
import type { DriverHost, Model } from "../../../src/drivers/driver.ts";
import driver from "../../../src/drivers/onnx/onnx.ts";
import type { OnnxOptions } from "../../../src/drivers/onnx/session-options.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";

/** The path of a file of test/fixtures/models. */
export function modelPath(name: string): string {
  return `test/fixtures/models/${name}`;
}

/** Loads a file of test/fixtures/models, or a path with a slash; the caller closes it. */
export async function openOnnx(
  name: string,
  options: RawOptions = {},
  host: Pick<DriverHost, "copies" | "poolCalls"> = {},
): Promise<Model> {
  const path = name.includes("/") ? name : modelPath(name);
  return driver.load(path, parseOptions<OnnxOptions>(driver.options, options), {
    log: createSilentLogger(),
    threads: 1,
    ...host,
  });
}

/** The same, until the test ends. */
export async function loadOnnx(name: string, options: RawOptions = {}): Promise<Model> {
  const model = await openOnnx(name, options);
  onTestFinished(() => model.close());
  return model;
}
