/**
 * A model behind OpenAI's API: the numbers in the last message go through it, and the answer comes in pieces. One
 * function answers both the clients that take pieces and those that take the whole.
 *
 *     kserving --driver onnx --model-path test/fixtures/models/half-plus-two.onnx \
 *              --hooks examples/hooks/chat.ts --http-enable
 *     curl -N http://localhost:9001/v1/chat/completions \
 *          -d '{"stream": true, "messages": [{"role": "user", "content": "What about 2 and 5?"}]}'
 *
 * Any of OpenAI's clients does the same, with http://localhost:9001/v1 as its base; Ollama's and Anthropic's take
 * http://localhost:9001.
 */
import { defineHooks, tensorOf } from "kserving";

export default defineHooks({
  async *chat({ messages }, ctx) {
    const numbers =
      messages
        .at(-1)
        ?.text.slice(0, 10_000)
        .match(/\d{1,9}/g)
        ?.map(Number) ?? [];
    if (numbers.length === 0) {
      yield "Send me some numbers.";
      return;
    }
    const answer = await ctx.drivers[0]!.predict({ x: numbers });
    const made = tensorOf(answer, "y", "float32").data;
    for (const [index, number] of numbers.entries()) yield `${number} becomes ${made[index]}. `;
    yield { usage: { promptTokens: numbers.length, completionTokens: numbers.length } };
  },
});
