import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileUserModule, importUserModule } from "../../../src/platform/user-module/user-module.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Root may read everything: where the tests run as root, the task runs as nobody. */
async function asNobody(task: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65534);
  try {
    await task();
  } finally {
    process.seteuid?.(0);
  }
}

const load = (files: Record<string, string>, entry = "hooks.ts") => importUserModule(join(tempFolder(files), entry));

describe.each([
  ["a folder without package.json", {}],
  ["a CommonJS folder", { "package.json": '{"type":"commonjs"}' }],
  ["an ES module folder", { "package.json": '{"type":"module"}' }],
])("in %s", (_, base) => {
  test("TypeScript with enum, top-level await and local imports with and without .ts loads", async () => {
    const module = await load({
      ...base,
      "hooks.ts": `
        import { one } from "./one";
        import { two } from "./lib/two.ts";
        enum Color { Red = 3 }
        const late: number = await Promise.resolve(4);
        export const values = [one, two, Color.Red, late];`,
      "one.ts": "export const one = 1;",
      "lib/two.ts": "export const two: number = 2;",
    });
    expect(module.values).toEqual([1, 2, 3, 4]);
  });

  test("packages installed next to the file load, ES modules and CommonJS", async () => {
    const module = await load({
      ...base,
      "hooks.ts": `
        import common from "common-package";
        import { modern } from "modern-package/sub";
        export const values = [common.name, modern, require("common-package").name];`,
      "node_modules/common-package/package.json": '{"name":"common-package","main":"main.js"}',
      "node_modules/common-package/main.js": 'module.exports = { name: require("path").basename(__dirname) };',
      "node_modules/modern-package/package.json":
        '{"name":"modern-package","type":"module","exports":{"./sub":"./sub.js"}}',
      "node_modules/modern-package/sub.js": 'export const modern = "modern";',
    });
    expect(module.values).toEqual(["common-package", "modern", "common-package"]);
  });

  test("each file knows its own place", async () => {
    const module = await load({
      ...base,
      "hooks.ts": `export { place } from "./lib/place"; export const here = __filename;`,
      "lib/place.ts": `import { basename } from "node:path"; export const place = [basename(__dirname), import.meta.url.slice(-12)];`,
    });
    expect(module.place).toEqual(["lib", "lib/place.ts"]);
    expect(module.here).toMatch(/hooks\.ts$/);
  });

  test("a file may declare __filename, __dirname and require itself, as ES modules do", async () => {
    const module = await load({
      ...base,
      "hooks.ts": `
        import { createRequire } from "node:module";
        import { basename, dirname } from "node:path";
        import { fileURLToPath } from "node:url";
        export { place } from "./lib/place";
        const __filename = fileURLToPath(import.meta.url);
        const __dirname = dirname(__filename);
        const require = createRequire(import.meta.url);
        export const here = [basename(__filename), __dirname === import.meta.dirname, typeof require("fs").read];`,
      "lib/place.ts": `import { basename } from "node:path"; export const place = [__dirname, import.meta.filename].map((path) => basename(path));`,
    });
    expect(module.here).toEqual(["hooks.ts", true, "function"]);
    expect(module.place).toEqual(["lib", "place.ts"]);
  });

  test("a file may begin with the name of its interpreter", async () => {
    const module = await load({
      ...base,
      "hooks.ts": "#!/usr/bin/env -S npx tsx\nexport const here = __filename.slice(-8);",
    });
    expect(module.here).toBe("hooks.ts");
  });
});

test("plain JavaScript loads, CommonJS too", async () => {
  expect(await load({ "hooks.mjs": "export const a = 1;" }, "hooks.mjs")).toMatchObject({ a: 1 });
  expect(await load({ "hooks.cjs": "module.exports = { a: 1 };" }, "hooks.cjs")).toMatchObject({ default: { a: 1 } });
});

test("JSX calls what its package, or the file itself, names", async () => {
  const react = {
    "node_modules/react/package.json": '{"name":"react","exports":{"./jsx-runtime":"./jsx.js"}}',
    "node_modules/react/jsx.js": "exports.jsx = (tag, { children }) => [tag, children];",
  };
  expect(await load({ ...react, "hooks.tsx": "export const a = <b>c</b>;" }, "hooks.tsx")).toMatchObject({
    a: ["b", "c"],
  });
  const own =
    "/** @jsx h */\nconst h = (tag: string, _: null, text: string) => tag + text;\nexport const a = <b>c</b>;";
  expect(await load({ "hooks.tsx": own }, "hooks.tsx")).toMatchObject({ a: "bc" });
});

test("kserving is the running server's own copy, even if it is installed next to the file", async () => {
  const module = await load({
    "hooks.ts": `
      import { ServingError } from "kserving";
      import { defineHooks } from "kserving/hooks";
      export default defineHooks({ preprocess: () => { throw new ServingError("not_found", "mine"); } });`,
  });
  const hooks = module.default as { preprocess: () => void };
  expect(hooks.preprocess).toThrow(expect.objectContaining({ code: "not_found" }));
});

test("kserving can be required too", async () => {
  const module = await load({ "hooks.cjs": 'module.exports = { code: require("kserving").STATUS };' }, "hooks.cjs");
  expect(module).toMatchObject({ default: { code: { not_found: { http: 404 } } } });
});

