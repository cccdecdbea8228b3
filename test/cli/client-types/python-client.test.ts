import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startAwkwardServer } from "../../protocols/simple-tensorflow-serving/awkward-names.ts";
import { startWeb } from "../../storage/start-web.ts";
import { runCommand } from "../commands/run-command.ts";
import { clientModels } from "./client-models.ts";

/** Writes the client of a server, runs a program beside it, and gives the JSON that it prints. */
async function runProgram(httpUrl: string, program: string, ...args: readonly string[]): Promise<unknown> {
  const folder = tempFolder({
    "program.py": `import inspect, json, sys\nimport numpy as np\nimport models\n${program}`,
  });
  expect((await runCommand(["client", httpUrl, "--out", join(folder, "models.py")])).code).toBe(0);
  const command = ["-W", "error", "program.py", httpUrl, ...args];
  return JSON.parse((await promisify(execFile)(PYTHON, command, { cwd: folder })).stdout);
}

const EVERY = `
client = models.Client(sys.argv[1] + "/", timeout=1e7)
values = {
    "in_bool": [True, False], "in_int8": [-1], "in_int16": [-2], "in_int32": np.array([-3]), "in_int64": [-(2**62)],
    "in_uint8": [255], "in_uint16": [65535], "in_uint32": [2**32 - 1], "in_uint64": [2**63 + 1, 2],
    "in_float16": [0.5], "in_bfloat16": [1 / 3, float("nan")], "in_float32": [1 / 3],
    "in_float64": np.array([1 / 3], ">f8"), "in_bytes": ["hü", b"\\xff\\0"],
}
out = client.every_type(**values)
print(json.dumps({name: f"{getattr(out, name).dtype} {getattr(out, name).tolist()}" for name in values}))
`;

const OTHERS = `
client = models.Client(sys.argv[1], headers={"X-Who": "tests"})
with open(sys.argv[2], "rb") as file:
    pixels = client.Header(photo=file.read(), note=[["a"]])
found = client.any({"x": [[1.5]], "t": ["a"], "i": np.arange(2, dtype="i2")})
print(json.dumps([
    client.half(x=[1, 2.5]).y.tolist(),
    client.infer("half", {"x": np.float32([1])}, version="1")["y"].tolist(),
    [pixels.photo.ndim, pixels.note.item().decode()],
    {name: [str(array.dtype), array.shape] for name, array in found.items()},
    client.small(n=[1.0])["who"].item().decode(),
]))
`;

const ERRORS = `
client = models.Client(sys.argv[1])

def error(call):
    try:
        return call()
    except Exception as reason:
        return f"{type(reason).__name__}: {reason}"

print(json.dumps([
    error(lambda: client.half(z=[1])),
    error(lambda: client.half(x=["1"])),
    error(lambda: client.small(n=[1.5])),
    error(lambda: client.small(n=[300])),
    error(lambda: client.any({"x": [[1], "a"]})),
    error(lambda: client.infer("none", {"x": [1]})),
    error(lambda: client.infer("half", {"x": np.float32([1])}, ["z"])),
    error(lambda: models.Client("http://127.0.0.1:4").half(x=[1])),
    error(lambda: models.Client(sys.argv[2]).half(x=[1])),
]))
`;

const PARTS = `
client = models.Client(sys.argv[1])
counted, failure = [], None
try:
    for part in client.count_stream(to=[2], fails=[True]):
        counted.append(part.value.tolist())
except models.ServerError as error:
    failure = f"ServerError: {error} ({error.code})"
for part in client.count_stream(to=[1000000], fails=[False]):
    break
try:
    next(client.stream("none", {"x": [1]}))
except models.ServerError as error:
    missing = f"ServerError: {error.status}"
def texts(part):
    return [one.hex() if 255 in one else one.decode() for one in part["text"]]
print(json.dumps([
    [part.value.tolist() for part in client.count_stream(to=[3], fails=[False])],
    [texts(part) for part in client.stream("spell", {"x": [1]})],
    [counted, failure],
    missing,
    [part["y"].item() for part in client.stream("half", {"x": np.float32([1])})],
]))
`;

