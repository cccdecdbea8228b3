import { BOOLEANS, type OptionTable, type RawOptions } from "../../drivers/option-table.ts";

/** The `-o` keys for models of texts, for every driver. */
export interface RawTextOptions {
  texts: boolean;
  truncate: string;
  max_tokens?: number;
  dimensions?: number;
}

/** See {@link RawTextOptions}. */
export const TEXT_OPTIONS: OptionTable<RawTextOptions> = {
  texts: {
    type: "boolean",
    default: false,
    help: "Whether a model beside a tokenizer.json takes texts, if its files say what it is for; without it the next three are no options of the server.",
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

/** Checks that options make a model take texts. */
function takesTexts({ texts = "" }: RawOptions): boolean {
  return BOOLEANS.get(texts.toLowerCase()) === true;
}

/** The files and folders that a model needs beside its own if these options make it take texts. */
export async function filesBesideModel(path: string, options: RawOptions): Promise<readonly string[]> {
  if (!takesTexts(options)) return [];
  const { filesOfTexts } = await import("../../text/text-task.ts");
  return filesOfTexts(path);
}

/** Checks that a key of the host means nothing beside those options, so that hooks and drivers may have it. */
export function isIdleTextOption(key: string, raw: RawOptions): boolean {
  return key !== "texts" && Object.hasOwn(TEXT_OPTIONS, key) && !takesTexts(raw);
}

/** Choices for a model of texts. */
export interface TextChoices {
  /** True if a model beside a tokenizer takes texts. */
  readonly isAsked: boolean;
  /** Absent = as the tokenizer says. */
  readonly truncate?: "right" | "left" | "refuse";
  readonly maxTokens?: number;
  readonly dimensions?: number;
}

/** The choices that options make. */
export function parseTextOptions({
  texts: isAsked,
  truncate,
  max_tokens: most,
  dimensions,
}: RawTextOptions): TextChoices {
  return {
    isAsked,
    ...((truncate === "right" || truncate === "left" || truncate === "refuse") && { truncate }),
    ...(most !== undefined && { maxTokens: most }),
    ...(dimensions !== undefined && { dimensions }),
  };
}
