import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { INSTRUCTIONS } from "../../../deploy/image/build-target.ts";
import { readDockerfile } from "../../../deploy/image/read-dockerfile.ts";
import { EXPORT_TARGETS, type ExportTarget } from "../../../src/tools/export/export-files.ts";
import { freePort } from "../../helpers/free-port.ts";
import { hasProgram } from "../../helpers/has-program.ts";
import { startCommand } from "../../helpers/start-command.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const PROGRAM = resolve("bin/kserving.cjs");
const MODEL = "models/half.onnx";
const HOOKS = {
  "hooks.ts": 'export { preprocess } from "./lib/same.ts";\n',
  "lib/same.ts": "export const preprocess = (inputs) => inputs;\n",
};

/** The files that the built program has written in a folder that had nothing but a model and hooks. */
interface Exported {
  readonly folder: string;
  readonly commands: readonly string[];
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder for all tests. */
function keptFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kserving-export-")));
  folders.push(folder);
  return folder;
}

/** The folder of an npm that packs the program once, and gives the same archive each time. */
function npmThatPacksOnce(): string {
  const folder = keptFolder();
  const script = `#!/bin/sh
export PATH='${process.env.PATH}'
[ "$1" = pack ] || exec npm "$@"
for to; do :; done
[ -e '${folder}/packed' ] || npm pack "$2" --ignore-scripts --loglevel=error --pack-destination '${folder}' || exit
touch '${folder}/packed'
cp '${folder}'/*.tgz "$to"
`;
  writeFileSync(join(folder, "npm"), script, { mode: 0o755 });
  return folder;
}

const PATH = `${npmThatPacksOnce()}:${process.env.PATH}`;

async function exportTo(target: ExportTarget): Promise<Exported> {
  const folder = keptFolder();
  for (const path of [MODEL, ...Object.keys(HOOKS)]) mkdirSync(join(folder, dirname(path)), { recursive: true });
  for (const [path, text] of Object.entries(HOOKS)) writeFileSync(join(folder, path), text);
  copyFileSync("test/fixtures/models/half-plus-two.onnx", join(folder, MODEL));
  const ports = [`--port=${await freePort()}`, `--http-port=${await freePort()}`];
  const args = [PROGRAM, "export", target, "--json", "--name=half", "--", MODEL, "hooks.ts", ...ports];
  const env = { ...process.env, PATH };
  const { commands } = JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", env }));
  return { folder, commands };
}

const exported = new Map<ExportTarget, Promise<Exported>>();

/** The files for a target, which are made once. */
function exportOnce(target: ExportTarget): Promise<Exported> {
  const exporting = exported.get(target) ?? exportTo(target);
  exported.set(target, exporting);
  return exporting;
}

