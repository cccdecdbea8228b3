import { describe, expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { IMPORT_PATH } from "./load-model.ts";

const python = warmNumpy("A model that tells the name of its input alone");

async function start(hooks?: object) {
  const options = { python: python ?? "", model_class: "toy.models:Named", import_path: IMPORT_PATH };
  const { httpUrl } = await startServer({ stages: [{ driver: "python", path: "" }], options, ...(hooks && { hooks }) });
  return async (body: object) => {
    const answer = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: JSON.stringify(body) });
    return answer.json();
  };
}

describe.skipIf(python === undefined)("the only input of a model without dtypes", () => {
  it("gets a row or a value without a name", async () => {
    const predict = await start();
    expect(await predict({ instances: [1.5, 2] })).toEqual({ predictions: [3, 4] });
    expect(await predict({ instances: [{ x: 1.5 }] })).toEqual({ predictions: [3] });
    expect(await predict({ inputs: [1.5, 2] })).toEqual({ outputs: [3, 4] });
    expect(await predict({ inputs: { x: [1.5] } })).toEqual({ outputs: [3] });
  });

  it("is still asked for by its name where another one comes", async () => {
    const predict = await start();
    const error = expect.stringContaining('The model has no input "y". It has x.');
    expect(await predict({ inputs: { y: [1.5] } })).toMatchObject({ error });
  });

  it("is unknown behind a hook that stands before it", async () => {
    const predict = await start({ preprocess: ({ inputs: x }: Record<string, unknown>) => ({ x }) });
    expect(await predict({ instances: [1.5, 2] })).toEqual({ predictions: [3, 4] });
  });
});
