import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableOf, toyEncoder, toyTokenizer } from "../../test/helpers/text-model.ts";

const HOOKS = fileURLToPath(new URL("text-hooks.ts", import.meta.url));
const WORDS = tableOf({ good: [5], bad: [-5], great: [20] });

/** Toy models of texts, by what `config.json` says of each. */
const ENCODERS: Readonly<Record<string, { readonly model: Uint8Array; readonly config: object }>> = {
  vectors: { model: toyEncoder({ table: WORDS }), config: { model_type: "bert", architectures: ["BertModel"] } },
  pairs: {
    model: toyEncoder({ head: "mean", output: "logits", table: WORDS }),
    config: { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } },
  },
};

/**
 * Models of the server whose routes of texts are attacked: `talk` answers by functions of hooks, `vectors` and `pairs`
 * by a tokenizer. Writes their files into a folder.
 */
export function textModels(folder: string): readonly object[] {
  const encoders = Object.entries(ENCODERS).map(([name, { model, config }]) => {
    const own = join(folder, name);
    mkdirSync(own);
    const limit = { config: { model_max_length: 512 } };
    const files = { ...toyTokenizer(limit), "config.json": JSON.stringify(config), "model.onnx": model };
    for (const [file, content] of Object.entries(files)) writeFileSync(join(own, file), content);
    return { name, path: join(own, "model.onnx"), options: { texts: "true" } };
  });
  return [{ name: "talk", stages: [{ driver: "null" }], hooks: HOOKS }, ...encoders];
}