describe.each(EXPORT_TARGETS)("files for %s", (target) => {
  test("name in their commands and in the image's steps only what lies in the folder", async () => {
    const { folder, commands } = await exportOnce(target);
    const named = commands.flatMap((command) => command.match(/\b[a-z]+\/[\w.-]+/g) ?? []);
    expect(named.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    const written = readdirSync(join(folder, target));
    const [archive = ""] = written.filter((name) => name.endsWith(".tgz"));
    const sha256 = createHash("sha256")
      .update(readFileSync(join(folder, target, archive)))
      .digest("hex");
    const builder = target === "systemd" ? "install.sh" : "Dockerfile";
    expect(readFileSync(join(folder, target, builder), "utf8")).toContain(`echo "${sha256}  `);
    for (const file of written.filter((name) => name.endsWith("ockerfile"))) {
      const { stages } = readDockerfile(readFileSync(join(folder, target, file), "utf8"));
      const steps = stages.flatMap((stage) => stage.steps);
      expect(steps.filter(({ instruction }) => !(instruction in INSTRUCTIONS))).toEqual([]);
      const copied = steps.filter(({ instruction }) => instruction === "COPY").map(({ text }) => JSON.parse(text));
      expect(copied.length).toBeGreaterThan(0);
      expect(copied.filter(([from]) => !existsSync(join(folder, from)))).toEqual([]);
    }
  });
});

/** The folder that an image is built from, and its steps, where `docker build` or Docker Compose find them. */
function buildOf(target: ExportTarget, folder: string): { context: string; dockerfile: string } {
  if (target !== "compose") return { context: folder, dockerfile: join(folder, target, "Dockerfile") };
  const { services } = parse(readFileSync(join(folder, target, "compose.yaml"), "utf8"), { version: "1.1" });
  const context = resolve(folder, target, services.half.build.context);
  return { context, dockerfile: resolve(context, services.half.build.dockerfile) };
}

test.each(["docker", "compose", "kubernetes", "helm"] as const)(
  "the image for %s serves with nothing but what its steps copy",
  async (target) => {
    const { folder } = await exportOnce(target);
    const { context, dockerfile } = buildOf(target, folder);
    const { stages } = readDockerfile(readFileSync(dockerfile, "utf8"));
    const steps = stages.flatMap((stage) => stage.steps);
    const listsOf = (name: string): string[][] =>
      steps.filter(({ instruction }) => instruction === name).map(({ text }) => JSON.parse(text));
    const image = tempFolder();
    for (const paths of listsOf("COPY"))
      for (const from of paths.slice(0, -1))
        cpSync(join(context, from), join(image, paths.at(-1) as string, basename(from)), { recursive: true });
    const server = await startCommand([process.execPath, PROGRAM, ...listsOf("CMD").flat()], { cwd: image });
    const body = JSON.stringify({ inputs: { x: [4] } });
    const answer = await fetch(`${server.http}/v1/models/half:predict`, { method: "POST", body });
    expect(await answer.json()).toEqual({ outputs: [4] });
    await server.stop();
  },
);

/** Links the packages of this project that a folder lacks. */
function linkMissing(folder: string): void {
  const own = "node_modules";
  const names = readdirSync(own).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(own, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  for (const name of names.filter((each) => !existsSync(join(folder, each)))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(resolve(own, name), join(folder, name));
  }
}

describe.runIf(process.platform === "linux")("a service of systemd", () => {
  test("is installed by its script below another root, and answers from there", { timeout: 300_000 }, async () => {
    const { folder } = await exportOnce("systemd");
    const root = join(folder, "root");
    // Half a gigabyte of what is optional is installed by npm run check -- package; here it is the project's.
    const env = { ...process.env, DESTDIR: root, npm_config_omit: "optional" };
    execFileSync("sh", ["systemd/install.sh"], { cwd: folder, env });
    linkMissing(join(root, "opt/half/lib/node_modules/kserving/node_modules"));
    const units = join(root, "etc/systemd/system");
    expect(readdirSync(units)).toEqual(["half-grpc.socket", "half-http.socket", "half.service"]);
    const unit = readFileSync(join(units, "half.service"), "utf8");
    const [, command = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    const [program = "", ...args] = command.split(" ");
    const server = await startCommand([join(root, program), ...args], { cwd: join(root, "srv/half") });
    const body = JSON.stringify({ inputs: { x: [4] } });
    const answer = await fetch(`${server.http}/v1/models/half:predict`, { method: "POST", body });
    expect(await answer.json()).toEqual({ outputs: [4] });
    await server.stop();
  });

  test.runIf(hasProgram("systemd-analyze", "systemd"))("has units in which systemd finds no fault", async () => {
    const { folder } = await exportOnce("systemd");
    const at = (name: string) => join(folder, "systemd", name);
    const units = readdirSync(join(folder, "systemd")).filter((name) => /\.(?:service|socket)$/.test(name));
    expect(units.length).toBe(3);
    const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units.map(at)], { encoding: "utf8" });
    // It is not installed here.
    const program = /Command \/opt\/half\/bin\/kserving is not executable: No such file or directory/;
    expect(stderr.split("\n").filter((line) => line !== "" && !program.test(line))).toEqual([]);
    const security = ["security", "--offline=yes", "--no-pager", at("half.service")];
    const rated = execFileSync("systemd-analyze", security, { encoding: "utf8" });
    const [, exposure = "10"] = /exposure level for \S+: (\S+)/.exec(rated) ?? [];
    expect(Number(exposure)).toBeLessThan(5);
  });
});