test("compiling returns the files to watch, and dispose deletes the result", async () => {
  const folder = tempFolder({ "hooks.ts": 'export { a } from "./a";', "a.ts": "export const a = 1;" });
  const compiled = await compileUserModule(join(folder, "hooks.ts"));
  expect(compiled.sources.map((source) => source.slice(folder.length + 1)).sort()).toEqual(["a.ts", "hooks.ts"]);
  await compiled.dispose();
  await expect(import(compiled.url)).rejects.toThrow();
});

test("several modules compile at once", async () => {
  const folder = tempFolder({ "a.ts": "export const a = 1;", "b.ts": "export const b = 2;" });
  const modules = await Promise.all(["a.ts", "b.ts", "a.ts"].map((file) => importUserModule(join(folder, file))));
  expect(modules.map((module) => module.a ?? module.b)).toEqual([1, 2, 1]);
});

describe("what does not load says where", () => {
  test("a syntax error", async () => {
    await expect(load({ "hooks.ts": "const a = 1;\nexport const b = ;\n" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/hooks\.ts:2:18: Unexpected ";"$/),
    });
  });

  const DOTENV = {
    "node_modules/dotenv/package.json": '{"name":"dotenv","exports":{".":"./a.js"}}',
    "node_modules/dotenv/a.js": "",
  };

  test.each([
    ["nope-pkg", /; install the package where the file finds it \(npm install nope-pkg\), or correct its name\.$/],
    ["nope-pkg/config", /\(npm install nope-pkg\), or correct its name\.$/],
    ["@nope/pkg/lib/a.js", /\(npm install @nope\/pkg\), or correct its name\.$/],
    ["dotenv/config", /; the package dotenv is installed, and exports nothing by this name\.$/],
    ["kserving/hook", /; Did you mean "kserving\/hooks"\? There are kserving, kserving\/client, /],
    ["@/lib/a", /; expected a package's name, a relative path, or a path of a tsconfig\.json\.$/],
    ["npm:lodash", /; expected a package's name/],
    ["https://example.test/a.js", /; expected a package's name/],
    ["node:pathe", /; Node [\d.]+ has no such module\. Did you mean "path"\?$/],
    ["./nope", /; the path counts from the folder of the file that imports it\.$/],
  ])("an import of %s, which leads nowhere, with what helps", async (name, advice) => {
    const failing = load({ ...DOTENV, "hooks.ts": `import "${name}";` });
    await expect(failing).rejects.toThrow(`hooks.ts:1:8: Could not resolve "${name}"`);
    await expect(failing).rejects.toThrow(advice);
  });

  test("JSX whose package is not there", async () => {
    await expect(load({ "hooks.tsx": "\nexport const a = <b>c</b>;" }, "hooks.tsx")).rejects.toThrow(
      /hooks\.tsx:2:\d+: Could not resolve "react\/jsx-runtime"; JSX is written for it: install the package where the file finds it \(npm install react\), or correct its name\.$/,
    );
  });

  test("a module that throws while it loads", async () => {
    await expect(load({ "hooks.ts": 'throw new Error("no labels");' })).rejects.toThrow(
      /hooks\.ts threw while it was loaded: no labels$/,
    );
  });

  test("a name that another file of the user does not export is told with the one that was meant", async () => {
    const files = { "hooks.ts": 'import { helpr } from "./help.ts";\nhelpr();', "help.ts": "export const helper = 1;" };
    await expect(load(files)).rejects.toThrow(
      /hooks\.ts:1:10: No matching export in ".*help\.ts" for import "helpr"\. Did you mean to import "helper" instead\?$/,
    );
  });

  test("a file that is not there, and a folder", async () => {
    await expect(load({}, "hooks.ts")).rejects.toThrow(
      /hooks\.ts does not exist; expected a TypeScript or JavaScript file \(/,
    );
    const settings = join(tempFolder({ "hooks.json": "{}" }), "hooks.json");
    await expect(compileUserModule(settings, true)).rejects.toThrow(
      /ends in \.json; expected a TypeScript, JavaScript or Python file \(.*, \.cjs, \.py\)\.$/,
    );
    await expect(load({ "hooks.ts/x": "" }, "hooks.ts")).rejects.toThrow(/hooks\.ts is a folder; expected/);
    await expect(load({ "hooks.ts": "" }, "hooks.ts/x.ts")).rejects.toThrow(
      /hooks\.ts\/x\.ts does not exist, since a part of its path is not a folder/,
    );
  });

  test("a link that leads back to itself", async () => {
    const folder = tempFolder();
    symlinkSync("loop.ts", join(folder, "loop.ts"));
    await expect(importUserModule(join(folder, "loop.ts"))).rejects.toThrow(/loop\.ts is a link that leads back/);
  });

  test("a file that may not be read, as the file and as one that it imports", async () => {
    const folder = tempFolder({ "secret.ts": "export const a = 1;", "hooks.ts": 'export { a } from "./secret.ts";' });
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "secret.ts"), 0);
    const expected = /secret\.ts may not be read \(permission denied\)/;
    await asNobody(async () => {
      await expect(importUserModule(join(folder, "secret.ts"))).rejects.toThrow(expected);
      await expect(importUserModule(join(folder, "hooks.ts"))).rejects.toThrow(
        /hooks\.ts:1:19: .*secret\.ts may not be read/,
      );
    });
  });
});
