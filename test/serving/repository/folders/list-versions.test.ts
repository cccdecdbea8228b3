import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listVersions } from "../../../../src/serving/repository/folders/list-versions.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

/** The versions of a folder with these files, and the names of where they lie. */
async function versionsOf(files: Readonly<Record<string, string>>) {
  const folder = tempFolder(files);
  const { versions, warnings } = await listVersions(folder);
  return {
    versions: versions.map(({ version, path }) => [version, path.replace(folder, "")]),
    warnings: warnings.map((text) => text.replaceAll(folder, "")),
  };
}

describe("versions", () => {
  test("are the folders whose names are numbers, in their order, whatever is in them", async () => {
    const { versions } = await versionsOf({
      "10/a.onnx": "",
      "9/b": "",
      "0/c": "",
      "README.md": "",
      "v1/d.onnx": "",
      "-3/e": "",
      "1.5/f": "",
      "7": "",
    });
    expect(versions).toEqual([
      [0n, "/0"],
      [9n, "/9"],
      [10n, "/10"],
    ]);
  });

  test("may have leading zeros, and reach to 2^63-1", async () => {
    const max = "9223372036854775807";
    const { versions } = await versionsOf({
      "00000123/a": "",
      [`${max}/a`]: "",
      "9223372036854775808/a": "",
      [`${"9".repeat(200)}/a`]: "",
    });
    expect(versions).toEqual([
      [123n, "/00000123"],
      [BigInt(max), `/${max}`],
    ]);
  });

  test("that are there twice are one, and a warning", async () => {
    expect(await versionsOf({ "001/a": "", "1/b": "", "2/c": "" })).toEqual({
      versions: [
        [1n, "/1"],
        [2n, "/2"],
      ],
      warnings: ["The folders /1 and /001 are both version 1; the first one counts."],
    });
  });

  test("leave out model files next to them, with a warning for each", async () => {
    const { versions, warnings } = await versionsOf({ "1/a.onnx": "", "b.onnx": "", "labels.txt": "" });
    expect(versions).toEqual([[1n, "/1"]]);
    expect(warnings).toEqual([
      "/b.onnx is left out, since there are folders of versions next to it; a version's files are in its folder.",
    ]);
  });

  test("are found behind links, as Kubernetes mounts them, and not behind links that lead nowhere or back", async () => {
    const folder = tempFolder({ "..2026_11_22/1/model.onnx": "" });
    symlinkSync("..2026_11_22", join(folder, "..data"));
    symlinkSync("..data/1", join(folder, "1"));
    symlinkSync("none", join(folder, "2"));
    symlinkSync("3", join(folder, "3"));
    expect((await listVersions(folder)).versions).toEqual([{ version: 1n, path: join(folder, "1") }]);
  });

  test.each([
    ["a file", "model.onnx", { "model.onnx": "" }],
    ["a folder with a model in it", "", { "model.onnx": "", "labels.txt": "" }],
    ["a folder that a driver loads as a whole", "", { "saved_model.pb": "" }],
  ])("of %s there is one, 1", async (_, name, files) => {
    const path = join(tempFolder(files), name);
    expect((await listVersions(path)).versions).toEqual([{ version: 1n, path }]);
  });
});

describe("a path without versions says what was found", () => {
  const expected = "expected folders of versions, named by numbers such as 1, or one model.";

  test.each([
    ["an empty folder", {}, "is empty"],
    [
      "names that are no numbers",
      { "v1/saved_model.pb": "", "1.0/a": "", "note.txt": "" },
      "It holds 1.0/, note.txt, v1/.",
    ],
    [
      "many of them",
      Object.fromEntries([..."abcdefg"].map((name) => [name, ""])),
      "It holds a, b, c, d, e and 2 more.",
    ],
  ])("%s", async (_, files, found) => {
    const folder = tempFolder(files);
    const held = found.startsWith("It holds") ? found : undefined;
    await expect(listVersions(folder)).rejects.toMatchObject({
      message: `The folder "${folder}" ${held ? "has no version" : found}; ${expected}`,
      // The log has it, and clients do not.
      cause: held && { message: held },
    });
  });

  test("a path that is not there", async () => {
    await expect(listVersions("/none/at/all")).rejects.toThrow('The model "/none/at/all" does not exist');
  });

  test("a pipe, which is not opened", async () => {
    const path = join(tempFolder(), "model.onnx");
    execFileSync("mkfifo", [path]);
    await expect(listVersions(path)).rejects.toThrow("is neither a file nor a folder");
  });

  test("a link that leads back to itself", async () => {
    const path = join(tempFolder(), "loop");
    symlinkSync("loop", path);
    await expect(listVersions(path)).rejects.toThrow("is a link that leads back to itself");
  });

  test("a folder of too many files", async () => {
    const folder = tempFolder();
    execFileSync("sh", ["-c", "seq 10001 | sed 's/^/f/' | xargs touch"], { cwd: folder });
    await expect(listVersions(folder)).rejects.toThrow("has more than 10000 entries");
  });
});
