import { describe, expect, it } from "vitest";
import type { ForeignFlags } from "../../../src/cli/foreign/foreign-flag.ts";
import { type FlagStyle, readForeignFlags } from "../../../src/cli/foreign/read-foreign-flags.ts";

const effect = { help: "", own: "" };
const FLAGS: ForeignFlags = {
  port: { type: "integer", ...effect },
  rest_port: { type: "integer", ...effect },
  share: { type: "number", ...effect },
  model_name: { type: "text", ...effect },
  model_path: { type: "text", ...effect },
  enable: { type: "boolean", ...effect },
  help: { type: "boolean", short: "h", ...effect },
};

const TENSORFLOW: FlagStyle = { takesNextWord: false };
const CXXOPTS: FlagStyle = { takesNextWord: true };
const ARGPARSE: FlagStyle = { takesNextWord: true, abbreviates: true };

function read(words: string, style: FlagStyle) {
  const { values, ...rest } = readForeignFlags(words === "" ? [] : words.split(" "), FLAGS, style);
  return { values: Object.fromEntries(values), ...rest };
}

const nothing = { values: {}, unknown: [], incomplete: [], misread: [] };

describe("as TensorFlow reads flags", () => {
  it.each([
    ["", {}],
    ["--port=1 --model_name=a=b --enable", { values: { port: "1", model_name: "a=b", enable: "true" } }],
    ["--enable=false --share=0.5 --port=-1", { values: { enable: "false", share: "0.5", port: "-1" } }],
    ["--model_name=", { values: { model_name: "" } }],
    ["--port=1 --port=2", { values: { port: "2" } }],
    ["--port 1", { unknown: ["--port", "1"] }],
    ["-port=1 --prot=1 port", { unknown: ["-port=1", "--prot=1", "port"] }],
    [
      "--port=x --share= --enable=yes",
      {
        misread: [
          { name: "port", value: "x" },
          { name: "share", value: "" },
          { name: "enable", value: "yes" },
        ],
      },
    ],
    ["--enabled", { misread: [{ name: "enable", value: "d" }] }],
    ["--port=1 -- --port=2", { values: { port: "1" }, unknown: ["--", "--port=2"] }],
    ["--__proto__=1 --constructor=2", { unknown: ["--__proto__=1", "--constructor=2"] }],
  ])("%j", (words, expected) => {
    expect(read(words, TENSORFLOW)).toEqual({ ...nothing, ...expected });
  });
});

describe("as OpenVINO Model Server reads flags", () => {
  it.each([
    ["--port 1 --model_name=a --enable -h", { values: { port: "1", model_name: "a", enable: "true", help: "true" } }],
    ["--model_name --port", { values: { model_name: "--port" } }],
    ["--port 1 --port 2", { values: { port: "2" } }],
    ["--model_name a --port", { values: { model_name: "a" }, incomplete: ["port"] }],
    ["--port 9000x", { misread: [{ name: "port", value: "9000x" }] }],
    ["--enable true", { values: { enable: "true" }, unknown: ["true"] }],
    ["--nope 1 -x", { unknown: ["--nope", "1", "-x"] }],
  ])("%j", (words, expected) => {
    expect(read(words, CXXOPTS)).toEqual({ ...nothing, ...expected });
  });
});

describe("as Python's argparse reads flags", () => {
  it.each([
    ["--model_n a --model_p=b", { values: { model_name: "a", model_path: "b" } }],
    ["--model a", { unknown: ["--model", "a"] }],
    ["--port", { incomplete: ["port"] }],
  ])("%j", (words, expected) => {
    expect(read(words, ARGPARSE)).toEqual({ ...nothing, ...expected });
  });
});
