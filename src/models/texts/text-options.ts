import type { OptionTable, RawOptions } from "../../drivers/option-table.ts";
import { tokenizerFolder } from "../../text/tokenizer-folder.ts";

/** The `-o` keys for models of texts, for every driver. */
export interface RawTextOptions {
  texts: string;
  truncate: string;
  max_tokens?: number;
  dimensions?: number;
}

/** See {@link RawTextOptions}. */
export const TEXT_OPTIONS: OptionTable<RawTextOptions> = {
  texts: {
    type: "choice",
    choices: ["auto", "true", "false"],
    default: "auto",
    help: "Whether a model beside a tokenizer.json takes texts, beside its numbers of tokens, if its files say what it is for; auto = one without hooks that is no stage of others does. Without true the next three are no options of the server.",
  },
  truncate: {
    type: "choice",
    choices: ["auto", "right", "left", "refuse"],
    default: "auto",
    help: "What becomes of texts with more tokens than a model of texts takes: the end or the beginning is cut off, or they are refused; auto = the end, if the tokenizer does not say otherwise.",
  },
  max_tokens: {
    type: "integer",
    min: 1,
    help: "Tokens of a text at most, special ones included; left out, as the files of a model of texts say.",
  },
  dimensions: {
    type: "integer",
    min: 1,
    help: "Numbers of an embedding, of a model that was trained to do with the first ones (Matryoshka); left out, all.",
  },
};

function wishOf({ texts = "auto" }: RawOptions): string {
  return texts.toLowerCase();
}

/** The options of a model that takes texts only where these say so: hooks, and other stages, expect its own inputs. */
export function withoutAutoTexts(options: RawOptions): RawOptions {
  return wishOf(options) === "auto" ? { ...options, texts: "false" } : options;
}

/** Checks by names if a model at a path may come to take texts, whose tokens are found where it runs. */
export function mayTakeTexts(path: string, options: RawOptions): boolean {
  return wishOf(options) !== "false" && tokenizerFolder(path) !== undefined;
}

/** The files and folders that a model needs beside its own unless these options keep it from taking texts. */
export async function filesBesideModel(path: string, options: RawOptions): Promise<readonly string[]> {
  if (wishOf(options) === "false") return [];
  const { filesOfTexts } = await import("../../text/text-task.ts");
  return filesOfTexts(path);
}

/** Checks that a key of the host means nothing beside those options, so that hooks and drivers may have it. */
export function isIdleTextOption(key: string, raw: RawOptions): boolean {
  return key !== "texts" && Object.hasOwn(TEXT_OPTIONS, key) && wishOf(raw) !== "true";
}

/** Choices for a model of texts. */
export interface TextChoices {
  /** The wish for a model beside a tokenizer to take texts: `auto` = if nothing keeps it from that. */
  readonly wish: "auto" | "true" | "false";
  /** Absent = as the tokenizer says. */
  readonly truncate?: "right" | "left" | "refuse";
  readonly maxTokens?: number;
  readonly dimensions?: number;
}

/** The choices that options make. */
export function parseTextOptions({ texts, truncate, max_tokens: most, dimensions }: RawTextOptions): TextChoices {
  return {
    wish: texts === "true" || texts === "false" ? texts : "auto",
    ...((truncate === "right" || truncate === "left" || truncate === "refuse") && { truncate }),
    ...(most !== undefined && { maxTokens: most }),
    ...(dimensions !== undefined && { dimensions }),
  };
}
