import { expect, test } from "vitest";
import { type ErrorCode, ServingError } from "../../../src/errors.ts";
import { servedName } from "../../../src/protocols/ollama/ollama-models.ts";
import type { InferenceService } from "../../../src/serving/inference-service.ts";

const call = { id: "1", metadata: {}, signal: new AbortController().signal };

test.each<[ErrorCode | undefined, string]>([
  [undefined, "talk:latest"],
  ["not_found", "talk"],
  ["permission_denied", "talk"],
])("a server behind this one is asked for the whole name alone; after %s it is %s", async (code, name) => {
  const asked: (string | undefined)[] = [];
  const withModels = async (_: unknown, model?: string) => {
    asked.push(model);
    if (code !== undefined) throw new ServingError(code, "no");
    return {} as InferenceService;
  };
  const service = { withModels } as unknown as InferenceService;
  expect(await servedName("talk:latest", service, call)).toBe(name);
  expect(asked).toEqual(["talk:latest"]);
});

test("a server that is away is no reason for another name", async () => {
  const withModels = async () => {
    throw new ServingError("unavailable", "away");
  };
  const service = { withModels } as unknown as InferenceService;
  await expect(servedName("talk:latest", service, call)).rejects.toMatchObject({ code: "unavailable" });
});
