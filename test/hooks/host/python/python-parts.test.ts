import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/client/node.ts";
import { ServingError } from "../../../../src/errors.ts";
import type { Hooks } from "../../../../src/hooks/hooks.ts";
import { createDeferred } from "../../../../src/platform/async/promises.ts";
import type { Servable } from "../../../../src/serving/servable.ts";
import { IMPORT_PATH } from "../../../drivers/python/load-model.ts";
import { readExample } from "../../../examples/example-command.ts";
import { CollectedParts, runParts } from "../../../helpers/collect-parts.ts";
import { nullModels } from "../../../helpers/run-pipeline.ts";
import { ask, fileExists, type HookThreadsOptions, startHookThreads } from "../../../helpers/start-hook-threads.ts";
import { startServer } from "../../../helpers/start-server.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { answersInParts } from "../parts-contract.ts";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

const KINDS = [
  ["a generator", "def"],
  ["an asynchronous generator", "async def"],
] as const;

/** A module that marks with files what happens, and counts the generators that are under way. */
const marks = (folder: string) => `
import asyncio, functools, os, time
import numpy as np

OPEN = []

def mark(name, text=""):
    path = os.path.join(${JSON.stringify(folder)}, name)
    with open(path + ".new", "w") as file:
        file.write(str(text))
    os.replace(path + ".new", path)
`;

/** Hooks whose process yields numbers from 1 on, as far as `x` says. */
const counting = (folder: string, def: string, body = "") => `${marks(folder)}
${def} process(inputs, ctx):
    last, number = int(inputs["x"]), 0
    OPEN.append(last)
    try:
        while number < last:
            number += 1
            mark("asked", number)
            ${body}
            yield {"number": number, "open": len(OPEN)}
    finally:
        OPEN.remove(last)
        mark("left", number)
`;

const PYTHON_FILE = { name: "hooks.py", options: { python: python as string } };

function start(source: string, options: HookThreadsOptions = {}): Promise<Servable> {
  return startHookThreads(source, { ...options, ...PYTHON_FILE });
}

function textOf(path: string): string {
  return readFileSync(path, "utf8");
}

async function collect(servable: Servable, x = 0): Promise<{ parts: unknown[]; end: unknown }> {
  const sink = new CollectedParts();
  const end = await runParts(servable, { x }, sink).catch((reason) => reason);
  return { parts: sink.parts, end };
}

