/** Hooks that answer requests about texts and sound, in parts too: the text of a message says how. */
import { defineHooks } from "kserving";
import { init_hook } from "../collecting-hooks.ts";

export default defineHooks({
  init_hook,
  async *chat({ messages }) {
    const text = messages.at(-1)?.text ?? "";
    if (text === "fail") throw new Error("refused by a hook");
    for (const word of text.split(" ", 10)) yield `${word} `;
    yield { usage: { promptTokens: messages.length, completionTokens: 2 } };
  },
  async *complete({ prompt }) {
    if (prompt === "fail") throw new Error("refused by a hook");
    for (const word of prompt.split(" ", 10)) yield `${word} `;
  },
  rerank: ({ query, documents }) => documents.map((text) => (text.includes(query) ? 0.75 : 0.25)),
  embed: ({ texts }) => ({ embeddings: texts.map((text) => [text.length, 0.5]) }),
  transcribe: ({ audio }) => ({ text: `${audio.bytes.length} bytes` }),
});
