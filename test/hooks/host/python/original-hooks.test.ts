import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createEventLog } from "../../../helpers/event-log.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

const X = { x: ["FP32", [2], [1, 2.5]] } as const;
const TWO = [{ driver: "null" }, { driver: "null" }];

/** The forms of the original's hook files: loggers, decorators, lists with None, its helpers. */
describe.skipIf(python === undefined)("hook files of the original program", () => {
  it("log by the module logging, and call decorated functions with their inputs alone", async () => {
    const source = `
import logging
LOG = logging.getLogger(__name__)
logging.basicConfig(level=logging.DEBUG)
def log(func):
    def decorator(*args):
        LOG.info("Running %s...", func.__name__)
        return func(*args)
    return decorator
def init_hook(**params):
    LOG.warning("no labels")
@log
def preprocess1(inputs):
    return inputs
@log
def postprocess2(outputs):
    return outputs
preprocess = [preprocess1, None]
postprocess = [None, postprocess2]`;
    const { log, events } = createEventLog();
    const { ask } = await servePythonHooks(source, { stages: TWO, log });
    expect((await ask(X)).outputs).toEqual({ x: [1, 2.5] });
    const logged = events.filter(({ from }) => from === "hooks").map(({ level, msg }) => [level, msg]);
    expect(logged).toEqual([
      ["warn", "no labels"],
      ["info", "Running preprocess1..."],
      ["info", "Running postprocess2..."],
    ]);
  });

  it("skip a model by a member of their inputs", async () => {
    const source = `
def preprocess2(inputs, ctx):
    ctx.skip = len(inputs["x"]) == 0
    if ctx.skip:
        inputs["ml-serving-ignore"] = True
    return inputs
def postprocess2(outputs, ctx):
    return {} if ctx.skip else outputs
preprocess = [None, preprocess2]
postprocess = [None, postprocess2]`;
    const { ask } = await servePythonHooks(source, { stages: TWO });
    expect(await ask({ x: ["FP32", [0], []] })).toMatchObject({ status: 200, outputs: {} });
    expect((await ask(X)).outputs).toEqual({ x: [1, 2.5] });
  });

  it("use its helpers, and load models by its drivers", async () => {
    const source = `
from ml_serving.drivers import driver
from ml_serving.utils import helpers
from ml_serving.utils.helpers import get_param, boolean_string
MODEL = None
def init_hook(ctx, **params):
    global MODEL
    drv: driver.ServingDriver = driver.load_driver("DRIVER")()
    MODEL = drv.load_model("any")
def process(inputs, ctx, **kwargs):
    image, is_video = helpers.load_image(inputs, "frame")
    return {
        "level": get_param(inputs, "level", 1), "absent": get_param(inputs, "absent", 7), "video": is_video,
        "text": get_param(inputs, "text"), "on": boolean_string("True"), "size": list(image.shape),
        "y": MODEL.predict({"x": [[1.0, 2.0]]})["y"],
    }`;
    const beside = tempFolder({ "twice.ts": TWICE });
    const { ask } = await servePythonHooks(source.replace("DRIVER", join(beside, "twice.ts")));
    const answer = await ask({
      level: ["FP32", [1], [0.5]],
      text: ["BYTES", [1], ["einhorn"]],
      frame: ["UINT8", [1, 2, 3], [1, 2, 3, 4, 5, 6]],
    });
    expect(answer.outputs).toEqual({
      ...{ level: [0.5], absent: [7], video: [true], text: ["einhorn"], on: [true], size: [1, 2, 3], y: [2, 4] },
    });
  });
});

const TWICE = `
  import { defineDriver } from "kserving";
  export default defineDriver({
    name: "twice", options: {}, pathless: true,
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "float64", shape: [-1, 2] }] } },
      predict: async ({ x }) => ({ y: { ...x, data: x.data.map((each) => 2 * each) } }),
      close: async () => {},
    }),
  });`;
