import { expect, test } from "vitest";
import { loadTokenizer, splitText } from "../../src/text/text.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { toyTokenizer } from "../helpers/text-model.ts";

test("a long text is split at its paragraphs, sentences or words, with an overlap if that is wanted", async () => {
  const tokenizer = await loadTokenizer(tempFolder(toyTokenizer()));
  const texts = async (text: string, maxTokens: number, overlap = 0) =>
    (await splitText(tokenizer, text, { maxTokens, overlap })).map((part) => part.text);
  expect(await texts("good bad good. bad good bad good bad", 8)).toEqual(["good bad good.", "bad good bad good bad"]);
  expect(await texts("good bad good bad\n\nbad good bad", 8)).toEqual(["good bad good bad", "bad good bad"]);
  expect(await texts("good bad good bad", 4, 1)).toEqual(["good bad", "bad good", "good bad"]);
  expect(await texts("", 4)).toEqual([]);
  await expect(splitText(tokenizer, "good", { maxTokens: 2 })).rejects.toThrow("cannot overlap by 0");
  await expect(splitText(tokenizer, "good")).rejects.toThrow("give maxTokens");
});
