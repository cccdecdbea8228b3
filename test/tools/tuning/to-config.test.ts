import { expect, test } from "vitest";
import { parse } from "yaml";
import { toConfig } from "../../../src/tools/tuning/to-config.ts";

test.each(["1", "0.5", "1.50", "1e3", "0x1F", "007", "true", "null", ".5", ".inf", "2024-01-01", "a b", "it's", "-1"])(
  "an option's text %j is the same when the configuration is read",
  (text) => {
    const model = { name: text, path: `./${text}.onnx`, options: { own: text } };
    const [read] = parse(toConfig(model, { driver: "onnx", options: { found: text } }).join("\n")).models;
    expect([read.name, read.options.own, read.options.found].map(String)).toEqual([text, text, text]);
    expect(read.path).toBe(`./${text}.onnx`);
  },
);
