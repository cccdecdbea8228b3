import { expect, test } from "vitest";
import { createLogger } from "../../src/observability/logger.ts";
import { checkServerOptions } from "../../src/server/check-server-options.ts";
import { createServer } from "../../src/server/server.ts";

const stages = [{ driver: "null" }];

test.each([
  ["nothing", undefined, "createServer takes an object of options, not undefined; for example createServer({ stages:"],
  [
    "no stages",
    {},
    'Neither stages nor models are given; expected an array with at least one stage, or models by name; for example createServer({ stages: [{ path: "model.onnx" }], http: {} }).',
  ],
  ["one stage for stages", { stages: { path: "a.onnx" } }, 'stages is {"path":"a.onnx"}; expected an array of stages.'],
  [
    "a path for a stage",
    { stages: ["a.onnx"] },
    'stages[0] is a string; expected an object such as { path: "model.onnx" }.',
  ],
  ["stages and models", { stages, models: { m: { driver: "null" } } }, "stages and models are both given; expected"],
  [
    "a kept request's path",
    { stages, keepFatalRequests: "fatal" },
    "keepFatalRequests is a string; expected an object",
  ],
  ["no folder for it", { stages, keepFatalRequests: {} }, "keepFatalRequests.folder is missing; expected the path of"],
  ["an array of models", { models: stages }, "models is an array; expected an object of models by name, such as"],
  [
    "a name beside models",
    { name: "n", models: {} },
    "The option name goes with stages; expected names as keys of models.",
  ],
  [
    "hooks beside models",
    { hooks: {}, models: {} },
    "hooks goes with stages; expected hooks of each model, in models.NAME.",
  ],
  ["a path for a model", { models: { m: "a.onnx" } }, "models.m is a string; expected an object such as"],
  ["a model of nothing", { models: { m: {} } }, "models.m has neither path, driver nor stages; expected one of them."],
  ["a model without a name", { models: { "": { driver: "null" } } }, "A model's name is empty; expected the name that"],
  [
    "a driver and stages",
    { models: { m: { driver: "null", stages } } },
    "models.m has a driver and stages; expected one of them.",
  ],
  [
    "a misspelt member of a model",
    { models: { m: { pth: "a.onnx" } } },
    'There is no option "models.m.pth". Did you mean "path"?',
  ],
  [
    "a version below 0",
    { models: { m: { driver: "null", versions: [-1] } } },
    "models.m.versions is an array; expected",
  ],
  ["no place for requests", { models: { m: { driver: "null", maxQueue: 0 } } }, "models.m.maxQueue is 0; expected an"],
  [
    "a label to no version",
    { models: { m: { driver: "null", labels: { a: "1" } } } },
    'models.m.labels is {"a":"1"}; expected an object of versions',
  ],
  ["a misspelt option", { stages, htp: {} }, 'There is no option "htp". Did you mean "http"?'],
  ["a flag's name", { stages, httpPort: 8080 }, 'There is no option "httpPort".'],
  [
    "a misspelt member of a stage",
    { stages: [{ drver: "null" }] },
    'There is no option "stages[0].drver". Did you mean "driver"?',
  ],
  ["a misspelt member of http", { stages, http: { prt: 1 } }, 'There is no option "http.prt". Did you mean "port"?'],
  [
    "a port as text",
    { stages, port: "9000" },
    "port is a string; expected an integer from 0 to 65535 (0 picks a free one).",
  ],
  ["a port that is none", { stages, http: { port: 70000 } }, "http.port is 70000; expected an integer from 0 to 65535"],
  ["half a worker", { stages, workers: 0.5 }, "workers is 0.5; expected an integer of 0 or more."],
  ["no instances", { stages, instances: 0 }, "instances is 0; expected an integer of 1 or more."],
  [
    "a time below 0",
    { stages, hookTimeoutMs: -1 },
    "hookTimeoutMs is -1; expected a number of milliseconds from 0 to 2147483647.",
  ],
  ["a time above every timer", { stages, drainTimeoutMs: 3e9 }, "drainTimeoutMs is 3000000000; expected a number of"],
  [
    "a choice that is none",
    { stages, allowControl: "some" },
    'allowControl is a string; expected "off", "local", "all".',
  ],
  [
    "a path without /",
    { stages, tensorflowMetricsPath: "m" },
    "tensorflowMetricsPath is a string; expected a path that",
  ],
  ["true for http", { stages, http: true }, "http is a boolean; expected an object, such as {} or { port: 9001 }."],
  [
    "a number for an option",
    { stages, options: { threads: 2 } },
    'options.threads is a number; expected a text, as after -o threads=: "2".',
  ],
  [
    "a number for a stage's option",
    { stages: [{ driver: "null", options: { a: true } }] },
    'stages[0].options.a is a boolean; expected a text, as after -o a=: "true".',
  ],
  [
    "a console's function for a log",
    { stages, log: () => {} },
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
    stages,
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
