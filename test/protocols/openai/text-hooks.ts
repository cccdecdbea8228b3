import { tempFolder } from "../../helpers/temp-folder.ts";

const HOOKS = `
  import { ServingError } from "kserving";
  let ended = 0;
  export async function* chat({ messages, tools, toolChoice, responseFormat, maxTokens, stop, more }, ctx) {
    const { text, content, toolCallId } = messages.at(-1);
    ctx.response.metadata["x-own"] = "yes";
    if (text === "fail") throw new Error("no words");
    if (text === "late") {
      yield "one";
      throw new Error("no more words");
    }
    if (text === "later") {
      yield "one";
      throw new ServingError("unavailable", "no words now", { details: [{ type: "type.example/Now", value: "CgFh" }] });
    }
    if (text === "too long") throw new ServingError("out_of_range", "9 tokens; this model takes 8");
    if (text === "endless") {
      try {
        for (;;) yield "word ";
      } finally {
        ended++;
      }
    }
    if (text === "state") return yield JSON.stringify({ ended });
    if (text === "request") return yield JSON.stringify({ tools, toolChoice, responseFormat, maxTokens, stop, more, roles: messages.map(({ role }) => role) });
    if (text === "media") return yield JSON.stringify(content.map(({ type, mediaType, bytes }) => [type, mediaType, bytes && bytes.length]));
    if (text === "think") return yield { reasoning: "hm", text: "so" };
    if (text === "wrong") return yield { txt: "so" };
    if (text === "nothing") return;
    if (toolCallId !== undefined) return yield "It is " + text + ".";
    if (text === "weather") {
      yield { toolCalls: [{ name: tools[0].name, arguments: '{"city":' }] };
      yield { toolCalls: [{ arguments: '"Riga"}' }, { name: "other", id: "own", arguments: { a: 1 } }] };
      return;
    }
    if (text === "long") return yield { reasoning: "r", text: "a" + "😀".repeat(70_000), toolCalls: [{ name: "f", arguments: { a: "😀".repeat(70_000) } }] };
    if (text === "called") return yield { toolCalls: [{ name: "f", arguments: {} }], finishReason: "stop" };
    if (text === "between") {
      yield { toolCalls: [{ name: "f" }] };
      yield { text: "x", toolCalls: [{ arguments: '{"a":1}' }] };
      return;
    }
    if (text === "failed") return yield JSON.stringify(messages.map(({ role, isError }) => [role, isError]));
    for (const word of text.split(" ")) yield word + " ";
    yield { usage: { promptTokens: messages.length, completionTokens: 2 }, finishReason: maxTokens === 2 ? "length" : undefined };
  }
  export const complete = ({ prompt, suffix = "" }) => ({ text: prompt.toUpperCase() + suffix, usage: { promptTokens: 1, completionTokens: 1 } });
  export const embed = ({ texts, dimensions = 3 }) => ({
    embeddings: texts.map((text) => [text.length, 0.1, -2.5].slice(0, dimensions)),
    usage: { promptTokens: texts.length },
  });
  export const rerank = ({ query, documents }) => documents.map((each) => (each.includes(query) ? 0.75 : 0.25));
`;

/** The path of a hook file that answers every request about texts in ways that a test can foretell. */
export function textHooks(): string {
  return `${tempFolder({ "hooks.mjs": HOOKS })}/hooks.mjs`;
}
