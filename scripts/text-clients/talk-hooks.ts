import { type ChatRequest, type CompletionRequest, defineHooks } from "kserving";

/** A PNG of one pixel, and the beginning of a WAV. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==",
  "base64",
);
const WAV = Buffer.from(
  "RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0",
  "latin1",
);

/** Says each word again, calls the first tool when it is asked for the weather, and tells of pictures and sound. */
async function* chat({ messages, tools, responseFormat, stop }: ChatRequest) {
  const last = messages.at(-1);
  if (last === undefined) return;
  const { text, content, role } = last;
  const media = content.flatMap((part) =>
    part.type === "text" ? [] : [`${part.type} ${part.mediaType} ${part.bytes.length}`],
  );
  if (text === "fail") throw new Error("no words");
  if (media.length > 0) yield media.join(", ");
  else if (role === "tool") yield `It is ${text}.`;
  else if (tools[0] !== undefined && text.includes("weather"))
    yield { toolCalls: [{ name: tools[0].name, arguments: { city: "Riga" } }] };
  else if (responseFormat !== undefined && responseFormat.type !== "text") yield '{"city": "Riga"}';
  else if (text === "think") yield { reasoning: "hm", text: "so" };
  else if (text === "stop") yield stop.join();
  else for (const word of text.split(" ", 100)) yield `${word} `;
  yield { usage: { promptTokens: messages.length, completionTokens: 2 } };
}

export default defineHooks({
  chat,
  complete: ({ prompt }: CompletionRequest) => ({
    text: prompt.toUpperCase(),
    usage: { promptTokens: 1, completionTokens: 1 },
  }),
  transcribe: ({ audio, language }) => ({
    text: `${audio.mediaType} of ${audio.bytes.length} bytes`,
    segments: [{ start: 0, end: 1.5, text: "a sound" }],
    language: language ?? "en",
    duration: 1.5,
  }),
  speak: ({ text }) => ({ audio: Buffer.concat([WAV, Buffer.from(text)]), mediaType: "audio/wav" }),
  generateImage: ({ count }) => Array.from({ length: count }, () => PNG),
});
