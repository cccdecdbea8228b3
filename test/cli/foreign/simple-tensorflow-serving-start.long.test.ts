import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tlsFile, tlsPath } from "../../helpers/tls-fixture.ts";
import { startKserving } from "../start-kserving.ts";

const HALF = new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url).pathname;

function modelFolder(versions: readonly string[]): string {
  const folder = tempFolder();
  for (const version of versions) {
    mkdirSync(join(folder, version));
    copyFileSync(HALF, join(folder, version, "model.onnx"));
  }
  return folder;
}

/** Starts the program with these flags at a free port; resolves with its URL. */
async function start(flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const program = startKserving(["simple_tensorflow_serving", "--port=0", "--host=127.0.0.1", ...flags], env);
  const [, url = ""] = await program.output(/^ \* Running on (\S+)\/ \(Press CTRL\+C to quit\)$/m, "stderr");
  return { program, url };
}

const post = (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

test("serves all versions of a model to pages of all origins, keeps no file of a client, and ends in good order", async () => {
  const folder = modelFolder(["1", "2"]);
  const { program, url } = await start(["--model_platform=onnx", `--model_base_path=${folder}`]);
  expect(await (await fetch(`${url}/health`)).text()).toBe("healthy");
  const detail = (await (await fetch(`${url}/v1/models/default`)).json()) as Record<string, unknown>;
  expect(detail).toMatchObject({ model_name: "default", model_version_list: ["1", "2"], platform: "ONNX" });
  expect(detail.model_version_status).toHaveLength(2);
  for (const [version, answered] of [
    [1, "1"],
    [undefined, "2"],
  ]) {
    const answer = await post(url, { model_version: version, data: { x: [2] } }, { origin: "https://app.example.com" });
    expect(await answer.json()).toEqual({ y: [3] });
    expect(answer.headers.get("x-model-version")).toBe(answered);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  }
  const form = new FormData();
  form.append("image", new Blob(["x"]), "secret.txt");
  expect((await fetch(url, { method: "POST", body: form })).status).toBe(400);
  expect(readdirSync(".")).not.toContain("secret.txt");
  program.kill("SIGTERM");
  const { code, stdout } = await program.ended();
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("as Simple TensorFlow Serving: web pages of all origins"),
  ]);
});

test("with authentication everything but /health needs the user, and pages of other origins nothing where CORS is off", async () => {
  const flags = [`--model_base_path=${modelFolder(["1"])}`, "--model_platform=onnx", "--enable_auth=True"];
  const { program, url } = await start([...flags, "--enable_cors=False"], { STFS_AUTH_PASSWORD: "open sesame" });
  const asked = { data: { x: [2] } };
  expect((await post(url, asked)).status).toBe(401);
  expect((await fetch(`${url}/v1/models`)).status).toBe(401);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  const authorization = `Basic ${Buffer.from("admin:open sesame").toString("base64")}`;
  expect(await (await post(url, asked, { authorization })).json()).toEqual({ y: [3] });
  expect((await post(url, asked, { authorization, origin: "https://app.example.com" })).status).toBe(403);
  program.kill("SIGTERM");
  const { stdout, stderr } = await program.ended();
  expect(stdout + stderr).not.toContain("open sesame");
});

test("with TLS the generated program has the encrypted address", async () => {
  const flags = ["--enable_ssl=True", `--secret_pem=${tlsPath("server.pem")}`, `--secret_key=${tlsPath("server.key")}`];
  const { url } = await start([...flags, `--model_base_path=${HALF}`, "--model_platform=onnx"]);
  expect(url).toMatch(/^https:/);
  const text = await new Promise<string>((done) => {
    request(
      `${url}/v1/models/default/gen_client?language=python`,
      { ca: tlsFile("ca.pem"), servername: "localhost" },
      async (answer) => {
        let read = "";
        for await (const chunk of answer.setEncoding("utf8")) read += chunk;
        done(read);
      },
    ).end();
  });
  expect(text).toContain(`ENDPOINT = "${url}/"`);
});

test("a file of models serves what can be served, and says why the others are not", async () => {
  const entries = [
    { name: "half", base_path: HALF, platform: "onnx" },
    { name: "digits", base_path: "./models/mlp", platform: "spark" },
  ];
  const file = join(tempFolder(), "models.json");
  writeFileSync(file, JSON.stringify({ model_config_list: entries }));
  const { program, url } = await start([`--model_config_file=${file}`]);
  expect(await (await post(url, { model_name: "half", data: { x: [2] } })).json()).toEqual({ y: [3] });
  await program.output(/digits is of the platform spark, for which there is no driver/);
});
