/** Hooks that answer requests about texts and sound, in parts too: the text of a message says how. */
import { defineHooks } from "kserving";

export default defineHooks({
  async *chat({ messages }) {
    const text = messages.at(-1)?.text ?? "";
    if (text === "fail") throw new Error("refused by a hook");
    for (const word of text.split(" ", 10)) yield `${word} `;
    yield { usage: { promptTokens: messages.length, completionTokens: 2 } };
  },
  embed: ({ texts }) => ({ embeddings: texts.map((text) => [text.length, 0.5]) }),
  transcribe: ({ audio }) => ({ text: `${audio.bytes.length} bytes` }),
});
