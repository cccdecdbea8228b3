import { build } from "esbuild";
import { expect, test } from "vitest";

/** Packages and folders that most servers never need: each would cost every start. */
const LATER = [
  "yaml",
  "jose",
  "sharp",
  "koffi",
  "esbuild",
  "src/storage/s3/",
  "src/access/authentication/passwords.ts",
];

test("the start imports nothing that only some servers need", async () => {
  const entryPoints = [
    "src/cli/main.ts",
    "src/cli/commands/serve-command.ts",
    "src/server/server.ts",
    "src/server/protocols.ts",
    "src/grpc/grpc-server.ts",
    "src/proxy/http-server.ts",
  ];
  const { metafile } = await build({
    entryPoints,
    outdir: "unused",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const imported = new Set<string>();
  const visit = (file: string) => {
    if (imported.has(file)) return;
    imported.add(file);
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? [])
      if (kind === "import-statement") external === true ? imported.add(path) : visit(path);
  };
  for (const entry of entryPoints) visit(entry);
  expect(imported.size).toBeGreaterThan(500);
  expect(LATER.filter((name) => [...imported].some((file) => file === name || file.startsWith(name)))).toEqual([]);
});
