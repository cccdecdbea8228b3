import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TENSORFLOW_MODEL_SERVER } from "../../../src/cli/foreign/tensorflow-model-server.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tlsFile } from "../../helpers/tls-fixture.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

const [KEY, CERT, CA] = ["server.key", "server.pem", "ca.pem"].map((name) => tlsFile(name).toString()) as [
  string,
  string,
  string,
];

/** As people write it: a text for each line, side by side. */
const inLines = (text: string) =>
  text
    .split("\n")
    .map((line) => `"${line}\\n"`)
    .join("\n  ");
const inOne = (text: string) => `'${text.replaceAll("\n", "\\n")}'`;

function argvFor(text: string): string[] {
  const file = join(tempFolder({ "ssl.cfg": text }), "ssl.cfg");
  return ["--model_base_path=/models/m", "--rest_api_port=8501", `--ssl_config_file=${file}`];
}

describe("--ssl_config_file", () => {
  it("encrypts gRPC with its texts, and leaves HTTP as it is", async () => {
    const argv = argvFor(`server_key: ${inOne(KEY)}\nserver_cert: ${inLines(CERT)}\nclient_verify: false`);
    const { settings, warnings } = (await understand(TENSORFLOW_MODEL_SERVER, argv)) as Understood;
    expect(settings).toMatchObject({ tlsKey: KEY, tlsScope: "grpc", tlsClientCa: undefined, httpEnable: true });
    expect(settings.tlsCert?.trim()).toBe(CERT.trim());
    expect(warnings).toEqual([]);
  });

  it.each([
    ["client_verify: true", CA],
    ["client_verify: false", undefined],
  ])("wants clients to have a certificate of its authority only where it says so: %s", async (verify, clientCa) => {
    const pair = `server_key: ${inOne(KEY)} server_cert: ${inOne(CERT)} custom_ca: ${inOne(CA)}`;
    const { settings } = (await understand(TENSORFLOW_MODEL_SERVER, argvFor(`${pair} ${verify}`))) as Understood;
    expect(settings.tlsClientCa).toBe(clientCa);
  });

  it.each([
    ["no certificate", 'server_key: "key.pem"', /ssl\.cfg:1:1: The ssl_config_file lacks the key "server_cert"/],
    [
      "paths",
      'server_key: "key.pem" server_cert: "cert.pem"',
      /"server_key" is not a text in PEM form; expected the con/,
    ],
    [
      "no authority",
      `server_key: ${inOne(KEY)} server_cert: ${inOne(CERT)} client_verify: true`,
      /"custom_ca" is not a te/,
    ],
    ["a text over two lines", `server_key: "a\nb"`, /A text has no closing quote on its line/],
    ["JSON", `{ "server_key": 1 }`, /ssl\.cfg:1:1: "\{" is not a field's name/],
    ["a wrong key", "server_keys: 'x'", /has no key "server_keys"\. Did you mean "server_key"\?/],
  ])("with %s ends the start", async (_, text, problem) => {
    const printed = collectOutput();
    const code = await runForeign("tensorflow-model-server", argvFor(text), {});
    expect([code, printed.stdout]).toEqual([255, expect.stringMatching(problem)]);
    expect(printed.stdout).toContain("Failed to start server. Error: INVALID_ARGUMENT: ");
  });

  it("ends the start where HTTP has the same port", async () => {
    const printed = collectOutput();
    const argv = argvFor(`server_key: ${inOne(KEY)} server_cert: ${inOne(CERT)}`);
    expect(await runForeign("tensorflow-model-server", [...argv, "--port=8501"], {})).toBe(255);
    expect(printed.stdout).toContain("expected another --rest_api_port than --port=8501.");
  });
});