describe.skipIf(python === undefined).each(KINDS)("%s in Python", (_, def) => {
  answersInParts({
    counting: (folder, isBroken) =>
      counting(folder, def, isBroken ? 'if number == 4: raise ValueError("no paper")' : ""),
    heading: `
${def} process(inputs, ctx):
    ctx.send_initial_metadata([("x-kind", "count")])
    for number in range(inputs["x"]):
        yield {"number": number + 1}
`,
    patient: `
import asyncio

${def} process(inputs, ctx):
    for number in range(50):
        ${def === "def" ? "pass" : "await asyncio.sleep(0)"}
        yield {"x": inputs["x"], "number": number}
`,
    plain: "def process(inputs, ctx):\n    return {'number': 7}",
    start: PYTHON_FILE,
  });

  test("has its parts go through the stages behind it, which share ctx, and ctx.part has the number", async () => {
    const servable = await start(
      `
SEEN = []

def note(name):
    def hook(values, ctx):
        SEEN.append(f"{name} {ctx.part} {getattr(ctx, 'word', None)}")
        return values
    return hook

${def} parts(outputs, ctx):
    SEEN.append(f"first {ctx.part}")
    ctx.word = "one"
    yield {"y": 1}
    SEEN.append(f"second {ctx.part}")
    ctx.word = "two"
    yield {"y": 2}
    yield {"y": SEEN}

preprocess = [note("pre1"), note("pre2")]
postprocess = [parts, note("post2")]
`,
      { stages: nullModels(2) },
    );
    const { parts } = await collect(servable);
    expect(parts).toEqual([
      { y: 1 },
      { y: 2 },
      {
        y: ["pre1 None None", "first None", "pre2 1 one", "post2 1 one", "second 1", "pre2 2 two", "post2 2 two"],
      },
    ]);
  });

  test("carries large arrays, each whole", async () => {
    const servable = await start(`
import numpy as np

${def} process(inputs, ctx):
    array = np.zeros(100_000, np.float32)
    for number in range(6):
        array[-1] = number
        yield {"x": array}
`);
    const { parts } = await collect(servable);
    expect(parts.map((part) => (part as { x: number[] }).x.at(-1))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("is left within one part when its client leaves, and nothing of it stays", async () => {
    const folder = tempFolder({});
    const servable = await start(counting(folder, def));
    const abort = new AbortController();
    const sink = new CollectedParts((count) => (count === 3 ? new Promise(() => {}) : undefined));
    const end = runParts(servable, { x: 1e9 }, sink, { signal: abort.signal });
    end.catch(() => {});
    await expect.poll(() => sink.parts.length).toBe(3);
    await expect.poll(() => Number(textOf(`${folder}/asked`))).toBeGreaterThan(15);
    const asked = Number(textOf(`${folder}/asked`));
    abort.abort();
    await expect(end).rejects.toMatchObject({ code: "cancelled" });
    await fileExists(`${folder}/left`);
    expect(Number(textOf(`${folder}/left`))).toBeLessThanOrEqual(asked + 1);
    expect((await collect(servable, 1)).parts).toEqual([{ number: 1, open: 1 }]);
  });

  test("that fails in any way fails its request alone", async () => {
    const failures = [
      ["yield None", "internal", "its part 1 is None; expected a dict of values by name"],
      ["yield [1]", "internal", "its part 1 is a list; expected"],
      ['yield {"x": object()}', "internal", "x is a object; expected arrays"],
      ['ctx.abort("NOT_FOUND", "no such face")', "not_found", "no such face"],
      ['ctx.set_code(5); ctx.set_details("no such face")', "not_found", "no such face"],
      ["import sys; sys.exit(1)", "internal", "it called sys.exit()"],
    ].map(([body, code, text], index) => ({ body, code, text, last: index + 2 }));
    const lines = failures.map(({ body, last }) => `if last == ${last}: ${body}`);
    const servable = await start(counting(tempFolder({}), def, lines.join(`\n${" ".repeat(12)}`)));
    for (const { body, code, text, last } of failures) {
      const { end } = await collect(servable, last);
      expect(end, body).toMatchObject({ code, message: expect.stringContaining(text as string) });
      expect((await collect(servable, 1)).parts, body).toEqual([{ number: 1, open: 1 }]);
    }
  });

  test("whose process ends in mid-stream loses its answer as unavailable, and the next request is answered", async () => {
    const servable = await start(counting(tempFolder({}), def, "if number == 3: os._exit(3)"));
    const { parts, end } = await collect(servable, 9);
    expect(end).toMatchObject({ code: "unavailable" });
    expect(parts.length).toBeLessThanOrEqual(2);
    expect((await collect(servable, 1)).parts).toEqual([{ number: 1, open: 1 }]);
  });

  test("that computes for too long loses its process", async () => {
    const servable = await start(counting(tempFolder({}), def, "if number == 3: time.sleep(60)"), {
      hookTimeoutMs: 300,
    });
    const { end } = await collect(servable, 9);
    expect(end).toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringContaining("The hook process has not given part 3 within 300 ms"),
    });
    await expect.poll(async () => (await collect(servable, 1)).parts).toEqual([{ number: 1, open: 1 }]);
  });

  test("is one of many whose clients leave at any part, after which none is open", async () => {
    const servable = await start(counting(tempFolder({}), def));
    const ends = Array.from({ length: 60 }, async (_, index) => {
      const abort = new AbortController();
      const sink = new CollectedParts((count) => {
        if (count === index) abort.abort();
      });
      const { code } = await runParts(servable, { x: 30 }, sink, { signal: abort.signal }).then(
        () => ({ code: "ended" }),
        (reason) => reason,
      );
      expect(code).toBe(index > 0 && index <= 30 ? "cancelled" : "ended");
    });
    await Promise.all(ends);
    await expect.poll(async () => (await collect(servable, 1)).parts).toEqual([{ number: 1, open: 1 }]);
  });

  test("runs its finally when its hooks are closed, before close_hook", async () => {
    const folder = tempFolder({});
    const servable = await start(`${counting(folder, def)}
def close_hook(global_ctx):
    mark("closed", len(OPEN))
`);
    const sink = new CollectedParts();
    const end = runParts(servable, { x: 1e9 }, sink);
    end.catch(() => {});
    await expect.poll(() => sink.parts.length).toBeGreaterThan(2);
    await servable.close();
    await expect(end).rejects.toMatchObject({ code: "unavailable" });
    expect(textOf(`${folder}/closed`)).toBe("0");
  });

  test("may call the models, and see if its client is there", async () => {
    const folder = tempFolder({});
    const servable = await start(`${marks(folder)}
${def} process(inputs, ctx):
    try:
        for number in range(3):
            yield ctx.drivers[0].predict({"number": np.int32(number)})
    finally:
        mark("left", ctx.is_active())
`);
    expect((await collect(servable)).parts).toEqual([{ number: 0 }, { number: 1 }, { number: 2 }]);
    expect(textOf(`${folder}/left`)).toBe("True");
  });

  test("gives the only part where one answer is taken, or what collect makes of all", async () => {
    const source = counting(tempFolder({}), def);
    const servable = await start(source);
    expect(await ask(servable, { x: 1 })).toEqual({ number: 1, open: 1 });
    await expect(ask(servable, { x: 2 })).rejects.toMatchObject({ code: "unimplemented" });
    const collecting = await start(`${source}
def collect(parts, ctx):
    return {"numbers": [int(part["number"]) for part in parts], "model": ctx.request["model"]}
`);
    expect(await ask(collecting, { x: 3 })).toEqual({ numbers: [1, 2, 3], model: "default" });
    expect(await ask(collecting, { x: 1 })).toEqual({ numbers: [1], model: "default" });
  });
});

describe.skipIf(python === undefined)("a Python hook that yields", () => {
  test("may be a method, a partial, or an object that is called", async () => {
    const servable = await start(
      `
import functools

class Hooks:
    def first(self, outputs, ctx):
        yield {"y": 1}
        yield {"y": 2}

    def __call__(self, outputs, ctx):
        yield {"y": outputs["y"] * 10}
        yield {"y": outputs["y"] * 10 + 1}

def last(added, outputs):
    yield {"y": outputs["y"] + added}

postprocess = [Hooks().first, Hooks(), functools.partial(last, 100)]
`,
      { stages: nullModels(3) },
    );
    expect((await collect(servable)).parts).toEqual([110n, 111n, 120n, 121n].map((y) => ({ y })));
  });

  test("that returns a value at its end is told to yield it", async () => {
    const servable = await start(`
def process(inputs, ctx):
    yield {"y": 1}
    return {"y": 2}
`);
    const { parts, end } = await collect(servable);
    expect(parts).toEqual([{ y: 1 }]);
    expect(end).toMatchObject({ message: expect.stringContaining("it returned a dict at its end; the parts") });
  });

  test("reads the parts of a model, and leaves them where it is left", async () => {
    const options = { python: python as string, model_class: "toy.parts:Counting", import_path: IMPORT_PATH };
    const servable = await start(
      `
import numpy as np

def process(inputs, ctx):
    for part in ctx.drivers[0].stream({"last": np.int64(1_000_000_000)}):
        yield {"number": part["number"], "open": part["open"]}
        if part["number"] == inputs["x"]:
            break

def collect(parts, ctx):
    return {"open": [int(part["open"]) for part in ctx.driver.stream({"last": np.int64(2)})], "parts": len(parts)}
`,
      { stages: [{ driver: "python", options }] },
    );
    for (const x of [3, 1]) {
      const numbers = Array.from({ length: x }, (_, index) => ({ number: index + 1, open: 1 }));
      expect((await collect(servable, x)).parts).toEqual(numbers);
    }
    expect(await ask(servable, { x: 2 })).toEqual({ open: [1, 1], parts: 2 });
  });

  test("leaves them also where the garbage collector does, while the process writes", async () => {
    const options = { python: python as string, model_class: "toy.parts:Counting", import_path: IMPORT_PATH };
    const servable = await start(
      `
import gc, sys
import numpy as np

def process(inputs, ctx):
    parts = ctx.driver.stream({"last": np.int64(1_000_000_000)})
    next(parts)
    circle = [parts]
    circle.append(circle)
    del parts, circle
    # The worst moment: a frame is about to be written.
    collect = lambda frame, event, _: gc.collect() if event == "call" and frame.f_code.co_name == "write" else None
    gc.disable()
    sys.setprofile(collect)
    try:
        ctx.is_active()
    finally:
        sys.setprofile(None)
        gc.enable()
    [last] = ctx.driver.stream({"last": np.int64(1)})
    return last
`,
      { stages: [{ driver: "python", options }] },
    );
    expect(await ask(servable, { x: 1 })).toMatchObject({ number: 1, open: 1 });
  });

  test("is the example in its first lines", async () => {
    const { options, requests } = await readExample("letters", "py");
    const server = await startServer({ ...options, options: { python: python as string } });
    expect(requests).toEqual(["curl http://localhost:9001/predict -F 'string_text=Hello'"]);
    const body = new FormData();
    body.set("string_text", "Hello");
    const response = await fetch(`${server.httpUrl}/predict`, { method: "POST", body });
    expect(await response.text()).toContain("Hello");
  });

  test("is called for each part of a model, with the same ctx", async () => {
    const options = { python: python as string, model_class: "toy.parts:Counting", import_path: IMPORT_PATH };
    const servable = await start(
      `
import numpy as np

def preprocess(inputs, ctx):
    ctx.sum = 0
    return {"last": np.int64(inputs["x"])}

def postprocess(outputs, ctx):
    ctx.sum += int(outputs["number"])
    return {"sum": ctx.sum, "part": ctx.part}

def collect(parts, ctx):
    return {"sum": parts[-1]["sum"], "own": ctx.sum}
`,
      { stages: [{ driver: "python", options }] },
    );
    expect((await collect(servable, 3)).parts).toEqual([
      { sum: 1, part: 1 },
      { sum: 3, part: 2 },
      { sum: 6, part: 3 },
    ]);
    expect(await ask(servable, { x: 4 })).toEqual({ sum: 10, own: 10 });
  });

  test("behind a decorator that hides it is not known to, and its error says so", async () => {
    const servable = await start(`
def logged(hook):
    return lambda inputs, ctx: hook(inputs, ctx)

@logged
def process(inputs, ctx):
    yield {"y": 1}
`);
    expect(servable.description.decoupled).toBeUndefined();
    await expect(ask(servable, { x: 1 })).rejects.toMatchObject({
      message: expect.stringContaining("it returned a generator (that a hook answers in parts is known if"),
    });
  });

  test.each([
    ["def preprocess(inputs, ctx):\n    yield inputs", "preprocess is a generator; expected a function that returns"],
    ["async def preprocess(inputs, ctx):\n    yield inputs", "preprocess is a generator; expected"],
    ["collect = 3\ndef process(inputs, ctx):\n    yield inputs", "collect is a int; expected a function"],
    [
      "def collect(parts, ctx):\n    yield 1\ndef process(inputs, ctx):\n    yield inputs",
      "collect is a generator; expected a function",
    ],
  ])("is refused before anything is served: %s", async (source, text) => {
    await expect(start(source)).rejects.toMatchObject({ message: expect.stringContaining(text) });
  });

  test("may have something else under the name collect where nothing is yielded", async () => {
    const servable = await start("collect = 3\ndef process(inputs, ctx):\n    return inputs");
    expect(await ask(servable, { x: 1 })).toEqual({ x: 1 });
  });
});

describe.skipIf(python === undefined)("an asynchronous generator in Python", () => {
  const waiting = (folder: string) =>
    counting(folder, "async def", "if last > 9 and number == 3: await asyncio.get_running_loop().create_future()");

  test("that awaits is cancelled when its client leaves", async () => {
    const folder = tempFolder({});
    const servable = await start(waiting(folder));
    const abort = new AbortController();
    const sink = new CollectedParts();
    const end = runParts(servable, { x: 10 }, sink, { signal: abort.signal });
    end.catch(() => {});
    await expect.poll(() => textOf(`${folder}/asked`)).toBe("3");
    abort.abort();
    await expect(end).rejects.toMatchObject({ code: "cancelled" });
    await fileExists(`${folder}/left`);
    expect((await collect(servable, 1)).parts).toEqual([{ number: 1, open: 1 }]);
  });

  test("that awaits for too long fails its request alone: its process stays, and others in it go on", async () => {
    const folder = tempFolder({});
    const servable = await start(
      `${waiting(folder)}
PID = os.getpid()
def collect(parts, ctx):
    return {"pid": PID}
`,
      { hookTimeoutMs: 300 },
    );
    const before = await ask(servable, { x: 1 });
    const room = createDeferred<void>();
    const sink = new CollectedParts(() => room.promise);
    const other = runParts(servable, { x: 9 }, sink);
    const { end } = await collect(servable, 10);
    expect(end).toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringContaining("The hook process has not given part 3 within 300 ms"),
    });
    room.resolve();
    expect((await other).parts).toBe(9);
    expect(await ask(servable, { x: 1 })).toEqual(before);
  });

  test("awaits beside others, and beside hooks that compute", async () => {
    const servable = await start(`
import asyncio

STARTED = []

async def postprocess(outputs, ctx):
    STARTED.append(1)
    # All are under way at the same time.
    while len(STARTED) < 8:
        await asyncio.sleep(0.001)
    yield {"y": 1}
`);
    const ends = await Promise.all(Array.from({ length: 8 }, () => collect(servable)));
    expect(ends.map(({ parts }) => parts)).toEqual(Array.from({ length: 8 }, () => [{ y: 1 }]));
  });

  test("reads the parts of a model in another thread, beside others", async () => {
    const options = { python: python as string, model_class: "toy.parts:Counting", import_path: IMPORT_PATH };
    const servable = await start(
      `
import asyncio
import numpy as np

async def process(inputs, ctx):
    parts = ctx.driver.stream({"last": np.int64(inputs["x"])})
    while (part := await asyncio.to_thread(next, parts, None)) is not None:
        yield {"number": part["number"]}
`,
      { stages: [{ driver: "python", options }] },
    );
    const numbers = (last: number) => Array.from({ length: last }, (_, index) => ({ number: index + 1 }));
    const ends = await Promise.all([3, 5].map((last) => collect(servable, last)));
    expect(ends.map(({ parts }) => parts)).toEqual([numbers(3), numbers(5)]);
  });

  test("is one task from its first part to its last", async () => {
    const servable = await start(`
import asyncio, contextvars

NAME = contextvars.ContextVar("name")

async def process(inputs, ctx):
    task = asyncio.current_task()
    NAME.set("own")
    for _ in range(3):
        yield {"same": asyncio.current_task() is task, "name": NAME.get()}
`);
    expect((await collect(servable)).parts).toEqual([1, 2, 3].map(() => ({ same: true, name: "own" })));
  });
});

