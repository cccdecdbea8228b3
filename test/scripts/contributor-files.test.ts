import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

const { engines, scripts } = JSON.parse(readFileSync("package.json", "utf8"));
/** The oldest version that the package takes, and whose newest of the same number CI has. */
const [, OLDEST] = /(\d+)\./.exec(engines.node) as RegExpExecArray;

function read(path: string) {
  return parse(readFileSync(path, "utf8"));
}

test("the workflow runs .ci/run, which there is, on the oldest Node, and nothing else", () => {
  const { jobs } = read(".github/workflows/ci.yml");
  const [job, ...others] = Object.values<{ container: string; steps: { run?: string }[] }>(jobs);
  expect(others).toEqual([]);
  expect(job?.container).toBe(`node:${OLDEST}-bookworm`);
  expect(job?.steps.flatMap(({ run }) => run ?? [])).toEqual(["bash .ci/run"]);
  expect(existsSync(".ci/run")).toBe(true);
});

test("the workflow may read alone, and keeps no password of the repository", () => {
  const { permissions, jobs } = read(".github/workflows/ci.yml");
  expect(permissions).toEqual({ contents: "read" });
  expect(jobs.run.steps[0].with).toEqual({ "persist-credentials": false });
});

test("the workflow of a release is started by hand, may sign, and pushes nothing unless it is told to", () => {
  const { on, permissions, jobs } = read(".github/workflows/release.yml");
  expect(Object.keys(on)).toEqual(["workflow_dispatch"]);
  expect(on.workflow_dispatch.inputs.publish).toMatchObject({ type: "boolean", default: false });
  expect(permissions).toEqual({ contents: "read" });
  expect(jobs.release.permissions).toEqual({ contents: "read", "id-token": "write" });
  expect(jobs.release.steps[0].with).toEqual({ "persist-credentials": false });
  const steps = jobs.release.steps.flatMap(({ run = [] }) => run);
  expect(steps).toEqual([
    "npm ci --ignore-scripts",
    expect.stringMatching(/^npm config set .+:_authToken" '\$\{NODE_AUTH_TOKEN\}'$/),
    expect.stringMatching(/^npm run release \$\{\{ !inputs\.publish && '-- --dry-run' /),
  ]);
  expect(scripts.release).toContain("scripts/release.ts");
});

test("each form of an issue asks for something, by names of its own, and one for what doctor says", () => {
  const folder = ".github/ISSUE_TEMPLATE";
  const forms = readdirSync(folder).filter((name) => name !== "config.yml");
  expect(forms).toEqual(["fault.yml", "wish.yml"]);
  for (const form of forms.map((name) => read(join(folder, name)))) {
    const fields = form.body.filter(({ type }: { type: string }) => type !== "markdown");
    const ids = fields.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(fields.some(({ validations }: { validations?: { required: boolean } }) => validations?.required)).toBe(true);
    expect(Object.keys(form).sort()).toEqual(["body", "description", "labels", "name"]);
  }
  expect(readFileSync(join(folder, "fault.yml"), "utf8")).toContain("kserving doctor");
});

test("commands of the pull request's form and of the container are those of the package", () => {
  const form = readFileSync(".github/PULL_REQUEST_TEMPLATE.md", "utf8");
  const { image, postCreateCommand, forwardPorts } = JSON.parse(
    readFileSync(".devcontainer/devcontainer.json", "utf8"),
  );
  const named = [...`${form} ${postCreateCommand}`.matchAll(/npm run (\w+)/g)].map(([, name]) => name as string);
  expect(named).toEqual(["fmt", "gen", "check"]);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  expect(Number(/:(\d+)-/.exec(image)?.[1])).toBeGreaterThanOrEqual(Number(OLDEST));
  expect(postCreateCommand).toContain("npm ci");
  expect(forwardPorts).toEqual([9000, 9001]);
});

test("no file for contributors names a registry of one machine", () => {
  const files = [
    ".github/workflows/ci.yml",
    ".github/workflows/release.yml",
    ".devcontainer/devcontainer.json",
    ".ci/run",
  ];
  for (const file of files) expect(readFileSync(file, "utf8")).not.toMatch(/https?:\/\/|registry=|index-url/);
});
