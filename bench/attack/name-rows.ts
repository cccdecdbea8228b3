import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { post } from "./http-attack.ts";
import { bytesField, varint } from "./protobuf.ts";
import { flagOf } from "./server-arguments.ts";

/** Names that mean something to JavaScript. */
const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "__defineGetter__"];
const JSON_TYPE = { "content-type": "application/json" };
const PREDICT = "/v1/models/default:predict";
/** Texts that would end a line, or begin one, or command a terminal. */
const TEXTS = [
  '\r\n{"level":"info","msg":"forged"}',
  '"},{"level":"info","msg":"forged"',
  "\u001b[2J\u001b]0;owned\u0007",
  "\u009b2J",
  "\u2028\u202e\u2066",
  "%0d%0a",
  "a".repeat(10_000),
];

/** Names that are taken for the server's own, and texts for lines of its log. */
export const NAME_ROWS: readonly AttackRow[] = [
  { name: "proto-names", server: "null", prepare: () => pollute },
  { name: "log-lines", server: "log-file", prepare: () => injectLines },
  metadataRow("spaces", { "grpc-encoding": "gzip", "grpc-accept-encoding": `a${" ".repeat(60_000)}b` }),
  metadataRow("timeout", { "grpc-timeout": `${"0".repeat(60_000)}S` }),
  metadataRow("cookies", { cookie: "token=a; ".repeat(6_500) }),
  patternRow("teams", "-team-"),
  patternRow("letters", "a"),
  metadataRow("binary", { "x-bin": Array.from({ length: 110 }, () => ",".repeat(500)) }),
];

/** Names that the patterns of rules meet in many ways: of the longest URL, and of a message. */
function patternRow(name: string, part: string): AttackRow {
  const attack = async (target: Target) => {
    const headers = { authorization: target.authorization ?? "" };
    const statuses: string[] = [];
    for (let time = 0; time < 3; time++) {
      const path = `/v2/models/${part.repeat(14_000 / part.length)}/infer`;
      statuses.push(await post(target, { path, body: Buffer.from("{}"), headers }));
      const message = bytesField(1, part.repeat(600_000 / part.length));
      statuses.push(await call(target, { path: METHODS.infer, message, headers }));
    }
    const got = tally(statuses);
    return /200|401|grpc (?:0|16)/.test(got) ? { got, problem: "it does not meet the rules" } : { got };
  };
  return { name: `patterns-${name}`, server: "rules", prepare: () => attack };
}

/** Metadata of 64 KB, the most that a call may have. */
function metadataRow(name: string, headers: Readonly<Record<string, string | string[]>>): AttackRow {
  const attack = async (target: Target) => ({
    got: await call(target, { path: METHODS.infer, message: bytesField(1, "default"), headers }),
  });
  return { name: `metadata-${name}`, server: "null", prepare: () => attack };
}

/** Sends each name wherever a name can stand; an object of the server must not have learnt anything from it. */
async function pollute(target: Target): Promise<AttackResult> {
  const statuses: string[] = [];
  for (const name of NAMES) {
    const polluted = `{"${name}":{"polluted":"yes","constructor":{"prototype":{"polluted":"yes"}}}}`;
    const input = { name, datatype: "FP32", shape: [1], data: [1], parameters: { [name]: "x" } };
    const bodies: readonly (readonly [string, string])[] = [
      [PREDICT, `{"instances":[${polluted}]}`],
      [PREDICT, `{"inputs":${polluted},"signature_name":"${name}"}`],
      ["/v2/models/default/infer", JSON.stringify({ id: name, parameters: { [name]: true }, inputs: [input] })],
      [`/v2/models/${name}/infer`, JSON.stringify({ inputs: [input] })],
      [`/v1/models/${name}/versions/1:predict`, polluted],
      ["/serving-proxy", polluted],
      ["/predict", polluted],
      ["/v2/logging", polluted],
    ];
    for (const [path, body] of bodies) {
      statuses.push(
        await post(target, { path, body: Buffer.from(body), headers: { ...JSON_TYPE, [name]: "polluted" } }),
      );
    }
    const tensor = Buffer.concat([bytesField(1, name), bytesField(2, "FP32"), bytesField(3, varint(1))]);
    const message = Buffer.concat([bytesField(1, "default"), bytesField(5, tensor), bytesField(7, Buffer.alloc(4))]);
    statuses.push(await call(target, { path: METHODS.infer, message, headers: { [name.toLowerCase()]: "polluted" } }));
  }
  const after = await (await fetch(`${target.http}/serving-proxy`, { method: "POST", body: '{"x":[1]}' })).text();
  const model = await (await fetch(`${target.http}/v2/models/default`)).text();
  const got = tally(statuses);
  return /polluted/.test(after + model) ? { got, problem: "an object has learnt from it" } : { got };
}

/** Sends each text wherever the log shows one; the log has to be lines of JSON, none of them forged. */
async function injectLines(target: Target): Promise<AttackResult> {
  const statuses: string[] = [];
  for (const text of TEXTS) {
    const inUrl = encodeURIComponent(text.slice(0, 2000));
    const inHeader = Buffer.from(text.slice(0, 2000))
      .toString("latin1")
      .replace(/[\r\n\0]/g, "\t");
    const headers = { ...JSON_TYPE, "x-request-id": inHeader.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?") };
    const body = Buffer.from(
      JSON.stringify({ id: text, inputs: [{ name: text, datatype: text, shape: [1], data: [1] }] }),
    );
    statuses.push(await post(target, { path: "/v2/models/default/infer", body, headers }));
    statuses.push(await post(target, { path: `/v2/models/${inUrl}/infer?${inUrl}`, body, headers }));
    const message = Buffer.concat([bytesField(1, text), bytesField(3, text)]);
    statuses.push(await call(target, { path: METHODS.infer, message }));
  }
  await wait(200);
  const got = tally(statuses);
  const problem = problemOfLog(readFileSync(flagOf(target, "--log-path"), "utf8"));
  return problem === undefined ? { got } : { got, problem };
}

function problemOfLog(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(text)) return "control characters";
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly msg: string });
  if (lines.length < 3 * TEXTS.length) return "it logs too little";
  return lines.some(({ msg }) => msg === "forged") ? "a forged line" : undefined;
}
