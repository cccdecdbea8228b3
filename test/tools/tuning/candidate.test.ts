import { expect, test } from "vitest";
import { parse } from "yaml";
import { type Candidate, candidateText, toCommand, toConfig, VARIATIONS } from "../../../src/tools/tuning/candidate.ts";

const best: Candidate = { driver: "onnx", options: {} };
const [threads, batches] = VARIATIONS;
const named = (candidates: readonly Candidate[] | undefined) => candidates?.map(candidateText);

test("threads and instances share the cores out, and the default is not tried again", () => {
  expect(named(threads?.(best, { cores: 8, canBatch: true }))).toEqual([
    "onnx, 1 instance, 1 thread",
    "onnx, 2 instances, 1 thread",
    "onnx, 2 instances, 4 threads",
    "onnx, 4 instances, 1 thread",
    "onnx, 4 instances, 2 threads",
    "onnx, 8 instances, 1 thread",
  ]);
  expect(named(threads?.(best, { cores: 1, canBatch: true }))).toEqual([]);
});

test("batches are tried only where the first dimension is open", () => {
  expect(named(batches?.(best, { cores: 1, canBatch: true }))?.[0]).toBe("onnx, max_batch_size=4");
  expect(batches?.(best, { cores: 1, canBatch: false })).toEqual([]);
});

test("the configuration to paste and the command have what was tried, and what the user gave", () => {
  const model = { name: "my model", path: "models/it's.onnx", hooks: "a.ts", options: { "session.x": "#1: a" } };
  const candidate = { driver: "onnx", instances: 2, threads: 1, options: { max_batch_size: "8" } };
  expect(parse(toConfig(model, candidate).join("\n"))).toEqual({
    models: [
      {
        ...{ name: "my model", path: "models/it's.onnx", driver: "onnx", hooks: "a.ts", instances: 2, threads: 1 },
        options: { "session.x": "#1: a", max_batch_size: 8 },
      },
    ],
  });
  expect(toCommand(model, candidate)).toBe(
    `kserving 'models/it'\\''s.onnx' --driver onnx --hooks a.ts --instances 2 --threads 1 -o 'session.x=#1: a' -o max_batch_size=8`,
  );
});

test.each(["1", "0.5", "1.50", "1e3", "0x1F", "007", "true", "null", ".5", ".inf", "2024-01-01", "a b", "it's", "-1"])(
  "an option's text %j is the same when the configuration is read",
  (text) => {
    const model = { name: text, path: `./${text}.onnx`, options: { own: text } };
    const [read] = parse(toConfig(model, { driver: "onnx", options: { found: text } }).join("\n")).models;
    expect([read.name, read.options.own, read.options.found].map(String)).toEqual([text, text, text]);
    expect(read.path).toBe(`./${text}.onnx`);
  },
);
