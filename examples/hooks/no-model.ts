/**
 * A service without any model: statistics of texts. It takes tensors, and JSON where the whole request is plain JSON.
 *
 *     kserving --driver null --hooks examples/hooks/no-model.ts --http-enable
 *     curl http://localhost:9001/predict -F 'string_text=To be or not to be'
 *     curl http://localhost:9001/serving-proxy -d '{"text": ["To be or not to be", "Hello!"]}'
 */
import { defineHooks, ServingError, type Tensor } from "kserving";

/** Forms of `text`: a tensor over Predict, a string or a list over PredictJSON. */
interface Inputs {
  text?: Tensor | string | string[];
}

export default defineHooks<object, Inputs>({
  process({ text }) {
    const texts = toStrings(text);
    const words = texts.map((one) => one.match(/[\p{L}\p{N}']+/gu) ?? []);
    return {
      characters: texts.map((one) => [...one].length),
      words: words.map((list) => list.length),
      longest: words.map((list) => list.reduce((best, word) => (word.length > best.length ? word : best), "")),
    };
  },
});

function toStrings(text: Inputs["text"]): string[] {
  if (typeof text === "string") return [text];
  if (Array.isArray(text) && text.every((one) => typeof one === "string")) return text;
  if (typeof text === "object" && "dtype" in text && text.dtype === "bytes") {
    return text.data.map((bytes) => Buffer.from(bytes).toString());
  }
  // A ServingError tells the client what is wrong; any other error would only say that the hook failed.
  throw new ServingError("invalid_argument", 'Expected one text or a list of texts as input "text".');
}
