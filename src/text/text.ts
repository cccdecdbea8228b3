/**
 * `kserving/text`: texts for models. Tokenizers as `tokenizer.json` describes them, chat templates, and what makes
 * embeddings of a model's output. The libraries are loaded with the first tokenizer.
 */
export type { ChatMessage, ChatTemplateOptions } from "./chat-template.ts";
export { type EncodedTexts, textsOf } from "./encoded-texts.ts";
export { cutDimensions, normalise, POOLING_KINDS, type PoolingKind, pool } from "./pooling.ts";
export {
  type EncodeOptions,
  loadTokenizer,
  type SplitOptions,
  splitText,
  type TextInput,
  type TextPart,
  type Tokenizer,
} from "./tokenizer.ts";
