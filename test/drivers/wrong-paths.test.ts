import { join } from "node:path";
import { expect, test } from "vitest";
import { toErrorText } from "../../src/cli/error-text.ts";
import { DRIVER_NAMES } from "../../src/drivers/registry.ts";
import { createServer } from "../../src/index.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Drivers that take any path: it is a user's class that reads it, or nobody. */
const NEEDS_NO_FILE = ["null", "python"];
const DRIVERS = DRIVER_NAMES.filter((name) => !NEEDS_NO_FILE.includes(name));

test.each(DRIVERS)(
  "%s names the file that is meant by a wrong path to who starts it, and to no client",
  async (driver) => {
    const folder = tempFolder({ "network.onnx": "x" });
    const path = join(folder, "netwrok.onnx");
    const reason = await createServer({ stages: [{ driver, path }], port: 0 }).catch((error) => error);
    const line = toErrorText(reason, { causes: false, excerpt: false });
    expect(line).toContain(`"${path}"`);
    expect(line).toContain("; expected ");
    expect(line).toContain(` Did you mean "${join(folder, "network.onnx")}"?`);
    const status = await statusOf(driver, path);
    expect(status).toContain("; expected ");
    expect(status).not.toContain(folder);
    expect(status).not.toContain("network");
  },
);

/** Drivers whose models are files. */
const FILES = ["sklearn", "xgboost", "lightgbm", "catboost", "statsmodels", "pmml"];

test.each(FILES)(
  "%s says what a folder has in place of its file to who starts it, and to no client",
  async (driver) => {
    const folder = tempFolder({ "network.onnx": "x" });
    const reason = await createServer({ stages: [{ driver, path: folder }], port: 0 }).catch((error) => error);
    const line = toErrorText(reason, { causes: false, excerpt: false });
    expect(line).toMatch(/" is a folder; expected .*\. It holds network\.onnx\.\n$/);
    const status = await statusOf(driver, folder);
    expect(status).toMatch(/" is a folder; expected [^"]*\.$/);
    expect(status).not.toContain("network");
  },
);

test.each(["transformers", "spacy"])("%s says that it takes a folder", async (driver) => {
  const folder = tempFolder({ "network.onnx": "x" });
  const path = join(folder, "network.onnx");
  await expect(createServer({ stages: [{ driver, path }], port: 0 })).rejects.toThrow(
    `"${path}" is a file; expected ${driver === "spacy" ? "the" : "a"} folder`,
  );
});

/** The text that clients are told of a model that does not load, beside one that does. */
async function statusOf(driver: string, path: string): Promise<string> {
  const { httpUrl } = await startServer({ models: { good: { driver: "null" }, lost: { driver, path } } });
  const answer = await fetch(`${httpUrl}/v1/models/lost`);
  const {
    model_version_status: [version],
  } = (await answer.json()) as {
    model_version_status: { status: { error_message: string } }[];
  };
  return version?.status.error_message ?? "";
}
