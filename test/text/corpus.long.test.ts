import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadTokenizer } from "../../src/text/text.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const FOLDER = "test/fixtures/text";
const COUNT = 10_000;
const KINDS = ["bert", "words", "roberta", "llama3", "llama2", "unigram"];

const PROGRAM = `
import json, sys
from tokenizers import Tokenizer
lines = json.load(open(sys.argv[1], encoding="utf-8"))
print(json.dumps([each.ids for each in Tokenizer.from_file(sys.argv[2]).encode_batch(lines)]))`;

/** Lines of parts of lines in many scripts, joined as texts, lists and words without spaces are; the same each time. */
function corpus(): readonly string[] {
  const parts = (JSON.parse(readFileSync(`${FOLDER}/lines.json`, "utf8")) as string[]).flatMap((line) =>
    line.split(/(?<=\s)/u),
  );
  let state = 1;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const joints = ["", " ", " ", "  ", ", ", ". ", "-", "\n"];
  return Array.from({ length: COUNT }, () =>
    Array.from({ length: 1 + next(8) }, () => `${parts[next(parts.length)]}${joints[next(joints.length)]}`).join(""),
  );
}

const python = findPython("The corpus of tokens", ["tokenizers"]);
const lines = corpus();

test.skipIf(python === undefined).each(KINDS)(
  "10 000 lines have the tokens of a %s that Python finds",
  async (kind) => {
    const file = join(tempFolder(), "lines.json");
    writeFileSync(file, JSON.stringify(lines));
    const args = ["-c", PROGRAM, file, `${FOLDER}/${kind}/tokenizer.json`];
    const printed = execFileSync(String(python), args, { encoding: "utf8", maxBuffer: 1e9 });
    const expected: readonly number[][] = JSON.parse(printed);
    expect(expected).toHaveLength(COUNT);
    const tokenizer = await loadTokenizer(`${FOLDER}/${kind}`);
    const others: string[] = [];
    for (const [place, line] of lines.entries()) {
      const { inputIds } = await tokenizer.encode([line]);
      if (Array.from(inputIds.data, Number).join() !== expected[place]?.join()) others.push(line);
    }
    // Of two cuts with the same score Unigram may take the other one: docs/text.md.
    if (kind === "unigram") expect(others.length).toBeLessThan(COUNT / 100);
    else expect(others).toEqual([]);
  },
);
