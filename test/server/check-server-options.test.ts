import { expect, test } from "vitest";
import { createLogger } from "../../src/observability/logger.ts";
import { checkServerOptions } from "../../src/server/check-server-options.ts";
import { createServer } from "../../src/server/server.ts";

const models = [{ driver: "null" }];

test.each([
  ["nothing", undefined, "createServer takes an object of options, not undefined; for example createServer({ models:"],
  [
    "no models",
    {},
    'The option models is missing: an array with at least one model; for example createServer({ models: [{ path: "model.onnx" }], http: {} }).',
  ],
  ["one model for models", { models: { path: "a.onnx" } }, "models is an object; expected an array of models."],
  [
    "a path for a model",
    { models: ["a.onnx"] },
    'models[0] is a string; expected an object such as { path: "model.onnx" }.',
  ],
  ["a misspelt option", { models, htp: {} }, 'There is no option "htp". Did you mean "http"?'],
  ["a flag's name", { models, httpPort: 8080 }, 'There is no option "httpPort".'],
  [
    "a misspelt member of a model",
    { models: [{ drver: "null" }] },
    'There is no option "models[0].drver". Did you mean "driver"?',
  ],
  ["a misspelt member of http", { models, http: { prt: 1 } }, 'There is no option "http.prt". Did you mean "port"?'],
  [
    "a port as text",
    { models, port: "9000" },
    "port is a string; expected an integer from 0 to 65535 (0 picks a free one).",
  ],
  ["a port that is none", { models, http: { port: 70000 } }, "http.port is 70000; expected an integer from 0 to 65535"],
  ["half a worker", { models, workers: 0.5 }, "workers is 0.5; expected an integer of 0 or more."],
  ["no instances", { models, instances: 0 }, "instances is 0; expected an integer of 1 or more."],
  ["a time below 0", { models, hookTimeoutMs: -1 }, "hookTimeoutMs is -1; expected a number of 0 or more."],
  ["true for http", { models, http: true }, "http is a boolean; expected an object."],
  [
    "a number for an option",
    { models, options: { threads: 2 } },
    'options.threads is a number; expected a text, as after -o threads=: "2".',
  ],
  [
    "a number for a model's option",
    { models: [{ driver: "null", options: { a: true } }] },
    'models[0].options.a is a boolean; expected a text, as after -o a=: "true".',
  ],
  [
    "a console's function for a log",
    { models, log: () => {} },
    'log is a function; expected a logger, such as createLogger({ level: "info" }).',
  ],
])("refuses %s", async (_, options, message) => {
  await expect(createServer(options as never)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(message),
  });
});

test("takes every option, and one that is undefined as left out", () => {
  const log = createLogger();
  const all = {
    models,
    hooks: {},
    options: { a: "b" },
    name: "n",
    host: "::1",
    port: 0,
    http: { port: undefined },
    log,
  };
  expect(() => checkServerOptions({ ...all, threads: undefined, maxQueue: 1, requestTimeoutMs: 0.5 })).not.toThrow();
});