describe.skipIf(python === undefined)("ctx.remote(…).stream in Python hooks", () => {
  /** A server that counts up to 4, if it is let, and another one whose Python hooks read that. */
  async function open(body: string) {
    const seen = { begun: 0, ended: 0 };
    const hooks: Hooks = {
      inputs: [{ name: "to", dtype: "int32", shape: [1] }],
      async *process({ to }) {
        seen.begun++;
        try {
          for (let value = 0; value < Number(to?.data[0]); value++) {
            if (value === 5) throw new ServingError("not_found", "there is no five");
            yield { value: Int32Array.of(value) };
            await new Promise(setImmediate);
          }
        } finally {
          seen.ended++;
        }
      },
    };
    const other = await startServer({ models: { count: { driver: "null", hooks }, none: { driver: "null" } } });
    const source = `
ADDRESS = ${JSON.stringify(other.grpcAddress)}

def process(inputs, ctx):
${body.replace(/^/gm, "    ")}
`;
    const { server } = await servePythonHooks(source);
    const models = connect(`grpc://${server.grpcAddress}`);
    onTestFinished(() => models.$close());
    const ask = async (to: number) => {
      const parts: unknown[] = [];
      for await (const part of models.default!.stream({ to: Int32Array.of(to) })) {
        const entries = Object.entries(part).map(([name, { data }]) => [name, `${data[0]}`] as const);
        parts.push(Object.fromEntries(entries));
      }
      return parts;
    };
    return { ask, seen, other };
  }

  test("gives its parts as they come, one of a model that answers once, and its errors with their codes", async () => {
    const { ask, seen } = await open(`
try:
    for part in ctx.remote(ADDRESS).stream({"to": inputs["to"]}, model="count"):
        yield {"value": part["value"] * 2}
    for part in ctx.remote(ADDRESS).stream({"one": inputs["to"]}, model="none", outputs=["one"]):
        yield part
except Exception as error:
    yield {"code": error.code, "text": str(error)}
`);
    expect(await ask(2)).toEqual([{ value: "0" }, { value: "2" }, { one: "2" }]);
    const failed = await ask(9);
    expect(failed.slice(0, -1)).toEqual([0, 2, 4, 6, 8].map((value) => ({ value: `${value}` })));
    expect(failed.at(-1)).toMatchObject({ code: expect.any(String) });
    const { code, text } = failed.at(-1) as { readonly code: string; readonly text: string };
    expect([toText(code), toText(text)]).toEqual(["not_found", expect.stringContaining("there is no five")]);
    expect(seen.ended).toBe(2);
  });

  test("ends what makes them when its loop is left, and with a request that has not read them all", async () => {
    const left = await open(`
for part in ctx.remote(ADDRESS).stream(inputs, model="count"):
    yield part
    break
`);
    expect(await left.ask(4)).toEqual([{ value: "0" }]);
    await expect.poll(() => left.seen).toEqual({ begun: 1, ended: 1 });
    const unread = await open(`
ctx.parts = ctx.remote(ADDRESS).stream(inputs, model="count")
yield next(ctx.parts)
`);
    expect(await unread.ask(4)).toEqual([{ value: "0" }]);
    await expect.poll(() => unread.seen).toEqual({ begun: 1, ended: 1 });
    await expect.poll(() => unread.other.inFlight()).toEqual([]);
  });
});

/** Of bytes that were joined by commas. */
function toText(bytes: string): string {
  return Buffer.from(bytes.split(",").map(Number)).toString();
}
