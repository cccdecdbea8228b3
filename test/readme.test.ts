import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, openAsBlob, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeDemoModels } from "../scripts/make-demo-models.ts";
import { startKserving } from "./cli/start-kserving.ts";
import { linksOf } from "./helpers/links-of.ts";
import { onFreePorts } from "./helpers/on-free-ports.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

const readme = readFileSync("README.md", "utf8");
const blocks = (language: string) =>
  [...readme.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text as string);

/** The flags of the first command line in the README that has all the words, on free ports. */
function flagsOf(...words: string[]): string[] {
  const lines = blocks("").flatMap((block) => block.replaceAll("\\\n", " ").split("\n"));
  const line = lines.find((each) => words.every((word) => each.includes(word))) as string;
  const [, flags] = line.split(/^kserving /);
  return onFreePorts((flags as string).trim().split(/\s+/));
}

test("the hook file of the README works, from a folder outside the project, with the command and the curl line beside it", async () => {
  const [hooks] = blocks("ts") as [string];
  expect(hooks.trim().split("\n").length).toBeLessThan(10);
  const file = join(tempFolder({ "my.ts": hooks }), "my.ts");
  const flags = flagsOf("--hooks my.ts").map((flag) => (flag === "my.ts" ? file : flag));
  const program = startKserving(flags);
  const { http } = await program.event("ready");
  const curl = blocks("")
    .flatMap((block) => block.split("\n"))
    .find((line) => line.startsWith("curl")) as string;
  const answer = execFileSync("sh", [
    "-c",
    curl.replace("curl", "curl -s").replace("http://localhost:9001", String(http)),
  ]);
  expect(JSON.parse(answer.toString())).toEqual({ outputs: { x: [1, 2, 3], greeting: "hello" } });
});

test("the model of the README's command is served at the addresses of its table", async () => {
  const { http } = await startKserving(flagsOf("half-plus-two.onnx")).event("ready");
  const predict = (path: string, body: string) =>
    fetch(`${http}${path}`, { method: "POST", body }).then((answer) => answer.json());
  expect(await predict("/v1/models/default:predict", '{"instances": [1.0, 2.0]}')).toEqual({ predictions: [2.5, 3] });
  expect(await predict("/predict", '{"inputs": {"x": {"dtype": 1, "data": [1, 2]}}}')).toEqual({ y: [2.5, 3] });
  expect(await (await fetch(`${http}/health`)).json()).toEqual({ status: "ok" });
});

test("the chain at the top of the README finds a face and its emotion", { timeout: 60_000 }, async () => {
  await makeDemoModels();
  const { http } = await startKserving(flagsOf("faces-to-emotions.ts")).event("ready");
  const body = new FormData();
  body.set("bytes_image", await openAsBlob("examples/photos/portrait.jpg"));
  const answer = await fetch(`${http}/predict`, { method: "POST", body });
  expect(await answer.json()).toMatchObject({ emotions: ["happy"] });
});

test("the embedded server of the README starts, tells its addresses and ends by itself", () => {
  const embed = blocks("ts")[1] as string;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", embed], {
    encoding: "utf8",
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout).toMatch(/^127\.0\.0\.1:\d+ http:\/\/127\.0\.0\.1:\d+\n$/);
});

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync("docs", { recursive: true }).map((name) => `docs/${name}`),
];

test.each(documents.filter((name) => name.endsWith(".md")))("every link of %s leads somewhere", (document) => {
  const broken = linksOf(document).filter((target) => !existsSync(join(dirname(document), target)));
  expect(broken).toEqual([]);
});
