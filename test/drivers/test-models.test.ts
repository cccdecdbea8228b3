import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TEST_MODELS_FOLDER, testModelFiles } from "../fixtures/make/test-models.ts";

const files = Object.entries(testModelFiles());

describe("the models in test/fixtures/models", () => {
  it.each(files)("%s is what test/fixtures/make/test-models.ts writes", (name, bytes) => {
    expect(readFileSync(`${TEST_MODELS_FOLDER}${name}`).equals(bytes)).toBe(true);
  });

  it("are all written by that script", () => {
    expect(readdirSync(TEST_MODELS_FOLDER).sort()).toEqual(files.map(([name]) => name).sort());
  });

  it("are small", () => {
    expect(Math.max(...files.map(([, bytes]) => bytes.length))).toBeLessThan(20_000);
  });
});