/** Calls every model with a value for each of its inputs. */
const AWKWARD = `
client = models.Client(sys.argv[1])
values = {"count": 1, "text": ["a", "b", "c"], "flag": [True]}
count = 0
for name, method in inspect.getmembers(client, inspect.ismethod):
    if not name.startswith("_") and name not in ("infer", "stream"):
        parameters = inspect.signature(method).parameters
        out = method(**{key: values.get(key, [[1, 2, 3]]) for key in parameters})
        assert all(np.shape(array) for key, array in out.items() if key != "count"), out
        count += 1
print(count)
`;

describe.skipIf(missingPython("The client in Python", "numpy"))("the client in Python", () => {
  it("carries every datatype", async () => {
    const { httpUrl } = await startServer({ models: clientModels() });
    expect(await runProgram(httpUrl, EVERY)).toEqual({
      ...{ in_bool: "bool [True, False]", in_int8: "int8 [-1]", in_int16: "int16 [-2]", in_int32: "int32 [-3]" },
      ...{ in_int64: "int64 [-4611686018427387904]", in_uint8: "uint8 [255]", in_uint16: "uint16 [65535]" },
      ...{
        in_uint32: "uint32 [4294967295]",
        in_uint64: "uint64 [9223372036854775809, 2]",
        in_float16: "float16 [0.5]",
      },
      ...{ in_bfloat16: "float32 [0.333984375, nan]", in_float32: "float32 [0.3333333432674408]" },
      ...{ in_float64: "float64 [0.3333333333333333]", in_bytes: "object [b'h\\xc3\\xbc', b'\\xff\\x00']" },
    });
  });

  it("sends files and headers, and calls models of any inputs", async () => {
    const { httpUrl } = await startServer({ models: clientModels() });
    expect(await runProgram(httpUrl, OTHERS, resolve("examples/photos/page.png"))).toEqual([
      [2.5, 3.25],
      [2.5],
      [4, "a"],
      { x: ["float64", [1, 1]], t: ["object", [1]], i: ["int16", [2]] },
      "tests",
    ]);
  });

  it("says what is wrong with a value, and gives the server's errors", async () => {
    const { httpUrl } = await startServer({ models: clientModels() });
    const other = await startWeb((_, response) => response.end("<html>"));
    expect(await runProgram(httpUrl, ERRORS, other)).toEqual([
      expect.stringMatching(/^TypeError: .*unexpected keyword argument 'z'/),
      'ValueError: input "x" is <U1; expected numbers for FP32',
      'ValueError: input "n" has values that are no INT8',
      'ValueError: input "n" has values that are no INT8',
      expect.stringMatching(/^ValueError: /),
      expect.stringMatching(/^ServerError: 40[04]: .*none/),
      expect.stringMatching(/^ServerError: 400: .*z/),
      expect.stringMatching(/^URLError: .*refused/),
      "ServerError: 200: the answer is not KServe V2's; see whether the address is right",
    ]);
  });

  it("gives the parts of an answer as they come, the error after them, and ends the request where it is left", async () => {
    const log = join(tempFolder({ log: "" }), "log");
    const { httpUrl } = await startServer({ models: clientModels(log) });
    expect(await runProgram(httpUrl, PARTS)).toEqual([
      [[0], [1], [2]],
      [
        ["a", "b"],
        ["hü", "ff00"],
      ],
      [[[0], [1]], "ServerError: 200: The hook process failed: there is no third (internal)"],
      expect.stringMatching(/^ServerError: 40[04]$/),
      [2.5],
    ]);
    await expect.poll(() => readFileSync(log, "utf8")).toBe("left\n");
  });

  it("has a method for each model whatever its name is", async () => {
    const { httpUrl } = await startAwkwardServer();
    expect(await runProgram(httpUrl, AWKWARD)).toBe(14);
  });
});
