import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { findLibraries, findLibrary, lookedIn, missingRuntime } from "../../../src/storage/runtimes/find-library.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { toy } from "./toy-runtime.ts";

const BOTH = { "libtoy.so": "", "libtoy_core.so": "" };
const below = (folder: string) =>
  Object.fromEntries(Object.entries(BOTH).map(([name, text]) => [join(folder, name), text]));

beforeEach(() => {
  for (const name of ["KSERVING_TOY_LIB", "TOY_LIB", "VIRTUAL_ENV", "CONDA_PREFIX"]) vi.stubEnv(name, undefined);
  vi.stubEnv("KSERVING_RUNTIMES_DIR", "/nowhere");
});
afterEach(() => vi.unstubAllEnvs());

describe("a runtime's library", () => {
  it("is where the option says: a file of whatever name, or a folder with all of its libraries", () => {
    const folder = tempFolder({ ...BOTH, "renamed.bin": "" });
    expect(findLibrary(toy, folder)).toEqual({ path: join(folder, "libtoy.so"), source: "-o toy_lib" });
    expect(findLibrary(toy, join(folder, "renamed.bin"))?.path).toBe(join(folder, "renamed.bin"));
  });

  it("is where an environment variable says, the product's own first", () => {
    const [own, common] = [tempFolder(BOTH), tempFolder(BOTH)];
    vi.stubEnv("TOY_LIB", common);
    expect(findLibrary(toy)).toEqual({ path: join(common, "libtoy.so"), source: "TOY_LIB" });
    vi.stubEnv("KSERVING_TOY_LIB", own);
    expect(findLibrary(toy)?.path).toBe(join(own, "libtoy.so"));
  });

  it("lies as installations have it", () => {
    const folder = tempFolder(below("lib/python3.12/site-packages/toy"));
    vi.stubEnv("VIRTUAL_ENV", folder);
    const path = join(folder, "lib/python3.12/site-packages/toy/libtoy.so");
    expect(findLibrary(toy)).toEqual({ path, source: "VIRTUAL_ENV" });
  });

  it("is the one in the runtimes folder rather than that of a Python environment; each is listed once", () => {
    const root = tempFolder({ ...below("toy/1.0"), "toy/1.0/runtime.json": '{"source":"x","files":{}}' });
    vi.stubEnv("KSERVING_RUNTIMES_DIR", root);
    vi.stubEnv("VIRTUAL_ENV", join(root, "toy/1.0"));
    vi.stubEnv("CONDA_PREFIX", tempFolder(BOTH));
    const found = [...findLibraries(toy)].map(({ source }) => source);
    expect(found).toEqual(["the runtimes folder", "CONDA_PREFIX"]);
  });

  it("is not found when a library that it needs is missing next to it", () => {
    vi.stubEnv("VIRTUAL_ENV", tempFolder({ "libtoy.so": "" }));
    expect(findLibrary(toy)).toBeUndefined();
  });

  it.each([["-o toy_lib"], ["KSERVING_TOY_LIB"], ["TOY_LIB"]])("has to be where %s says", (who) => {
    const option = who.startsWith("-o") ? "/nowhere/at/all" : undefined;
    if (option === undefined) vi.stubEnv(who, "/nowhere/at/all");
    expect(() => findLibrary(toy, option)).toThrow(
      expect.objectContaining({
        code: "failed_precondition",
        message: expect.stringContaining(`${who} is "/nowhere/at/all", where Toy is not`),
      }),
    );
  });

  it("is looked for in places that a message can name", () => {
    expect(lookedIn(toy).slice(0, 3)).toEqual(["KSERVING_TOY_LIB", "TOY_LIB", "the runtimes folder"]);
  });
});

test("says which runtime, where it was looked for and what to run", () => {
  const cause = new Error("why");
  const error = missingRuntime({ name: "toy", title: "Toy", looked: ["TOY_LIB", "the runtimes folder"], cause });
  expect(error).toMatchObject({ code: "failed_precondition", cause });
  expect(error.message).toBe(
    "Toy is not installed, or not where it is looked for. Looked for it in: TOY_LIB, the runtimes folder. Run: kserving runtimes install toy (kserving runtimes list shows what is found where).",
  );
});
